/*
 * stack_merge.h
 *		Merges an interpreter's stack and the machine's stack.
 *
 * A frame of the interpreter's loop executes some of the interpreter's frames. These replace it,
 * and all other frames stay, so a function that sort() calls back is below sort(). A mark is an
 * address inside the loop's frame, by which that frame is found. A trampoline of CPython (-X perf)
 * represents the function that its loop executes, and is replaced together with the loop. Without
 * marks (CPython up to 3.10) each call of the loop executes one frame, so the frames of both stacks
 * are counted; with marks that are not addresses, the numbers of loop frames and of marks must be
 * equal.
 */
#ifndef COLLECTOR_STACK_MERGE_H
#define COLLECTOR_STACK_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime_types.h"
#include "runtimes/common/loop_code.h"
#include "unwind_types.h"

/* The machine's stack, innermost frame first. */
typedef struct MachineStack
{
	const uint64_t *frames; /* in the form of records */
	const uint64_t *ends;	/* for each frame its caller's stack pointer; 0: unknown */
	uint32_t count;
	uint32_t cut_at; /* index of the frame before which frames are missing */
	uint32_t cut;	 /* number of missing frames */
	uint32_t late_from;
	uint64_t first_sp; /* stack pointer of the innermost frame */
	bool whole;		   /* true: the stack ends at a root function */
	/* Returns whether an address is in code without a file. NULL: unknown. */
	bool (*is_generated)(const void *context, uint64_t address);
	const void *context;
} MachineStack;

/* The interpreter's stack: frames and marks, innermost first. */
typedef struct ChainStack
{
	const uint64_t *words;
	uint32_t count;
	uint32_t cut_at;	 /* index of the word before which words are missing */
	uint32_t cut;		 /* number of missing words */
	uint32_t mark_count; /* number of marks that were found, including the missing ones */
	bool whole;
	bool is_half_made; /* the chain was bad before its first frame, or all frames were left out */
	enum pfs_runtime_marks marks;
	bool leaves_fibers; /* a fiber's chain continues with frames on another machine stack */
} ChainStack;

#define MERGED_FRAMES_MAX PFS_MAX_USER_FRAMES
#define MERGED_WORDS_MAX  (PFS_MAX_USER_FRAMES + PFS_MAX_WALK_FRAMES)

/* The merged stack. If it is deeper than MERGED_FRAMES_MAX, the middle is left out. */
typedef struct MergedStack
{
	uint64_t words[MERGED_WORDS_MAX];
	uint32_t count;
	uint32_t cut_at;
	uint32_t cut;
	uint32_t late_from;
	uint32_t merged; /* number of merged interpreter frames */
	/*
	 * number of frames left out because no native frame matches, or because a later walk found the
	 * native frame
	 */
	uint32_t unmatched;
} MergedStack;

/*
 * Merges two stacks. Returns false if nothing could be merged; the machine's stack stays as it is.
 * loops are only used if the chain has no marks that are addresses.
 */
bool stack_merge(const MachineStack *machine, const ChainStack *chain, const LoopCode *loops,
				 size_t loop_count, MergedStack *merged);

#endif
