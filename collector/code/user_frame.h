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
	/* what executes: inside the call, where it was a return address; of interpreted code what its
	   interpreter knows it by */
	uint64_t code;
	bool by_frame_pointer;
	uint8_t interpreter;  /* whose it is, if more_count is not 0 */
	uint32_t more_count;  /* 0: machine code */
	const uint64_t *more; /* what else the interpreter's walk recorded */
} UserFrame;

/*
 * The frame that begins at words[*at], and *at behind it. False at the end, and where more words
 * would belong to the frame than there are.
 */
static inline bool
user_frame_next(const uint64_t *words, uint32_t count, uint32_t *at, UserFrame *frame)
{
	uint64_t word;
	uint32_t more;

	if (*at >= count)
		return false;
	word = words[*at];
	more = PFS_FRAME_MORE(word);
	if (more >= count - *at)
		return false;
	*frame =
		(UserFrame){ .code = PFS_FRAME_ADDRESS(word), .more_count = more, .more = words + *at + 1 };
	if (more > 0)
		frame->interpreter = PFS_FRAME_INTERPRETER(word);
	else
	{
		frame->code -= (word & PFS_FRAME_RETURN_ADDRESS) != 0;
		frame->by_frame_pointer = (word & PFS_FRAME_BY_FRAME_POINTER) != 0;
	}
	*at += 1 + more;
	return true;
}

/* True where the words are whole frames; *last is the place of the last one, if there is any. */
static inline bool
user_frames_whole(const uint64_t *words, uint32_t count, uint32_t *last)
{
	uint32_t at = 0;

	while (at < count)
	{
		UserFrame frame;

		*last = at;
		if (!user_frame_next(words, count, &at, &frame))
			return false;
	}
	return true;
}

#endif
