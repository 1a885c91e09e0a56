/*
 * id_cache.h
 *		A cache from content to the database's id, with a memory budget.
 *
 * Keys are compared completely. There are two generations: when the young one has filled its half
 * of the budget, it becomes the old one, and the previous old one is dropped. A lookup that finds
 * an entry in the old generation copies it to the young one. Only ids whose transaction is
 * committed may be added.
 */
#ifndef COLLECTOR_ID_CACHE_H
#define COLLECTOR_ID_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/table.h"

typedef struct IdGeneration
{
	Budget budget;
	Arena keys;
	Table entries;
} IdGeneration;

typedef struct IdCache
{
	IdGeneration generations[2];
	int young; /* index of the young generation */
} IdCache;

void id_cache_init(IdCache *cache, size_t budget_bytes); /* must not be moved afterwards */
/* drops all entries and frees the memory */
void id_cache_clear(IdCache *cache);

bool id_cache_find(IdCache *cache, const void *key, size_t key_bytes, int64_t *id);

/* Adds an entry. On out of memory the entry is not added, so its content will be interned again. */
void id_cache_put(IdCache *cache, const void *key, size_t key_bytes, int64_t id);

#endif
