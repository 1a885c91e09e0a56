/*
 * result_cache.c
 *		The two generations of symbolized addresses.
 *
 * A generation holds blobs (strings, and arrays of lines), each once, in chunks that are freed together; entries lead from
 * (binary, address) to a blob of lines. Both are found by open addressing, at most half full.
 */
#include "symbols/result_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES		 65536
#define FIRST_SLOTS		 256
#define BUDGET_MIN_BYTES (4 * CHUNK_BYTES)

typedef struct Chunk
{
	struct Chunk *next;
	size_t used;
	size_t room;
	uint64_t bytes[];
} Chunk;

typedef struct Blob
{
	uint32_t hash;
	uint32_t size_bytes;
	uint64_t bytes[];
} Blob;

typedef struct Entry
{
	uint64_t binary;
	uint64_t address;
	const SymbolLine *lines;
	uint32_t count;
	bool moved; /* to the young generation: no loss when this one goes */
} Entry;

typedef struct Generation
{
	Chunk *chunks;
	Blob **blobs; /* slots */
	size_t blob_slots;
	size_t blob_count;
	Entry *entries; /* slots; empty where lines is NULL */
	size_t entry_slots;
	size_t entry_count;
	size_t bytes;
} Generation;

struct ResultCache
{
	size_t budget_bytes;
	uint64_t evictions;
	Generation young;
	Generation old;
};

/* Stands for "no lines" where NULL would mean an empty slot. */
static const SymbolLine no_lines[1];

