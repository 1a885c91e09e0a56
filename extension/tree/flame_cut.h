/*
 * flame_cut.h
 *		Chooses the nodes of a frame tree that are shown if the number of rows is limited: the
 *		largest ones, and among equals the older ones.
 */
#ifndef PFS_FLAME_CUT_H
#define PFS_FLAME_CUT_H

#include "profstore.h"

#include "tree/frame_tree.h"

typedef struct PfsFlameCut
{
	/*
	 * for each node, the number of cut children if it is kept, otherwise PFS_NODE_NOT_KEPT; NULL if
	 * all nodes are kept
	 */
	uint32 *cut_children;
} PfsFlameCut;

#define PFS_NODE_NOT_KEPT PG_UINT32_MAX

/*
 * Chooses nodes that make at most max_rows rows (2 or more): one for each kept node, and one for
 * the nodes cut below it. Expands the nodes of the tree that it needs; afterwards no node may be
 * added or released. Lives in CurrentMemoryContext.
 */
PfsFlameCut pfs_flame_cut(PfsFrameTree *tree, uint32 max_rows);

static inline bool
pfs_flame_is_kept(const PfsFlameCut *cut, uint32 node)
{
	return cut->cut_children == NULL || cut->cut_children[node] != PFS_NODE_NOT_KEPT;
}

/* Returns true if some children of a kept node are cut. */
static inline bool
pfs_flame_has_cut(const PfsFlameCut *cut, uint32 node)
{
	return cut->cut_children != NULL && cut->cut_children[node] > 0;
}

#endif
