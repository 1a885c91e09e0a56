/*
 * stack_frames.h
 *		The frames of many stacks by stack id: in memory up to a limit, and in a temporary file
 *		beyond it, which is removed with the transaction.
 */
#ifndef PFS_STACK_FRAMES_H
#define PFS_STACK_FRAMES_H

#include "profstore.h"

typedef struct PfsStackFrames PfsStackFrames;

/*
 * Begins without stacks. bytes is the memory limit, but one stack always fits. Lives in
 * CurrentMemoryContext.
 */
PfsStackFrames *pfs_stack_frames_begin(Size bytes);

/* Adds a stack, whose id is greater than all before. Its frames are symbols. */
void pfs_stack_frames_put(PfsStackFrames *frames, int64 stack_id, const uint32 *symbols,
						  uint32 count);

/*
 * Returns the frames of a stack, valid until the next call. Call it after the last stack was added.
 */
const uint32 *pfs_stack_frames_get(PfsStackFrames *frames, int64 stack_id, uint32 *count);

void pfs_stack_frames_end(PfsStackFrames *frames);

#endif
