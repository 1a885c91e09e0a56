/*
 * intern.h
 *		Maps a batch's indexes to the database's ids, with caches of ids interned before.
 *
 * Interning is part of the transaction that stores the batch. Steps for one batch:
 *
 *   intern_begin, intern_names, intern_stacks ► COMMIT ► intern_remember; intern_end in any case
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
	IdCache notes; /* notes known to be stored; the id is always 1 */
	uint64_t stack_seeds[2];
	Buffer key; /* scratch buffer */
} Interner;

/* The caches together take up to cache_bytes. Must not be moved afterwards. */
void interner_init(Interner *interner, size_t cache_bytes);
void interner_fini(Interner *interner);

/* Drops all ids: the database is another one, or their epoch has expired. */
void interner_clear(Interner *interner);

/* The batch must stay unchanged until intern_end(). */
void intern_begin(InternWork *work, Interner *interner, const Batch *batch);

/*
 * Looks up ids in the caches only; *all is true if the database need not be asked. Returns false on
 * out of memory.
 */
bool intern_look_up(InternWork *work, bool *all);

/*
 * Find the ids of series, mappings and functions, and then of locations and stacks. Missing items
 * are added to the trip, which is sent if their ids are needed; other statements may stay in it.
 */
DbOutcome intern_names(InternWork *work, Trip *trip, Connection *connection, DbError *error);
DbOutcome intern_stacks(InternWork *work, Trip *trip, Connection *connection, DbError *error);

/* Adds the interned ids to the caches. Call it only after COMMIT. */
void intern_remember(InternWork *work);
void intern_end(InternWork *work);

#endif
