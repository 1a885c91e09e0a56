/*
 * hotspot_unloads.c
 *		Finds a counter by its name, and reads it.
 *
 * Counters are entries, one after the other, behind a head. An entry has its length, its name and
 * its value at offsets in it.
 */
#include "runtimes/hotspot/hotspot_unloads.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/unaligned.h"
#include "unwind/remote_address.h"

#define NAME		   "java.cls.unloadedClasses"
#define MAGIC		   UINT32_C(0xc0c0feca) /* as a number of this machine's byte order */
#define COUNTERS_MAX   4096
#define COUNTERS_BYTES (64 * 1024) /* virtual machines have 32 KiB, of which they use 12 */

/* Offsets in the head. */
#define HEAD_USED  8
#define HEAD_FIRST 24
#define HEAD_COUNT 28
#define HEAD_BYTES 32

/* Offsets in an entry. */
#define ENTRY_LENGTH 0
#define ENTRY_NAME	 4
#define ENTRY_VECTOR 8 /* 0: the value is a number */
#define ENTRY_TYPE	 12
#define ENTRY_VALUE	 16
#define ENTRY_BYTES	 20

static bool
read_bytes(RemoteMemory *memory, uint64_t address, void *bytes, size_t count)
{
	const RemotePieces piece = { .address = address, .piece_bytes = count, .count = 1 };

	return remote_is_user_address(address) && remote_memory_read(memory, &piece, bytes) == count;
}

/* Returns whether the entry is the counter, with a value of eight bytes in it. */
static bool
is_counter(const uint8_t *entry, size_t length)
{
	uint32_t name = bytes_u32_at(entry, ENTRY_NAME);
	uint32_t value = bytes_u32_at(entry, ENTRY_VALUE);

	return entry[ENTRY_TYPE] == 'J' && bytes_u32_at(entry, ENTRY_VECTOR) == 0 && name <= length &&
		   length - name >= sizeof(NAME) && value % sizeof(uint64_t) == 0 && value <= length &&
		   length - value >= sizeof(uint64_t) && memcmp(entry + name, NAME, sizeof(NAME)) == 0;
}

/* Returns the offset of the counter's value among the bytes; 0 if there is none. */
static size_t
find_counter(const uint8_t *bytes, size_t size)
{
	size_t at = bytes_u32_at(bytes, HEAD_FIRST);
	uint32_t count = bytes_u32_at(bytes, HEAD_COUNT);

	for (uint32_t i = 0; i < count && i < COUNTERS_MAX; i++)
	{
		size_t length;

		if (at > size || size - at < ENTRY_BYTES)
			return 0;
		length = bytes_u32_at(bytes, at + ENTRY_LENGTH);
		if (length < ENTRY_BYTES || length > size - at)
			return 0;
		if (is_counter(bytes + at, length))
			return at + bytes_u32_at(bytes, at + ENTRY_VALUE);
		at += length;
	}
	return 0;
}

uint64_t
hotspot_unloads_find(RemoteMemory *memory, uint64_t start)
{
	uint64_t counters = 0;
	uint8_t head[HEAD_BYTES];
	uint8_t *bytes;
	size_t used;
	size_t at = 0;

	if (!read_bytes(memory, start, &counters, sizeof(counters)) ||
		!read_bytes(memory, counters, head, sizeof(head)) || bytes_u32_at(head, 0) != MAGIC)
		return 0;
	used = bytes_u32_at(head, HEAD_USED);
	if (used < HEAD_BYTES)
		return 0;
	if (used > COUNTERS_BYTES)
		used = COUNTERS_BYTES;
	bytes = malloc(used);
	if (bytes != NULL && read_bytes(memory, counters, bytes, used))
		at = find_counter(bytes, used);
	free(bytes);
	return at != 0 ? counters + at : 0;
}

uint64_t
hotspot_unloads_read(RemoteMemory *memory, uint64_t address)
{
	uint64_t number = 0;

	if (address != 0 && !read_bytes(memory, address, &number, sizeof(number)))
		return UINT64_MAX;
	return number;
}
