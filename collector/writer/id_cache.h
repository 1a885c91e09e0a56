/*
 * id_cache.h
 *		From content to the database's id: what this writer interned, within a budget of memory.
 *
 * Keys are compared whole, so an answer is as exact as the key. Two generations: when the young one
 * has filled its half of the budget it becomes the old one, and what was not asked for since goes
 * with the old one before it. An entry found in the old generation moves to the young one.
 * Only ids whose transaction is committed may be put in.
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
	int young; /* index of the young one */
} IdCache;

void id_cache_init(IdCache *cache, size_t budget_bytes); /* must not move afterwards */
void id_cache_clear(IdCache *cache);					 /* forgets all, gives the memory back */

bool id_cache_find(IdCache *cache, const void *key, size_t key_bytes, int64_t *id);

/* Without memory for it the entry is not kept: it is then interned again. */
void id_cache_put(IdCache *cache, const void *key, size_t key_bytes, int64_t id);

#endif
