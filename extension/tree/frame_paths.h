/*
 * frame_paths.h
 *		Paths of stacks on their way to a file of nodes.
 *
 * They are sorted, on disk beyond a part of work_mem, so that those below a node are neighbours.
 */
#ifndef PFS_FRAME_PATHS_H
#define PFS_FRAME_PATHS_H

#include "profstore.h"

#include "merge/stack_stream.h"
#include "tree/frame_file.h"
#include "tree/symbols.h"

typedef struct PfsFramePaths PfsFramePaths;

/*
 * No paths yet. symbols has the filters; function is as for pfs_stack_walk_create; folding lets
 * frames that follow one of the same name belong to its node. Lives in CurrentMemoryContext, and
 * has to be finished before the transaction is.
 */
PfsFramePaths *pfs_frame_paths_begin(PfsSymbols *symbols, bool inverted, uint32 function,
									 bool folding);

/*
 * Reads a stream to its end. All its stacks are below a node of the symbol top, which is theirs
 * alone, or there is none: PFS_NO_SYMBOL. What is added later is younger.
 */
void pfs_frame_paths_add(PfsFramePaths *paths, PfsStackStream *stream, uint32 top);

/* Makes the file, which is finished; the paths go. */
PfsFrameFile *pfs_frame_paths_finish(PfsFramePaths *paths);

#endif
