/*
 * user_frame.h
 *		User frames, out of the words of a record.
 */
#ifndef COLLECTOR_USER_FRAME_H
#define COLLECTOR_USER_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind_types.h"

typedef struct UserFrame
{
	uint32_t place; /* of its first word */
	/* what executes; of interpreted code what its interpreter knows it by */
	uint64_t code;
	bool by_frame_pointer;
	uint8_t interpreter;  /* whose it is, if more_count is not 0 */
	uint32_t more_count;  /* 0: machine code */
	const uint64_t *more; /* what else the interpreter's walk recorded: PFS_FRAME_PAYLOAD */
} UserFrame;

/* The machine code that a frame executes: inside the call, where it is a return address. */
static inline uint64_t
user_frame_code(uint64_t word)
{
	return PFS_FRAME_ADDRESS(word) - ((word & PFS_FRAME_RETURN_ADDRESS) != 0);
}

/*
 * The first frame that is whole from words[*at] on, and *at behind it; false at the end. Where
 * frames were cut out words are left of those at the edges, which are passed over.
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
