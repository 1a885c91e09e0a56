/*
 * memory.c
 *		Arrays grow by doubling. A scratch is a list of chunks, of which the newest is being filled.
 */
#include "formats/memory.h"

#define CHUNK_BYTES ((size_t) 8 * 1024)
#define ALIGNMENT	sizeof(int64_t)

void *
pfs_grow(PfsBudget *budget, void *array, size_t count, size_t element_bytes)
{
	size_t added = (count == 0 ? PFS_FIRST_CAPACITY : count) * element_bytes;
	void *grown;

	if (added > budget->left)
	{
		budget->exhausted = true;
		return NULL;
	}
	grown =
		budget->allocator.realloc(budget->allocator.context, array, count * element_bytes + added);
	if (grown != NULL)
		budget->left -= added;
	return grown;
}

struct PfsScratchChunk
{
	PfsScratchChunk *next;
	size_t bytes; /* including this header */
	int64_t memory[];
};

static bool
add_chunk(PfsScratch *scratch, PfsBudget *budget, size_t wanted)
{
	size_t bytes = sizeof(PfsScratchChunk) + (wanted > CHUNK_BYTES ? wanted : CHUNK_BYTES);
	PfsScratchChunk *chunk;

	if (bytes > budget->left)
	{
		budget->exhausted = true;
		return false;
	}
	chunk = budget->allocator.realloc(budget->allocator.context, NULL, bytes);
	if (chunk == NULL)
		return false;
	budget->left -= bytes;
	*chunk = (PfsScratchChunk){ .next = scratch->chunks, .bytes = bytes };
	scratch->chunks = chunk;
	scratch->free_bytes = bytes - sizeof(PfsScratchChunk);
	return true;
}

void *
pfs_scratch_alloc(PfsScratch *scratch, PfsBudget *budget, size_t bytes)
{
	/* rounds 0 up as well, because an empty piece needs an address of its own */
	size_t aligned = (bytes + ALIGNMENT) & ~(ALIGNMENT - 1);
	char *end;

	if (aligned < bytes || aligned > SIZE_MAX / 2)
		return NULL;
	if (aligned > scratch->free_bytes && !add_chunk(scratch, budget, aligned))
		return NULL;
	end = (char *) scratch->chunks + scratch->chunks->bytes;
	scratch->free_bytes -= aligned;
	return end - scratch->free_bytes - aligned;
}

void
pfs_scratch_free(PfsScratch *scratch, PfsBudget *budget)
{
	while (scratch->chunks != NULL)
	{
		PfsScratchChunk *chunk = scratch->chunks;

		scratch->chunks = chunk->next;
		budget->left += chunk->bytes;
		budget->allocator.realloc(budget->allocator.context, chunk, 0);
	}
	scratch->free_bytes = 0;
}
