/*
 * remote_reads.c
 *		Ranges in an array that grows.
 */
#include "runtimes/common/remote_reads.h"

#include <stdlib.h>

#include "unwind/remote_address.h"

#define ROOM_FIRST 64
void
remote_reads_clear(RemoteReads *reads)
{
	free(reads->content);
	reads->content = NULL;
	reads->count = 0;
	reads->bytes = 0;
}

void
remote_reads_fini(RemoteReads *reads)
{
	free(reads->content);
	free(reads->ranges);
	free(reads->places);
	*reads = (RemoteReads){ 0 };
}

static bool
make_room(RemoteReads *reads)
{
	size_t room = reads->room > 0 ? 2 * reads->room : ROOM_FIRST;
	RemoteRange *ranges;
	size_t *places;

	if (reads->count < reads->room)
		return true;
	ranges = realloc(reads->ranges, room * sizeof(*ranges));
	if (ranges != NULL)
		reads->ranges = ranges;
	places = realloc(reads->places, room * sizeof(*places));
	if (places != NULL)
		reads->places = places;
	if (ranges == NULL || places == NULL)
		return false;
	reads->room = room;
	return true;
}

size_t
remote_reads_add(RemoteReads *reads, uint64_t address, size_t bytes)
{
	if (!make_room(reads))
		return SIZE_MAX;
	if (!remote_is_user_address(address))
		bytes = 0;
	reads->ranges[reads->count] = (RemoteRange){ .address = address, .bytes = bytes };
	reads->places[reads->count] = reads->bytes;
	reads->bytes += bytes;
	return reads->count++;
}

void
remote_reads_run(RemoteReads *reads, RemoteMemory *memory)
{
	free(reads->content);
	reads->content = reads->bytes > 0 ? malloc(reads->bytes) : NULL;
	if (reads->content != NULL)
		remote_memory_gather(memory, reads->ranges, reads->count, reads->content);
}

const uint8_t *
remote_reads_get(const RemoteReads *reads, size_t number)
{
	if (reads->content == NULL || number >= reads->count || !reads->ranges[number].had ||
		reads->ranges[number].bytes == 0)
		return NULL;
	return reads->content + reads->places[number];
}
