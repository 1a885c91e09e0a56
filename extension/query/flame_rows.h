/*
 * flame_rows.h
 *		A frame tree as rows in drawing order, cut to a number of rows.
 */
#ifndef PFS_FLAME_ROWS_H
#define PFS_FLAME_ROWS_H

#include "profstore.h"

#include "query/frame_tree.h"

#define PFS_NO_ROW_LIMIT 0

typedef struct PfsFlameRow
{
	int32 level;	/* 0: the root, always the first row and the only one of its level */
	PfsSides total; /* self and all below */
	PfsSides self;
	const char *label;
	const PfsFrameNode
		*node; /* NULL: stands in for cut children of the row's parent, label "other" */
} PfsFlameRow;

typedef struct PfsFlameScan PfsFlameScan;

/*
 * Rows one after the other, depth first; siblings by falling total, then label. At most max_rows rows (or PFS_NO_ROW_LIMIT): the largest nodes stay, the older node among equals, and what is cut below a
 * node is one row "other", so that total = self + the totals of the children everywhere. With one row alone, the root's
 * self is its total. In a comparison the size of a node is both its sides together. Expands what it needs of the tree,
 * which is the scan's from here on. Without a limit, nodes go when they and all below have been shown: no more are there than those on
 * the way to a row, and their siblings. Lives in CurrentMemoryContext.
 */
PfsFlameScan *pfs_flame_scan_begin(PfsFrameTree *tree, uint32 max_rows);

/* What the filters dropped of the tree's stacks; NULL where there are none. */
const PfsDropped *pfs_flame_scan_dropped(const PfsFlameScan *scan);

/* The next row; its node holds until the next call. False at the end. */
bool pfs_flame_scan_next(PfsFlameScan *scan, PfsFlameRow *row);

typedef struct PfsFlameRows
{
	uint32 count;
	PfsFlameRow *rows;
} PfsFlameRows;

/* All rows at once, for results that are one value; they point into the tree, which must not grow afterwards. */
PfsFlameRows pfs_flame_rows(PfsFrameTree *tree, uint32 max_rows);

/*
 * A name as a label of a flame graph: not empty, on one line, no longer than PFS_LABEL_MAX_BYTES, and none of the names that
 * JavaScript objects are born with, which break viewers that keep labels as keys; nor "other", which they read as
 * cut. Returns name itself where nothing is to be done.
 */
#define PFS_LABEL_MAX_BYTES 1024
const char *pfs_flame_label(const char *name);

#endif
