/*
 * intern.h
 *		From a batch's own indexes to the database's ids, through caches of what was interned
 *		before.
 *
 * Interning is part of the transaction that stores the batch. The steps for one batch:
 *
 *		intern_begin, intern_names, intern_stacks ► COMMIT ► intern_remember; intern_end in any case
 */
#ifndef COLLECTOR_INTERN_H
#define COLLECTOR_INTERN_H

#include "writer/intern_items.h"
#include "writer/trip.h"

typedef struct Interner
{
	IdCache series;
	IdCache mappings;
	IdCache functions;
	IdCache locations;
	IdCache stacks;
	IdCache notes; /* what is stored: 1 */
	uint64_t stack_seeds[2];
	Buffer key; /* scratch */
} Interner;

/* The caches together take cache_bytes at most. Must not move afterwards. */
void interner_init(Interner *interner, size_t cache_bytes);
void interner_fini(Interner *interner);

/* Forgets all ids: they are another database's, or their epoch is over. */
void interner_clear(Interner *interner);

/* The batch must stay until intern_end. */
void intern_begin(InternWork *work, Interner *interner, const Batch *batch);

/*
 * Looks up what can be without the database; *all: nothing will be asked for. False: no memory.
 */
bool intern_look_up(InternWork *work, bool *all);

/*
 * Finds the ids of series, mappings and functions; then of locations and stacks. What the caches
 * lack is added to the trip; both send it where ids are needed, and leave in it what is not.
 */
DbOutcome intern_names(InternWork *work, Trip *trip, Connection *connection, DbError *error);
DbOutcome intern_stacks(InternWork *work, Trip *trip, Connection *connection, DbError *error);

/* Puts into the caches what was interned. Only what is committed may be. */
void intern_remember(InternWork *work);
void intern_end(InternWork *work);

#endif
