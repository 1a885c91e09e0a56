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

typedef struct PfsFlameRows
{
	uint32 count;
	PfsFlameRow *rows; /* depth first; siblings by falling total, then label */
} PfsFlameRows;

/*
 * At most max_rows rows (or PFS_NO_ROW_LIMIT): the largest nodes stay, the older node among equals, and what is cut below a
 * node is one row "other", so that total = self + the totals of the children everywhere. With one row alone, the root's
 * self is its total. In a comparison the size of a node is both its sides together. Expands what it needs of the tree,
 * and rows point into it: it must not grow afterwards. Lives in CurrentMemoryContext.
 */
PfsFlameRows pfs_flame_rows(PfsFrameTree *tree, uint32 max_rows);

/*
 * A name as a label of a flame graph: not empty, on one line, no longer than PFS_LABEL_MAX_BYTES, and none of the names that
 * JavaScript objects are born with, which break viewers that keep labels as keys; nor "other", which they read as
 * cut. Returns name itself where nothing is to be done.
 */
#define PFS_LABEL_MAX_BYTES 1024
const char *pfs_flame_label(const char *name);

#endif
