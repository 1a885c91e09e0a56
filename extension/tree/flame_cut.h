/*
 * flame_cut.h
 *		Which nodes of a frame tree are shown where rows are limited.
 *
 * The largest are, the older ones among equals.
 */
#ifndef PFS_FLAME_CUT_H
#define PFS_FLAME_CUT_H

#include "profstore.h"

#include "tree/frame_tree.h"

typedef struct PfsFlameCut
{
	/* of a kept node how many children are cut, else PFS_NODE_NOT_KEPT; NULL: all are kept */
	uint32 *cut_children;
} PfsFlameCut;

#define PFS_NODE_NOT_KEPT PG_UINT32_MAX

/*
 * Chooses nodes that make max_rows rows at most, 2 or more: one for each kept node, and one for
 * what is cut below it. Expands what it needs of the tree; no node is added or forgotten
 * afterwards. Lives in CurrentMemoryContext.
 */
PfsFlameCut pfs_flame_cut(PfsFrameTree *tree, uint32 max_rows);

static inline bool
pfs_flame_is_kept(const PfsFlameCut *cut, uint32 node)
{
	return cut->cut_children == NULL || cut->cut_children[node] != PFS_NODE_NOT_KEPT;
}

/* Whether children of a kept node are cut. */
static inline bool
pfs_flame_has_cut(const PfsFlameCut *cut, uint32 node)
{
	return cut->cut_children != NULL && cut->cut_children[node] > 0;
}

#endif
