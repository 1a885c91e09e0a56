/*
 * beside_thread.c
 *		Reads words beside a thread pointer, page by page.
 */
#include "runtimes/common/beside_thread.h"

#include <string.h>
#include <sys/param.h>

#include "unwind/remote_address.h"

#define PAGE_BYTES	4096 /* pages have this size or a multiple of it */
#define PIECE_PAGES (BESIDE_VARIABLES_BYTES / PAGE_BYTES + 1)

bool
beside_thread_read(RemoteMemory *memory, uint64_t address, size_t count, uint64_t *words)
{
	RemoteRange ranges[PIECE_PAGES];
	uint8_t *next = (uint8_t *) words;
	size_t bytes = count * sizeof(*words);
	size_t pages = 0;
	bool had = false;

	for (size_t done = 0; done < bytes; pages++)
	{
		size_t left = PAGE_BYTES - (address + done) % PAGE_BYTES;

		ranges[pages] = (RemoteRange){ address + done, MIN(left, bytes - done), false };
		done += ranges[pages].bytes;
	}
	remote_memory_gather(memory, ranges, pages, words);
	for (size_t i = 0; i < pages; i++)
	{
		if (!ranges[i].had)
			memset(next, 0, ranges[i].bytes);
		had |= ranges[i].had;
		next += ranges[i].bytes;
	}
	return had;
}

/* Reads the address to which a place's offset is added. Returns false if it cannot be read. */
static bool
beside_thread_read_base(RemoteMemory *memory, uint64_t thread_pointer, int8_t pointer,
						uint64_t *base)
{
	*base = thread_pointer;
	return pointer == 0 ||
		   (beside_thread_read(memory, thread_pointer + 8 * (uint64_t) (int64_t) pointer, 1,
							   base) &&
			remote_is_object(*base));
}

bool
beside_thread_read_keys(RemoteMemory *memory, uint64_t thread_pointer, bool is_pointed,
						ThreadKeys *keys)
{
	uint64_t base;

	keys->count = (is_pointed ? BESIDE_POINTED_BYTES : BESIDE_KEYS_BYTES) / 8;
	keys->first =
		is_pointed ? (ThreadPlace){ 0, BESIDE_POINTER } : (ThreadPlace){ BESIDE_KEYS_FROM, 0 };
	return beside_thread_read_base(memory, thread_pointer, keys->first.pointer, &base) &&
		   beside_thread_read(memory, base + (uint64_t) (int64_t) keys->first.offset, keys->count,
							  keys->words);
}

bool
beside_thread_read_word(RemoteMemory *memory, uint64_t thread_pointer, const ThreadPlace *place,
						uint64_t *word)
{
	uint64_t base;

	return beside_thread_read_base(memory, thread_pointer, place->pointer, &base) &&
		   beside_thread_read(memory, base + (uint64_t) (int64_t) place->offset, 1, word);
}
