/*
 * tree_shape.h
 *		Numbering nodes depth first; pure memory.
 */
#ifndef PFS_TREE_SHAPE_H
#define PFS_TREE_SHAPE_H

#include "profstore.h"

#include "dictionary/dictionary.h"

/*
 * Makes the shape of nodes 0 .. count - 1 (count at least 1), whose parents have smaller numbers than they; 0 is the root.
 * Children of a node keep their order. All arrays are one allocation of the context, at shape->places.
 */
void pfs_tree_shape_make(PfsTreeShape *shape, MemoryContext context, uint32 count,
						 const uint32 *parents, const int32 *locations);

#endif
