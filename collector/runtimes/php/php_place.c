/*
 * php_place.c
 *		Finds the variable by its value, which leads to frames of PHP.
 */
#include "runtimes/php/php_place.h"

#include <string.h>

#include "runtimes/common/beside_thread.h"
#include "runtimes/php/php_code.h"
#include "runtimes/php/php_file.h"
#include "unwind/remote_address.h"

#define WORDS		   (BESIDE_VARIABLES_BYTES / sizeof(uint64_t))
#define DISTANCE_MOST  (1U << 20)
#define CANDIDATES_MAX 16 /* limit, because the process may contain any number of them */

static bool
php_distance_read(RemoteMemory *memory, uint64_t address, uint64_t *distance)
{
	const RemotePieces piece = { .address = address, .piece_bytes = sizeof(*distance), .count = 1 };

	return remote_memory_read(memory, &piece, distance) == sizeof(*distance) && *distance != 0 &&
		   *distance < DISTANCE_MOST && *distance % 8 == 0;
}

/* Reads the innermost frame that each word may lead to; 0 if there is none. */
static void
php_frames_read(RemoteMemory *memory, const uint64_t words[WORDS], uint64_t current,
				uint64_t frames[WORDS])
{
	RemoteRange ranges[WORDS];

	for (size_t i = 0; i < WORDS; i++)
		ranges[i] = (RemoteRange){ remote_is_object(words[i]) ? words[i] + current : 0,
								   sizeof(uint64_t), false };
	memset(frames, 0, WORDS * sizeof(*frames));
	remote_memory_gather(memory, ranges, WORDS, frames);
	for (size_t i = 0; i < WORDS; i++)
	{
		if (!ranges[i].had || !remote_is_object(frames[i]))
			frames[i] = 0;
	}
}

bool
php_place_find(RemoteMemory *memory, uint64_t distance, uint64_t state_current,
			   uint64_t thread_pointer, struct pfs_php_layout *layout, int32_t *offset)
{
	uint64_t words[WORDS];
	uint64_t frames[WORDS];
	uint64_t current;
	int followed = 0;

	if (!remote_is_object(thread_pointer) || !php_distance_read(memory, distance, &current) ||
		!beside_thread_read(memory, thread_pointer + (uint64_t) (int64_t) BESIDE_VARIABLES_FROM,
							WORDS, words))
		return false;
	current += state_current;
	php_frames_read(memory, words, current, frames);
	/* the thread's stack lies below its variables, and may contain old copies of the word */
	for (size_t i = WORDS; i-- > 0 && followed < CANDIDATES_MAX;)
	{
		struct pfs_php_layout at = *layout;

		if (frames[i] == 0)
			continue;
		followed++;
		at.current = words[i] + current;
		if (!php_frames_fit(memory, &at))
			continue;
		layout->current = current;
		*offset = BESIDE_VARIABLES_FROM + (int32_t) (8 * i);
		return true;
	}
	return false;
}
