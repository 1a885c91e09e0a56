/*
 * fetch.c
 *		Gathers scattered memory into one buffer, and distributes it to the targets.
 */
#include "runtimes/common/fetch.h"

#include <stdlib.h>
#include <string.h>

void
fetch_add(Fetch *fetch, uint64_t address, void *target, size_t bytes)
{
	memset(target, 0, bytes);
	if (address == 0 || bytes == 0 || fetch->count == FETCH_MAX)
		return;
	fetch->ranges[fetch->count] = (RemoteRange){ address, bytes, false };
	fetch->targets[fetch->count++] = target;
}

void
fetch_run(Fetch *fetch)
{
	size_t total = 0;
	uint8_t *bytes;
	uint8_t *at;

	for (size_t i = 0; i < fetch->count; i++)
		total += fetch->ranges[i].bytes;
	bytes = total > 0 ? calloc(1, total) : NULL;
	if (bytes != NULL)
	{
		remote_memory_gather(fetch->memory, fetch->ranges, fetch->count, bytes);
		at = bytes;
		for (size_t i = 0; i < fetch->count; at += fetch->ranges[i++].bytes)
		{
			if (fetch->ranges[i].had)
				memcpy(fetch->targets[i], at, fetch->ranges[i].bytes);
		}
	}
	free(bytes);
	fetch->count = 0;
}
