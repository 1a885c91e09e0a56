/*
 * result_cache.c
 *		Keeps two generations of symbolized addresses.
 *
 * Within a generation each string, each array of lines and each (binary, address) exists once, so
 * addresses with equal lines share the lines.
 */
#include "symbols/result_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/table.h"

#define BUDGET_MIN_BYTES (256 * 1024)

/* Bytes of which a generation has one copy: a string with its NUL, or an array of SymbolLine. */
typedef struct Blob
{
	const void *bytes;
	size_t size_bytes;
} Blob;

typedef struct Entry
{
	uint64_t binary;
	uint64_t address;
	const SymbolLine *lines;
	uint32_t count;
	bool moved; /* was copied to the young generation, so freeing it is no eviction */
} Entry;

typedef struct Generation
{
	Budget budget;
	Arena arena;
	Table blobs;
	Table entries;
	SymbolLines last; /* the lines that were added last; none at first */
} Generation;

struct ResultCache
{
	size_t generation_bytes; /* budget of each generation */
	uint64_t evictions;
	Generation generations[2];
	Generation *young;
	Generation *old;
};

static void
generation_init(Generation *generation)
{
	/* the budget only counts; the limit is checked between two results */
	generation->budget = (Budget){ 0, SIZE_MAX };
	arena_init(&generation->arena, &generation->budget);
	table_init(&generation->blobs, &generation->budget, sizeof(Blob));
	table_init(&generation->entries, &generation->budget, sizeof(Entry));
}

static void
generation_fini(Generation *generation)
{
	table_fini(&generation->entries);
	table_fini(&generation->blobs);
	arena_fini(&generation->arena);
	generation->last = (SymbolLines){ 0 };
}

static bool
blob_equal(const void *item, const void *key)
{
	const Blob *left = item;
	const Blob *right = key;

	return left->size_bytes == right->size_bytes &&
		   memcmp(left->bytes, right->bytes, left->size_bytes) == 0;
}

static bool
entry_equal(const void *item, const void *key)
{
	const Entry *left = item;
	const Entry *right = key;

	return left->binary == right->binary && left->address == right->address;
}

/* Returns the generation's copy of some bytes; NULL if out of memory. */
static const void *
generation_intern(Generation *generation, const void *bytes, size_t size_bytes)
{
	const Blob key = { bytes, size_bytes };
	uint64_t hash = hash_bytes(generation->blobs.seed, bytes, size_bytes);
	uint32_t position;
	void *copy;

	if (table_find(&generation->blobs, hash, blob_equal, &key, &position))
		return ((const Blob *) table_item(&generation->blobs, position))->bytes;
	if (table_reserve(&generation->blobs) != 0)
		return NULL;
	copy = arena_alloc(&generation->arena, size_bytes);
	if (copy == NULL)
		return NULL;
	memcpy(copy, bytes, size_bytes);
	*(Blob *) table_append(&generation->blobs, hash) = (Blob){ copy, size_bytes };
	return copy;
}

/*
 * Returns the generation's copy of a string; NULL if out of memory. likely is such a copy that may
 * be equal, or NULL: comparing takes a fraction of the time of hashing.
 */
static const char *
intern_string(Generation *generation, const char *string, const char *likely)
{
	if (likely != NULL && strcmp(likely, string) == 0)
		return likely;
	return generation_intern(generation, string, strlen(string) + 1);
}

/* Copies lines and their strings into a generation; returns NULL if out of memory. */
static const SymbolLine *
intern_lines(Generation *generation, const SymbolLines *lines)
{
	const SymbolLine none = { 0 };
	const SymbolLine *stored = NULL;
	SymbolLine *copy = malloc((lines->count + 1) * sizeof(*copy));
	bool whole = copy != NULL;

	for (uint32_t i = 0; i < lines->count && whole; i++)
	{
		/* addresses are mostly asked about in their order, so that outer frames recur */
		uint32_t from_end = lines->count - i;
		const SymbolLine *likely = from_end <= generation->last.count
									   ? &generation->last.lines[generation->last.count - from_end]
									   : &none;

		copy[i] = lines->lines[i];
		copy[i].name = intern_string(generation, lines->lines[i].name, likely->name);
		copy[i].system_name =
			lines->lines[i].system_name == lines->lines[i].name
				? copy[i].name
				: intern_string(generation, lines->lines[i].system_name, likely->system_name);
		copy[i].filename = intern_string(generation, lines->lines[i].filename, likely->filename);
		whole = copy[i].name != NULL && copy[i].system_name != NULL && copy[i].filename != NULL;
	}
	if (whole)
		stored = generation_intern(generation, copy, lines->count * sizeof(*copy));
	if (stored != NULL)
		generation->last = (SymbolLines){ lines->count, stored };
	free(copy);
	return stored;
}

