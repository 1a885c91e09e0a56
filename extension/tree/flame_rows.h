/*
 * flame_rows.h
 *		A frame tree as rows in drawing order, limited to a number of rows.
 */
#ifndef PFS_FLAME_ROWS_H
#define PFS_FLAME_ROWS_H

#include "profstore.h"

#include "tree/frame_tree.h"

#define PFS_NO_ROW_LIMIT 0

typedef struct PfsFlameRow
{
	int32 level;	/* 0: the root, which is the first row and the only one of its level */
	PfsSides total; /* self and all nodes below */
	PfsSides self;
	const char *label;
	const text *label_text; /* label as a datum */
	uint32 symbol;			/* the symbol with this label, or PFS_NO_SYMBOL */
	/* NULL: the row represents cut children of the row's parent, and has label "other" */
	const PfsFrameNode *node;
} PfsFlameRow;

/* Makes a row with self equal to total; the label has a zero byte after it. */
PfsFlameRow pfs_flame_row(int32 level, PfsSides total, const text *label, const PfsFrameNode *node);

typedef struct PfsFlameScan PfsFlameScan;

/*
 * Returns rows one by one, depth first, siblings by descending total, then label.
 *
 * There are at most max_rows. The largest nodes are kept, and among equals the older ones; in a
 * comparison a node's size is the sum of both sides. The cut children of a node are one row
 * "other", so that everywhere total = self + the totals of the children. If there is only one row,
 * the root's self is its total. Without a limit (PFS_NO_ROW_LIMIT) a node is released once it and
 * all nodes below have been returned. So only the nodes on the path to a row, and their siblings,
 * are in memory.
 *
 * The tree belongs to the scan from here on, which expands the nodes it needs. Lives in
 * CurrentMemoryContext.
 */
PfsFlameScan *pfs_flame_scan_begin(PfsFrameTree *tree, uint32 max_rows);

/* Returns the sums of the tree's stacks that the filters dropped; NULL if there are no filters. */
const PfsDropped *pfs_flame_scan_dropped(const PfsFlameScan *scan);

/* Returns the next row, whose node is valid until the next call; false at the end. */
bool pfs_flame_scan_next(PfsFlameScan *scan, PfsFlameRow *row);

#endif
