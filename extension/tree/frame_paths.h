/*
 * frame_paths.h
 *		Paths of stacks, to be written to a file of nodes.
 *
 * They are sorted, on disk beyond a share of work_mem, so that those below a node are neighbours.
 */
#ifndef PFS_FRAME_PATHS_H
#define PFS_FRAME_PATHS_H

#include "profstore.h"

#include "merge/stack_stream.h"
#include "tree/frame_file.h"
#include "tree/frames/symbols.h"

typedef struct PfsFramePaths PfsFramePaths;

/*
 * Begins without paths. symbols has the filters; for function see pfs_stack_walk_create(). With
 * folding, frames that follow one of the same name belong to its node. Lives in
 * CurrentMemoryContext; finish it before the transaction ends.
 */
PfsFramePaths *pfs_frame_paths_begin(PfsSymbols *symbols, bool inverted, uint32 function,
									 bool folding);

/*
 * Reads a stream to its end. Its stacks are put below a node with the symbol top, which no other
 * stream may use; if top is PFS_NO_SYMBOL, below the root. Stacks of later streams count as
 * younger.
 */
void pfs_frame_paths_add(PfsFramePaths *paths, PfsStackStream *stream, uint32 top);

/* Writes and finishes the file; frees the paths. */
PfsFrameFile *pfs_frame_paths_finish(PfsFramePaths *paths);

#endif
