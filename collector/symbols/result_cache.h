/*
 * result_cache.h
 *		Symbolized addresses under a budget of bytes.
 *
 * Two generations: results enter the young one; when it holds half of the budget, the old one goes
 * as a whole and the young one becomes old. A result found in the old one moves to the young one.
 * So what is asked for stays, strings are shared within a generation, and nothing is freed piece by
 * piece.
 */
#ifndef COLLECTOR_RESULT_CACHE_H
#define COLLECTOR_RESULT_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/symbol_line.h"

typedef struct ResultCache ResultCache;

/* 0 or -ENOMEM. */
int result_cache_create(size_t budget_bytes, ResultCache **cache);
void result_cache_free(ResultCache *cache); /* accepts NULL */

/*
 * Lines hold until the next call of either function. Binaries are told apart by a number that is
 * never used again.
 */
bool result_cache_find(ResultCache *cache, uint64_t binary, uint64_t address, SymbolLines *lines);

/* Copies lines (which may not point into the cache) and gives back the copy. 0 or -ENOMEM. */
int result_cache_add(ResultCache *cache, uint64_t binary, uint64_t address,
					 const SymbolLines *lines, SymbolLines *stored);

/*
 * The old generation goes, with it what was not asked for since the last time, and the young one
 * takes its place.
 */
void result_cache_shrink(ResultCache *cache);

size_t result_cache_bytes(const ResultCache *cache);
uint64_t result_cache_evictions(const ResultCache *cache); /* results dropped */

#endif
