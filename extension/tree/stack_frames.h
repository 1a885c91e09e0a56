/*
 * stack_frames.h
 *		The frames of many stacks by stack id.
 *
 * In memory up to so many bytes, in a temporary file beyond them, which goes with the transaction.
 */
#ifndef PFS_STACK_FRAMES_H
#define PFS_STACK_FRAMES_H

#include "profstore.h"

typedef struct PfsStackFrames PfsStackFrames;

/*
 * No stacks yet; bytes is what they may take, but never less than one stack does. Lives in
 * CurrentMemoryContext.
 */
PfsStackFrames *pfs_stack_frames_begin(Size bytes);

/* Adds a stack, whose id is greater than those before; its frames are symbols. */
void pfs_stack_frames_put(PfsStackFrames *frames, int64 stack_id, const uint32 *symbols,
						  uint32 count);

/*
 * The frames of a stack that has been put, which hold until the next call; after the last that is
 * put.
 */
const uint32 *pfs_stack_frames_get(PfsStackFrames *frames, int64 stack_id, uint32 *count);

void pfs_stack_frames_end(PfsStackFrames *frames);

#endif
