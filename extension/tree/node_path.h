/*
 * node_path.h
 *		The path from the root to a leaf of a shape, for one leaf after another.
 */
#ifndef PFS_NODE_PATH_H
#define PFS_NODE_PATH_H

#include "profstore.h"

#include "dictionary/cache/dictionary.h"

typedef struct PfsNodePath
{
	const PfsTreeShape *shape;
	/*
	 * places on the path from below the root to the leaf; allocated in the context that was current
	 * at the first call
	 */
	uint32 *places;
	uint32 depth;
	uint32 shared; /* number of places that the path shares with that of the leaf before */
	uint32 capacity;
} PfsNodePath;

/* Begins before the first leaf. The caller frees places. */
PfsNodePath pfs_node_path_begin(const PfsTreeShape *shape);

/* Moves to a leaf at a greater place than the one before. */
void pfs_node_path_go(PfsNodePath *path, uint32 leaf);

/*
 * Loads the locations on the paths to leaves, which are in ascending order, into the dictionary's
 * cache, in one batch.
 */
void pfs_node_paths_load_names(const PfsTreeShape *shape, const uint32 *leaves, uint32 count);

#endif
