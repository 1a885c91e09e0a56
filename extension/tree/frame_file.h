/*
 * frame_file.h
 *		The nodes of a merged tree in a temporary file.
 *
 * For stacks whose walkers do not fit work_mem.
 *
 * Nodes are written as they end, a node behind all below it. So the children of a node are found
 * from the last one on, without an index.
 */
#ifndef PFS_FRAME_FILE_H
#define PFS_FRAME_FILE_H

#include "profstore.h"

#include "base/sides.h"

/* A node as it is stored. */
typedef struct PfsFileNode
{
	uint32 symbol;
	int32 location; /* the oldest that became this node, … */
	uint32 line;	/* … and its line */
	uint32 size;	/* nodes below and this one */
	uint64 oldest;
	PfsSides self;
	PfsSides total;
} PfsFileNode;

/* A location that a node on a path stands for. */
typedef struct PfsFrameOrigin
{
	uint64 age;
	int32 location;
	uint32 line;
	uint32 depth;  /* of the node, the root's children being at 0 */
	uint32 unused; /* 0 */
} PfsFrameOrigin;

typedef struct PfsFrameFile PfsFrameFile;

/* Lives in CurrentMemoryContext, and has to be ended before the transaction is. */
PfsFrameFile *pfs_frame_file_begin(void);

/*
 * Adds a value to a path: symbols in network order, from the root on. Paths come as their bytes
 * sort, so that one comes before those that go on from it, and may come again.
 */
void pfs_frame_file_put(PfsFrameFile *file, const uint32 *path, uint32 depth, PfsSides value);

/*
 * Origins of nodes of the path that was put last; of those of a node the oldest stays. Need not be
 * aligned.
 */
void pfs_frame_file_put_origins(PfsFrameFile *file, const char *origins, Size count);

/* Writes what is left, after the last path. */
void pfs_frame_file_finish(PfsFrameFile *file);

/* The root's number, once the file is finished. */
uint32 pfs_frame_file_root(const PfsFrameFile *file);

/* A node by its number. */
PfsFileNode pfs_frame_file_get(PfsFrameFile *file, uint32 number);

void pfs_frame_file_end(PfsFrameFile *file);

#endif
