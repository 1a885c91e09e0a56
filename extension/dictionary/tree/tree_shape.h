/*
 * tree_shape.h
 *		Nodes of a tree depth first: a shape of some of them, and the shapes that a cached tree
 *		keeps.
 *
 * A cached tree keeps its nodes in several shapes. The first holds most nodes. Those that came
 * later stand in shapes of their own, together with copies of their ancestors. So new nodes cost
 * what they are, and not what was there.
 *
 * A shape that is at most twice as large as what comes is put together with it. So a tree of n
 * nodes has about log n shapes at most, and a node has been placed so often at most. Nodes that
 * move to other indexes, since ids came late, keep their places.
 */
#ifndef PFS_TREE_SHAPE_H
#define PFS_TREE_SHAPE_H

#include "profstore.h"

#include "dictionary/tree/tree.h"

/*
 * Makes the shape of nodes 0 .. count - 1 (count at least 1), whose parents have smaller numbers
 * than they; 0 is the root. Children of a node keep their order. The arrays are one allocation of
 * the context, at shape->indexes. places gets the place of each node.
 */
void pfs_shape_make(PfsTreeShape *shape, MemoryContext context, uint32 count, const uint32 *parents,
					const int32 *locations, uint32 *places);

/*
 * The shape of some nodes of a tree and their ancestors; turns the nodes' indexes into their
 * places. Takes one bit per node of the tree meanwhile.
 */
void pfs_shape_make_of(PfsTreeShape *shape, MemoryContext context, const PfsTree *tree,
					   uint32 *nodes, uint32 count);

/* Gives all nodes that have no place one. */
void pfs_tree_shapes_extend(PfsTreeCache *cache);

/*
 * Nodes start .. node_count have been put in another order: order[i] is where the one at start + i
 * was, moved_to[i] where the one that was there is.
 */
void pfs_tree_shapes_move(PfsTreeCache *cache, uint32 start, const uint32 *order,
						  const uint32 *moved_to);

#endif
