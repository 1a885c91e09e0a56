/*
 * arena.c
 *		Arena of chunks whose size doubles from CHUNK_MIN_BYTES to CHUNK_MAX_BYTES.
 */
#include "base/arena.h"

#include <stdint.h>
#include <stdlib.h>

#define CHUNK_MIN_BYTES 1024
#define CHUNK_MAX_BYTES (256 * 1024)

struct ArenaChunk
{
	ArenaChunk *next;
	size_t size_bytes; /* without this header */
	max_align_t bytes[];
};

void
arena_init(Arena *arena, Budget *budget)
{
	*arena = (Arena){ .budget = budget };
}

void
arena_fini(Arena *arena)
{
	while (arena->chunks != NULL)
	{
		ArenaChunk *chunk = arena->chunks;

		arena->chunks = chunk->next;
		budget_release(arena->budget, sizeof(ArenaChunk) + chunk->size_bytes);
		free(chunk);
	}
	arena->free_bytes = 0;
}

/* Adds a chunk as the newest one. The free end of the previous chunk remains unused. */
static bool
arena_add_chunk(Arena *arena, size_t size_bytes)
{
	ArenaChunk *chunk;

	if (!budget_charge(arena->budget, sizeof(ArenaChunk) + size_bytes))
		return false;
	chunk = malloc(sizeof(ArenaChunk) + size_bytes);
	if (chunk == NULL)
	{
		budget_release(arena->budget, sizeof(ArenaChunk) + size_bytes);
		return false;
	}
	chunk->next = arena->chunks;
	chunk->size_bytes = size_bytes;
	arena->chunks = chunk;
	arena->free_bytes = size_bytes;
	return true;
}

void *
arena_alloc(Arena *arena, size_t bytes)
{
	char *end;

	if (bytes > SIZE_MAX / 2)
		return NULL;
	if (bytes == 0)
		bytes = 1; /* Give every allocation its own address, even one of 0 bytes. */
	bytes = (bytes + sizeof(int64_t) - 1) / sizeof(int64_t) * sizeof(int64_t);
	if (bytes > arena->free_bytes)
	{
		size_t wanted = arena->chunks ? arena->chunks->size_bytes * 2 : CHUNK_MIN_BYTES;

		if (wanted > CHUNK_MAX_BYTES)
			wanted = CHUNK_MAX_BYTES;
		if (wanted < bytes)
			wanted = bytes;

		/*
		 * Near the end of the budget a chunk of exactly this size may fit although a larger one
		 * does not.
		 */
		if (!arena_add_chunk(arena, wanted) && (wanted == bytes || !arena_add_chunk(arena, bytes)))
			return NULL;
	}
	end = (char *) arena->chunks->bytes + arena->chunks->size_bytes;
	end -= arena->free_bytes;
	arena->free_bytes -= bytes;
	return end;
}
