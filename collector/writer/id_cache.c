/*
 * id_cache.c
 *		Two generations of entries.
 */
#include "writer/id_cache.h"

#include <string.h>

#include "base/hash.h"

typedef struct IdEntry
{
	const void *key;
	size_t key_bytes;
	int64_t id;
} IdEntry;

static bool
id_cache_entry_equal(const void *item, const void *key)
{
	const IdEntry *a = item;
	const IdEntry *b = key;

	return a->key_bytes == b->key_bytes && memcmp(a->key, b->key, a->key_bytes) == 0;
}

static void
generation_clear(IdGeneration *generation)
{
	table_fini(&generation->entries);
	arena_fini(&generation->keys);
}

void
id_cache_init(IdCache *cache, size_t budget_bytes)
{
	cache->young = 0;
	for (int i = 0; i < 2; i++)
	{
		IdGeneration *generation = &cache->generations[i];

		/* Each generation takes half of the memory; a new one begins when the young one is full. */
		generation->budget = (Budget){ .limit_bytes = budget_bytes / 2 };
		arena_init(&generation->keys, &generation->budget);
		table_init(&generation->entries, &generation->budget, sizeof(IdEntry));
	}
}

void
id_cache_clear(IdCache *cache)
{
	generation_clear(&cache->generations[0]);
	generation_clear(&cache->generations[1]);
}

static bool
generation_find(const IdGeneration *generation, const IdEntry *key, int64_t *id)
{
	uint64_t hash = hash_bytes(generation->entries.seed, key->key, key->key_bytes);
	uint32_t position;

	if (!table_find(&generation->entries, hash, id_cache_entry_equal, key, &position))
		return false;
	*id = ((const IdEntry *) table_item(&generation->entries, position))->id;
	return true;
}

/* Adds a copy of the entry. Returns false if the generation is full. */
static bool
generation_put(IdGeneration *generation, const IdEntry *entry)
{
	uint64_t hash = hash_bytes(generation->entries.seed, entry->key, entry->key_bytes);
	IdEntry own = *entry;
	void *key;

	/*
	 * Room first: table_append() cannot fail then, and the key is not left in the arena without an
	 * entry.
	 */
	if (table_reserve(&generation->entries) != 0)
		return false;
	key = arena_alloc(&generation->keys, entry->key_bytes);
	if (key == NULL)
		return false;
	own.key = memcpy(key, entry->key, entry->key_bytes);
	*(IdEntry *) table_append(&generation->entries, hash) = own;
	return true;
}

/* Adds an entry that is not in the young generation; starts a new generation if it is full. */
static void
put_young(IdCache *cache, const IdEntry *entry)
{
	if (generation_put(&cache->generations[cache->young], entry))
		return;
	/*
	 * The old generation is cleared and becomes the young one. The full one becomes the old one,
	 * from which id_cache_find() copies entries that are still used. An entry larger than a
	 * generation is not kept.
	 */
	cache->young = 1 - cache->young;
	generation_clear(&cache->generations[cache->young]);
	generation_put(&cache->generations[cache->young], entry);
}

bool
id_cache_find(IdCache *cache, const void *key, size_t key_bytes, int64_t *id)
{
	IdEntry entry = { .key = key, .key_bytes = key_bytes };

	if (generation_find(&cache->generations[cache->young], &entry, id))
		return true;
	if (!generation_find(&cache->generations[1 - cache->young], &entry, id))
		return false;
	/* an entry that is used moves to the young generation and so survives the next change */
	entry.id = *id;
	put_young(cache, &entry);
	return true;
}

void
id_cache_put(IdCache *cache, const void *key, size_t key_bytes, int64_t id)
{
	IdEntry entry = { .key = key, .key_bytes = key_bytes, .id = id };
	int64_t known;

	if (!generation_find(&cache->generations[cache->young], &entry, &known))
		put_young(cache, &entry);
}
