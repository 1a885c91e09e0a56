/*
 * user_frame.h
 *		Parses user frames from the words of a record.
 */
#ifndef COLLECTOR_USER_FRAME_H
#define COLLECTOR_USER_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind_types.h"

typedef struct UserFrame
{
	uint32_t place; /* index of the frame's first word */
	/* Executed address; for interpreted code, the function's identifier in the interpreter. */
	uint64_t code;
	bool by_frame_pointer;
	uint8_t interpreter; /* interpreter of the frame, if more_count is not 0 */
	uint32_t more_count; /* number of words in more; 0 for machine code */
	/* further words that the walk of the interpreter recorded: PFS_FRAME_PAYLOAD */
	const uint64_t *more;
} UserFrame;

/*
 * Returns the address of the executed instruction. For a return address that is an address inside
 * the call instruction.
 */
static inline uint64_t
user_frame_code(uint64_t word)
{
	return PFS_FRAME_ADDRESS(word) - ((word & PFS_FRAME_RETURN_ADDRESS) != 0);
}

/*
 * Parses the first complete frame from words[*at] on and advances *at past it; returns false at the
 * end. Skips incomplete frames beside a gap in a shortened stack.
 */
static inline bool
user_frame_next(const uint64_t *words, uint32_t count, uint32_t *at, UserFrame *frame)
{
	while (*at < count)
	{
		uint32_t place = (*at)++;
		uint64_t word = words[place];
		uint32_t more = 0;

		while (*at < count && PFS_FRAME_CONTINUES(words[*at]))
		{
			more++;
			(*at)++;
		}
		if (PFS_FRAME_CONTINUES(word) || more != PFS_FRAME_MORE(word))
			continue;
		*frame = (UserFrame){ .place = place,
							  .code = PFS_FRAME_ADDRESS(word),
							  .more_count = more,
							  .more = words + place + 1 };
		if (more > 0)
			frame->interpreter = (uint8_t) PFS_FRAME_INTERPRETER(word);
		else
		{
			frame->code = user_frame_code(word);
			frame->by_frame_pointer = (word & PFS_FRAME_BY_FRAME_POINTER) != 0;
		}
		return true;
	}
	return false;
}

#endif
