/*
 * frame_file.h
 *		The nodes of a merged tree in a temporary file, for stacks whose walkers do not fit work_mem.
 *
 * Paths of stacks are sorted, on disk beyond a part of work_mem, so that those below a node are neighbours; nodes are written
 * as they end, a node behind all below it. So the children of a node are found from the last one on, without an index.
 */
#ifndef PFS_FRAME_FILE_H
#define PFS_FRAME_FILE_H

#include "profstore.h"

#include "merge/stack_stream.h"
#include "tree/symbols.h"

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

typedef struct PfsFrameFile PfsFrameFile;

/*
 * Paths of stacks, on their path to a file. symbols has the filters; function as for pfs_stack_walk_create; folding lets frames that
 * follow one of the same name belong to its node. Lives in CurrentMemoryContext, and has to be finished before the transaction is.
 */
typedef struct PfsFramePaths PfsFramePaths;
PfsFramePaths *pfs_frame_paths_begin(PfsSymbols *symbols, bool inverted, uint32 function,
									 bool folding);

/*
 * Reads a stream to its end. All its stacks are below a node of the symbol group, which is theirs alone, or there is none:
 * PFS_NO_SYMBOL. What is added later is younger.
 */
void pfs_frame_paths_add(PfsFramePaths *paths, PfsStackStream *stream, uint32 group);

/*
 * Makes the file; the paths go. It lives in CurrentMemoryContext, and has to be ended before the transaction is.
 */
PfsFrameFile *pfs_frame_paths_finish(PfsFramePaths *paths);

/* The root's number. */
uint32 pfs_frame_file_root(const PfsFrameFile *file);

PfsFileNode pfs_frame_file_get(PfsFrameFile *file, uint32 number);

void pfs_frame_file_end(PfsFrameFile *file);

#endif
