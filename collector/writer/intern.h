/*
 * intern.h
 *		Maps a batch's indexes to the database's ids, with caches of ids from earlier batches.
 *
 * Interning is part of the transaction that stores the batch. Steps for one batch:
 *
 * intern_begin, intern_names, intern_stacks ► COMMIT ► intern_remember; intern_end in any case
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
	IdCache notes; /* notes that are known to be stored; their id in the cache is always 1 */
	uint64_t stack_seeds[2];
	Buffer key; /* scratch buffer */
} Interner;

/*
 * Makes an interner whose caches together take up to cache_bytes. It must not be moved afterwards.
 */
void interner_init(Interner *interner, size_t cache_bytes);
void interner_fini(Interner *interner);

/* Drops all ids, because the database is another one or the epoch of the ids has expired. */
void interner_clear(Interner *interner);

/* Begins with a batch, which must not change until intern_end(). */
void intern_begin(InternWork *work, Interner *interner, const Batch *batch);

/*
 * Looks up ids in the caches only. *all becomes true if no id is missing, so that the database need
 * not be asked. Returns false on out of memory.
 */
bool intern_look_up(InternWork *work, bool *all);

/*
 * Find the ids of series, mappings and functions; then those of locations and stacks. Missing items
 * are added to the trip. The trip is sent if ids of missing items are needed; otherwise other
 * statements may stay in it.
 */
DbOutcome intern_names(InternWork *work, Trip *trip, Connection *connection, DbError *error);
DbOutcome intern_stacks(InternWork *work, Trip *trip, Connection *connection, DbError *error);

/* Adds the interned ids to the caches. Call it only after COMMIT. */
void intern_remember(InternWork *work);
void intern_end(InternWork *work);

#endif
