/*
 * result_cache.h
 *		Cache of symbolized addresses within a budget of bytes.
 *
 * It has two generations. Results enter the young one. When the young one holds half of the budget,
 * the old one is freed and the young one becomes old. A result that is found in the old generation
 * moves to the young one. So results in use stay, strings are shared within a generation, and no
 * entry is freed alone.
 */
#ifndef COLLECTOR_RESULT_CACHE_H
#define COLLECTOR_RESULT_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/worker/symbol_line.h"

typedef struct ResultCache ResultCache;

/* Makes an empty cache of at most budget_bytes. Returns 0 or -ENOMEM. */
int result_cache_create(size_t budget_bytes, ResultCache **cache);
void result_cache_free(ResultCache *cache); /* accepts NULL */

/*
 * Finds a result. Its lines are valid until the next call of result_cache_find() or
 * result_cache_add(). A binary is given by a number that is never reused.
 */
bool result_cache_find(ResultCache *cache, uint64_t binary, uint64_t address, SymbolLines *lines);

/*
 * Copies lines, which must not point into the cache, and returns the copy in *stored. Returns 0 or
 * -ENOMEM.
 */
int result_cache_add(ResultCache *cache, uint64_t binary, uint64_t address,
					 const SymbolLines *lines, SymbolLines *stored);

/*
 * Frees the old generation, which holds the results that were not used recently; the young one
 * becomes old.
 */
void result_cache_shrink(ResultCache *cache);

size_t result_cache_bytes(const ResultCache *cache);
uint64_t result_cache_evictions(const ResultCache *cache); /* results dropped */

#endif