static uint32_t
hash_bytes(const void *data, size_t size_bytes)
{
	const uint8_t *bytes = data;
	uint64_t hash = 0xcbf29ce484222325; /* FNV-1a, 64 bits, folded */

	for (size_t i = 0; i < size_bytes; i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3;
	return (uint32_t) (hash ^ hash >> 32);
}

static size_t
hash_key(uint64_t binary, uint64_t address)
{
	uint64_t hash = (address + binary * 0x9e3779b97f4a7c15) * 0xff51afd7ed558ccd;

	return (size_t) (hash ^ hash >> 32);
}

static void
generation_clear(Generation *generation)
{
	while (generation->chunks != NULL)
	{
		Chunk *next = generation->chunks->next;

		free(generation->chunks);
		generation->chunks = next;
	}
	free(generation->blobs);
	free(generation->entries);
	memset(generation, 0, sizeof(*generation));
}

static void *
generation_alloc(Generation *generation, size_t size_bytes)
{
	Chunk *chunk = generation->chunks;
	void *made;

	size_bytes = (size_bytes + sizeof(uint64_t) - 1) / sizeof(uint64_t) * sizeof(uint64_t);
	if (chunk == NULL || chunk->room - chunk->used < size_bytes)
	{
		size_t room = CHUNK_BYTES - sizeof(*chunk);

		if (room < size_bytes)
			room = size_bytes;
		chunk = malloc(sizeof(*chunk) + room);
		if (chunk == NULL)
			return NULL;
		*chunk = (Chunk){ .next = generation->chunks, .room = room };
		generation->chunks = chunk;
		generation->bytes += sizeof(*chunk) + room;
	}
	made = (char *) chunk->bytes + chunk->used;
	chunk->used += size_bytes;
	return made;
}

static int
grow_blobs(Generation *generation)
{
	size_t slots = generation->blob_slots == 0 ? FIRST_SLOTS : generation->blob_slots * 2;
	Blob **grown = calloc(slots, sizeof(Blob *));

	if (grown == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < generation->blob_slots; i++)
	{
		size_t at;

		if (generation->blobs[i] == NULL)
			continue;
		for (at = generation->blobs[i]->hash & (slots - 1); grown[at] != NULL;
			 at = (at + 1) & (slots - 1))
			;
		grown[at] = generation->blobs[i];
	}
	generation->bytes += (slots - generation->blob_slots) * sizeof(Blob *);
	free(generation->blobs);
	generation->blobs = grown;
	generation->blob_slots = slots;
	return 0;
}

/* The generation's copy of some bytes, or NULL when memory is out. */
static const void *
intern(Generation *generation, const void *data, size_t size_bytes)
{
	uint32_t hash = hash_bytes(data, size_bytes);
	size_t at;
	Blob *blob;

	if (size_bytes > UINT32_MAX ||
		(generation->blob_count * 2 >= generation->blob_slots && grow_blobs(generation) != 0))
		return NULL;
	for (at = hash & (generation->blob_slots - 1); generation->blobs[at] != NULL;
		 at = (at + 1) & (generation->blob_slots - 1))
	{
		blob = generation->blobs[at];
		if (blob->hash == hash && blob->size_bytes == size_bytes &&
			memcmp(blob->bytes, data, size_bytes) == 0)
			return blob->bytes;
	}
	blob = generation_alloc(generation, sizeof(*blob) + size_bytes);
	if (blob == NULL)
		return NULL;
	blob->hash = hash;
	blob->size_bytes = (uint32_t) size_bytes;
	memcpy(blob->bytes, data, size_bytes);
	generation->blobs[at] = blob;
	generation->blob_count++;
	return blob->bytes;
}

/* The slot of a key: its entry, or the empty one where it would go. The table is never full. */
static Entry *
entry_slot(const Generation *generation, uint64_t binary, uint64_t address)
{
	size_t mask = generation->entry_slots - 1;
	size_t at = hash_key(binary, address) & mask;

	while (generation->entries[at].lines != NULL &&
		   (generation->entries[at].binary != binary || generation->entries[at].address != address))
		at = (at + 1) & mask;
	return &generation->entries[at];
}

static int
grow_entries(Generation *generation)
{
	Generation grown = *generation;

	grown.entry_slots = generation->entry_slots == 0 ? FIRST_SLOTS : generation->entry_slots * 2;
	grown.entries = calloc(grown.entry_slots, sizeof(Entry));
	if (grown.entries == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < generation->entry_slots; i++)
	{
		const Entry *entry = &generation->entries[i];

		if (entry->lines != NULL)
			*entry_slot(&grown, entry->binary, entry->address) = *entry;
	}
	grown.bytes += (grown.entry_slots - generation->entry_slots) * sizeof(Entry);
	free(generation->entries);
	*generation = grown;
	return 0;
}

/* Copies lines and their strings into a generation; NULL when memory is out. */
static const SymbolLine *
intern_lines(Generation *generation, const SymbolLines *lines)
{
	const SymbolLine *stored = NULL;
	SymbolLine *copy;
	bool whole = true;

	if (lines->count == 0)
		return no_lines;
	copy = malloc(lines->count * sizeof(*copy));
	if (copy == NULL)
		return NULL;
	for (uint32_t i = 0; i < lines->count && whole; i++)
	{
		const SymbolLine *line = &lines->lines[i];

		copy[i] = *line;
		copy[i].name = intern(generation, line->name, strlen(line->name) + 1);
		copy[i].system_name = intern(generation, line->system_name, strlen(line->system_name) + 1);
		copy[i].filename = intern(generation, line->filename, strlen(line->filename) + 1);
		whole = copy[i].name != NULL && copy[i].system_name != NULL && copy[i].filename != NULL;
	}
	if (whole)
		stored = intern(generation, copy, lines->count * sizeof(*copy));
	free(copy);
	return stored;
}

int
result_cache_create(size_t budget_bytes, ResultCache **cache)
{
	ResultCache *made = calloc(1, sizeof(*made));

	if (made == NULL)
		return -ENOMEM;
	made->budget_bytes = budget_bytes > BUDGET_MIN_BYTES ? budget_bytes : BUDGET_MIN_BYTES;
	*cache = made;
	return 0;
}

void
result_cache_free(ResultCache *cache)
{
	if (cache == NULL)
		return;
	generation_clear(&cache->young);
	generation_clear(&cache->old);
	free(cache);
}

/* The old generation goes; what was not asked for since the last time is lost. */
static void
turn_over(ResultCache *cache)
{
	for (size_t i = 0; i < cache->old.entry_slots; i++)
		cache->evictions += cache->old.entries[i].lines != NULL && !cache->old.entries[i].moved;
	generation_clear(&cache->old);
	cache->old = cache->young;
	memset(&cache->young, 0, sizeof(cache->young));
}

bool
result_cache_find(ResultCache *cache, uint64_t binary, uint64_t address, SymbolLines *lines)
{
	Entry *entry;

	if (cache->young.entry_slots > 0)
	{
		entry = entry_slot(&cache->young, binary, address);
		if (entry->lines != NULL)
		{
			*lines = (SymbolLines){ entry->count, entry->lines };
			return true;
		}
	}
	if (cache->old.entry_slots == 0)
		return false;
	entry = entry_slot(&cache->old, binary, address);
	if (entry->lines == NULL)
		return false;
	*lines = (SymbolLines){ entry->count, entry->lines };
	if (!entry->moved && cache->young.bytes < cache->budget_bytes / 2)
	{
		SymbolLines stored;

		if (result_cache_add(cache, binary, address, lines, &stored) == 0)
		{
			entry->moved = true;
			*lines = stored;
		}
	}
	return true;
}

int
result_cache_add(ResultCache *cache, uint64_t binary, uint64_t address, const SymbolLines *lines,
				 SymbolLines *stored)
{
	Generation *young = &cache->young;
	const SymbolLine *copy;
	Entry *entry;

	if (young->bytes >= cache->budget_bytes / 2)
		turn_over(cache);
	if (young->entry_count * 2 >= young->entry_slots && grow_entries(young) != 0)
		return -ENOMEM;
	copy = intern_lines(young, lines);
	if (copy == NULL)
		return -ENOMEM;
	entry = entry_slot(young, binary, address);
	if (entry->lines == NULL)
		young->entry_count++;
	*entry = (Entry){ binary, address, copy, lines->count, false };
	*stored = (SymbolLines){ lines->count, copy };
	return 0;
}

size_t
result_cache_bytes(const ResultCache *cache)
{
	return sizeof(*cache) + cache->young.bytes + cache->old.bytes;
}

uint64_t
result_cache_evictions(const ResultCache *cache)
{
	return cache->evictions;
}
