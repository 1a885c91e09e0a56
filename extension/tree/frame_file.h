/*
 * frame_file.h
 *		The nodes of a merged tree in a temporary file, for stacks whose walkers do not fit in
 *		work_mem.
 *
 * A node is written when it is complete, after all nodes below it. So the children of a node are
 * found without an index: its last child stands before it, and each child's size leads to the child
 * before.
 */
#ifndef PFS_FRAME_FILE_H
#define PFS_FRAME_FILE_H

#include "profstore.h"

#include "base/sides.h"

/* A node as it is stored. */
typedef struct PfsFileNode
{
	uint32 symbol;
	int32 location; /* location of the oldest stack of this node */
	uint32 line;	/* index of the line at that location */
	uint32 size;	/* number of nodes in the subtree, including this one */
	uint64 oldest;
	PfsSides self;
	PfsSides total;
} PfsFileNode;

/* The location by which a node on a path is shown. */
typedef struct PfsFrameOrigin
{
	uint64 age;
	int32 location;
	uint32 line;
	uint32 depth;  /* depth of the node; 0 for the root's children */
	uint32 unused; /* 0 */
} PfsFrameOrigin;

typedef struct PfsFrameFile PfsFrameFile;

/* Begins a file. Lives in CurrentMemoryContext; end it before the transaction ends. */
PfsFrameFile *pfs_frame_file_begin(void);

/*
 * Adds a value to a path: symbols in network order, from the root on. Paths must come in the order
 * of their bytes, so that a path precedes its extensions; a path may come several times.
 */
void pfs_frame_file_put(PfsFrameFile *file, const uint32 *path, uint32 depth, PfsSides value);

/*
 * Records origins of nodes of the path that was put last; for each node the oldest is kept. origins
 * need not be aligned.
 */
void pfs_frame_file_put_origins(PfsFrameFile *file, const char *origins, Size count);

/* Writes the remaining nodes, after the last path. */
void pfs_frame_file_finish(PfsFrameFile *file);

/* Returns the number of the root, once the file is finished. */
uint32 pfs_frame_file_root(const PfsFrameFile *file);

/* Reads a node by its number. */
PfsFileNode pfs_frame_file_get(PfsFrameFile *file, uint32 number);

void pfs_frame_file_end(PfsFrameFile *file);

#endif
