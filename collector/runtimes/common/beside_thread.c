/*
 * beside_thread.c
 *		Reads words beside a thread pointer, page by page.
 */
#include "runtimes/common/beside_thread.h"

#include <string.h>
#include <sys/param.h>

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