static Entry *
result_cache_find_entry(const Generation *generation, uint64_t binary, uint64_t address,
						uint64_t *hash)
{
	const Entry key = { .binary = binary, .address = address };
	uint32_t position;

	*hash = hash_word(hash_word(generation->entries.seed, binary), address);
	if (!table_find(&generation->entries, *hash, entry_equal, &key, &position))
		return NULL;
	return table_item(&generation->entries, position);
}

int
result_cache_create(size_t budget_bytes, ResultCache **cache)
{
	ResultCache *made = calloc(1, sizeof(*made));

	if (made == NULL)
		return -ENOMEM;
	made->generation_bytes =
		(budget_bytes > BUDGET_MIN_BYTES ? budget_bytes : BUDGET_MIN_BYTES) / 2;
	made->young = &made->generations[0];
	made->old = &made->generations[1];
	generation_init(made->young);
	generation_init(made->old);
	*cache = made;
	return 0;
}

void
result_cache_free(ResultCache *cache)
{
	if (cache == NULL)
		return;
	generation_fini(cache->young);
	generation_fini(cache->old);
	free(cache);
}

void
result_cache_shrink(ResultCache *cache)
{
	Generation *emptied = cache->old;

	for (uint32_t i = 0; i < emptied->entries.count; i++)
		cache->evictions += !((const Entry *) table_item(&emptied->entries, i))->moved;
	generation_fini(emptied);
	generation_init(emptied);
	cache->old = cache->young;
	cache->young = emptied;
}

bool
result_cache_find(ResultCache *cache, uint64_t binary, uint64_t address, SymbolLines *lines)
{
	uint64_t hash;
	Entry *entry = result_cache_find_entry(cache->young, binary, address, &hash);

	if (entry == NULL)
	{
		entry = result_cache_find_entry(cache->old, binary, address, &hash);
		if (entry == NULL)
			return false;
		/*
		 * Copy only if there is room, because making room would free the generation that is copied
		 * from.
		 */
		if (!entry->moved && cache->young->budget.used_bytes < cache->generation_bytes)
		{
			SymbolLines kept = { entry->count, entry->lines };

			entry->moved = result_cache_add(cache, binary, address, &kept, lines) == 0;
		}
	}
	*lines = (SymbolLines){ entry->count, entry->lines };
	return true;
}

int
result_cache_add(ResultCache *cache, uint64_t binary, uint64_t address, const SymbolLines *lines,
				 SymbolLines *stored)
{
	Entry made = { .binary = binary, .address = address, .count = lines->count };
	Entry *entry;
	uint64_t hash;

	if (cache->young->budget.used_bytes >= cache->generation_bytes)
		result_cache_shrink(cache);
	made.lines = intern_lines(cache->young, lines);
	if (made.lines == NULL || table_reserve(&cache->young->entries) != 0)
		return -ENOMEM;
	entry = result_cache_find_entry(cache->young, binary, address, &hash);
	if (entry == NULL)
		entry = table_append(&cache->young->entries, hash);
	*entry = made;
	*stored = (SymbolLines){ made.count, made.lines };
	return 0;
}

size_t
result_cache_bytes(const ResultCache *cache)
{
	return sizeof(*cache) + cache->young->budget.used_bytes + cache->old->budget.used_bytes;
}

uint64_t
result_cache_evictions(const ResultCache *cache)
{
	return cache->evictions;
}
