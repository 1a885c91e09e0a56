/*
 * stack_fold.c
 *		Marks the words to leave out, then moves the others together.
 */
#include "runtimes/stack_fold.h"

#include <stdbool.h>
#include <string.h>

#include "code/user_frame.h"

/* Marks the machine frames of words [first, last) whose code is in [start, end). */
static void
mark_own_frames(const FoldedStack *stack, uint32_t first, uint32_t last, uint64_t start,
				uint64_t end, bool *is_own)
{
	for (uint32_t i = first; i < last; i++)
	{
		uint64_t word = stack->words[i];
		uint64_t code = user_frame_code(word);

		/* parts of frames at the edges of a gap are not code */
		is_own[i] =
			!PFS_FRAME_CONTINUES(word) && PFS_FRAME_MORE(word) == 0 && code >= start && code < end;
	}
}

static void
drop_words(FoldedStack *stack, const bool *is_dropped)
{
	FoldedStack left = { .words = stack->words, .cut_at = UINT32_MAX, .late_from = UINT32_MAX };

	for (uint32_t i = 0; i < stack->count; i++)
	{
		if (i == stack->cut_at)
			left.cut_at = left.count;
		if (i == stack->late_from)
			left.late_from = left.count;
		if (!is_dropped[i])
			left.words[left.count++] = stack->words[i];
	}
	if (left.cut_at > left.count)
		left.cut_at = left.count;
	if (left.late_from > left.count)
		left.late_from = left.count;
	*stack = left;
}

void
stack_fold(FoldedStack *stack, uint64_t start, uint64_t end)
{
	bool is_own[FOLD_WORDS_MAX];
	bool has_inner = false; /* a frame of an interpreter was found, which ends before: */
	uint32_t inner_end = 0;
	uint32_t next = 0;
	UserFrame frame;

	memset(is_own, 0, stack->count * sizeof(is_own[0]));
	while (user_frame_next(stack->words, stack->count, &next, &frame))
	{
		if (frame.more_count == 0)
			continue;
		if (has_inner)
			mark_own_frames(stack, inner_end, frame.place, start, end, is_own);
		has_inner = true;
		inner_end = next;
	}
	drop_words(stack, is_own);
}
