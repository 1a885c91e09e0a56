/*
 * stack_fold.h
 *		Removes a runtime's own frames from a stack.
 *
 * Between frames of the code that a runtime executes there are functions of the runtime itself,
 * which call that code back: sort(), the call of a method, an import. With
 * --interpreter-native=fold they are left out. Frames of other files stay, and so do the runtime's
 * frames at both ends of the stack: the innermost show the reason of a wait, the outermost show how
 * the code was started.
 */
#ifndef COLLECTOR_STACK_FOLD_H
#define COLLECTOR_STACK_FOLD_H

#include <stdint.h>

#include "unwind_types.h"

#define FOLD_WORDS_MAX (PFS_MAX_USER_FRAMES + PFS_MAX_WALK_FRAMES)

/* A stack, innermost frame first, and positions in it. */
typedef struct FoldedStack
{
	uint64_t *words; /* in the form of records; changed in place */
	uint32_t count;	 /* at most FOLD_WORDS_MAX */
	uint32_t cut_at; /* index of the word before which frames are missing */
	uint32_t late_from;
} FoldedStack;

/* Removes machine frames whose code is in [start, end) between two frames of an interpreter. */
void stack_fold(FoldedStack *stack, uint64_t start, uint64_t end);

#endif
