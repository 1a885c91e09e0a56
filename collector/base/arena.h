/*
 * arena.h
 *		Memory under a budget: a counter that containers charge, and an arena of small allocations.
 *
 * An arena frees all its memory at once, in arena_fini(). It takes memory from malloc() in chunks
 * and charges each chunk to its budget when it takes it.
 */
#ifndef COLLECTOR_ARENA_H
#define COLLECTOR_ARENA_H

#include <stdbool.h>
#include <stddef.h>

#include "base/memory_share.h"

typedef struct Budget
{
	size_t used_bytes;
	size_t limit_bytes;
	MemoryShare *share; /* charged as well; NULL: there is no share */
} Budget;

/* Returns false, and charges nothing, if the budget or the share has no room for bytes. */
static inline bool
budget_charge(Budget *budget, size_t bytes)
{
	if (bytes > budget->limit_bytes || budget->used_bytes > budget->limit_bytes - bytes ||
		!share_charge(budget->share, bytes))
		return false;
	budget->used_bytes += bytes;
	return true;
}

static inline void
budget_release(Budget *budget, size_t bytes)
{
	budget->used_bytes -= bytes;
	share_release(budget->share, bytes);
}

typedef struct ArenaChunk ArenaChunk;

typedef struct Arena
{
	Budget *budget;
	ArenaChunk *chunks; /* newest first */
	size_t free_bytes;	/* unused bytes at the end of the newest chunk */
} Arena;

void arena_init(Arena *arena, Budget *budget);
/* Frees all memory and releases its charge; the arena is empty afterwards. */
void arena_fini(Arena *arena);

/* Returns memory aligned for pointers and int64_t; NULL if memory or budget is exhausted. */
void *arena_alloc(Arena *arena, size_t bytes);

#endif
