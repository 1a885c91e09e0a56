/*
 * arena.h
 *		Memory under a budget: a counter that containers charge, and an arena of small allocations.
 *
 * An arena hands out memory that goes all at once, with the arena. It takes it from the system in
 * chunks, which it charges to its budget as it takes them.
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
	MemoryShare *share; /* charged, too; NULL: none */
} Budget;

/* False, and nothing charged, where the budget is out. */
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
	size_t free_bytes;	/* at the end of the newest */
} Arena;

void arena_init(Arena *arena, Budget *budget);
void arena_fini(Arena *arena); /* gives the memory, and its charge, back; the arena is then empty */

/* Aligned for pointers and int64_t. NULL where memory or budget is out. */
void *arena_alloc(Arena *arena, size_t bytes);

#endif
