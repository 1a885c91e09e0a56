/*
 * stack_merge.h
 *		Puts an interpreter's stack and the machine's together.
 *
 * A frame of the interpreter's loop executes some of the interpreter's frames. They take its place,
 * and all other frames stay: what a sort calls back stands below the sort. Which frame of the
 * machine it is, the marks say, which lie inside of it. CPython's trampolines (-X perf) stand for
 * the same function as the loop that they call, and go with it. Without marks (CPython up to 3.10)
 * the loop executes one frame each time it is called, and frames of both are counted.
 */
#ifndef COLLECTOR_STACK_MERGE_H
#define COLLECTOR_STACK_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime_types.h"
#include "unwind_types.h"

/* Of the machine: frames innermost first. */
typedef struct MachineStack
{
	const uint64_t *frames; /* as records have them */
	const uint64_t *ends;	/* stack pointers of their callers; 0: not known */
	uint32_t count;
	uint32_t cut_at; /* the frame before which some are missing, and … */
	uint32_t cut;	 /* … how many */
	uint32_t late_from;
	uint64_t first_sp; /* of the innermost frame */
	bool whole;		   /* it ends at a root */
	/* Is there code without a file at an address? NULL: nobody knows. */
	bool (*is_generated)(const void *context, uint64_t address);
	const void *context;
} MachineStack;

/* Of the interpreter: frames and marks, innermost first. */
typedef struct ChainStack
{
	const uint64_t *words;
	uint32_t count;
	uint32_t cut_at;	 /* the word before which some are missing, and … */
	uint32_t cut;		 /* … how many */
	uint32_t mark_count; /* that were found, the missing ones included */
	bool whole;
	bool has_marks;
} ChainStack;

/* Code of the interpreter's loop in the process, half-open. */
typedef struct LoopCode
{
	uint64_t start;
	uint64_t end;
} LoopCode;

#define MERGED_FRAMES_MAX PFS_MAX_USER_FRAMES
#define MERGED_WORDS_MAX  (PFS_MAX_USER_FRAMES + PFS_MAX_WALK_FRAMES)

/* Both; of more than MERGED_FRAMES_MAX frames the innermost and the outermost. */
typedef struct MergedStack
{
	uint64_t words[MERGED_WORDS_MAX];
	uint32_t count;
	uint32_t cut_at;
	uint32_t cut;
	uint32_t late_from;
	uint32_t merged;	/* frames of the interpreter that have their place … */
	uint32_t unmatched; /* … and those that have none, and are left out */
} MergedStack;

/*
 * False if nothing could be merged: the machine's stack is what there is. loops: only needed
 * without marks.
 */
bool stack_merge(const MachineStack *machine, const ChainStack *chain, const LoopCode *loops,
				 size_t loop_count, MergedStack *merged);

#endif
