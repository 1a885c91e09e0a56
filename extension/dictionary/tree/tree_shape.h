/*
 * tree_shape.h
 *		Depth-first numbering of nodes: a shape of some nodes, and the shapes that a cached tree
 *		keeps.
 *
 * A cached tree keeps its nodes in several shapes. The first has most nodes. Nodes that came later
 * are in shapes of their own, with copies of their ancestors. So new nodes cost work in proportion
 * to their own number.
 *
 * A shape that is at most twice as large as the new nodes is merged with them. So a tree of n nodes
 * has at most about log n shapes, and each node has been placed at most that often. Nodes whose
 * indexes change, because late ids come before them, keep their places.
 */
#ifndef PFS_TREE_SHAPE_H
#define PFS_TREE_SHAPE_H

#include "profstore.h"

#include "dictionary/tree/tree.h"

/*
 * Makes the shape of some nodes of a tree and their ancestors. Replaces the nodes' indexes by their
 * places. Temporarily needs one bit per node of the tree.
 */
void pfs_shape_make_of(PfsTreeShape *shape, MemoryContext context, const PfsTree *tree,
					   uint32 *nodes, uint32 count);

/* Gives a place to all nodes that have none. */
void pfs_tree_shapes_extend(PfsTreeCache *cache);

/*
 * Updates the shapes after nodes start .. node_count were reordered: order[i] is the old index of
 * the node now at start + i, moved_to[i] the new index of the node that was there.
 */
void pfs_tree_shapes_move(PfsTreeCache *cache, uint32 start, const uint32 *order,
						  const uint32 *moved_to);

#endif
