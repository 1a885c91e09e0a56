/*
 * flame_rows.h
 *		A frame tree as rows in drawing order, cut to a number of rows.
 */
#ifndef PFS_FLAME_ROWS_H
#define PFS_FLAME_ROWS_H

#include "profstore.h"

#include "tree/frame_tree.h"

#define PFS_NO_ROW_LIMIT 0

typedef struct PfsFlameRow
{
	int32 level;	/* 0: the root, always the first row and the only one of its level */
	PfsSides total; /* self and all below */
	PfsSides self;
	const char *label;
	const text *label_text; /* the same as a datum */
	uint32 symbol;			/* whose label it is; PFS_NO_SYMBOL: none's */
	/* NULL: stands in for cut children of the row's parent, label "other" */
	const PfsFrameNode *node;
} PfsFlameRow;

/* A row whose self is its total, so far; the label has a zero byte behind it. */
PfsFlameRow pfs_flame_row(int32 level, PfsSides total, const text *label, const PfsFrameNode *node);

typedef struct PfsFlameScan PfsFlameScan;

/*
 * Rows one after the other, depth first; siblings by falling total, then label.
 *
 * There are max_rows at most. The largest nodes stay, the older one among equals; in a comparison
 * both sides together are a node's size. What is cut below a node is one row "other", so that
 * total = self + the totals of the children everywhere. With one row alone, the root's self is its
 * total. Without a limit (PFS_NO_ROW_LIMIT) nodes go when they and all below have been shown, so
 * there are no more than those on the path to a row, and their siblings.
 *
 * The tree is the scan's from here on, which expands what it needs. Lives in CurrentMemoryContext.
 */
PfsFlameScan *pfs_flame_scan_begin(PfsFrameTree *tree, uint32 max_rows);

/* What the filters dropped of the tree's stacks; NULL where there are none. */
const PfsDropped *pfs_flame_scan_dropped(const PfsFlameScan *scan);

/* The next row; its node holds until the next call. False at the end. */
bool pfs_flame_scan_next(PfsFlameScan *scan, PfsFlameRow *row);

#endif
