/*
 * frame_file.h
 *		The nodes of a merged tree in a temporary file, for stacks whose walkers do not fit work_mem.
 *
 * Ways of stacks are sorted, on disk beyond a part of work_mem, so that those below a node are neighbours; nodes are written
 * as they end, a node behind all below it. So the children of a node are found from the last one on, without an index.
 */
#ifndef PFS_FRAME_FILE_H
#define PFS_FRAME_FILE_H

#include "profstore.h"

#include "query/stack_sums.h"
#include "query/symbols.h"

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
 * Reads a stream to its end. symbols has the filters; folding lets frames that follow one of the same name belong to its
 * node; function is where ways begin, as for pfs_stack_walk_create. Lives in CurrentMemoryContext, and has to be ended before the transaction is. Raises NUMERIC_VALUE_OUT_OF_RANGE
 * where a total does not fit int8.
 */
PfsFrameFile *pfs_frame_file_make(PfsStackStream *stream, PfsSymbols *symbols, bool inverted,
								  uint32 function, bool folding);

/* The root's number. */
uint32 pfs_frame_file_root(const PfsFrameFile *file);

PfsFileNode pfs_frame_file_get(PfsFrameFile *file, uint32 number);

void pfs_frame_file_end(PfsFrameFile *file);

#endif
