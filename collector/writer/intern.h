/*
 * intern.h
 *		From a batch's own indexes to the database's ids, through caches of what was interned
 *		before.
 */
#ifndef COLLECTOR_INTERN_H
#define COLLECTOR_INTERN_H

#include "batch/batch.h"
#include "database/session.h"
#include "writer/id_cache.h"

typedef struct Interner
{
	IdCache series;
	IdCache mappings;
	IdCache functions;
	IdCache locations;
	IdCache stacks;
	uint64_t stack_seeds[2];
	Buffer key; /* scratch */
} Interner;

/* Ids of a batch's items, by index. */
typedef struct BatchIds
{
	int64_t *series;
	int64_t *stacks;
} BatchIds;

void interner_init(Interner *interner); /* must not move afterwards */
void interner_fini(Interner *interner);

/* Forgets all ids: they are another database's, or their epoch is over. */
void interner_clear(Interner *interner);

/*
 * Finds the ids of all of a batch's series and stacks. What the caches lack is interned in one
 * transaction of its own, which is committed when this returns DB_OK, and only then are its ids
 * remembered. DB_EPOCH where the epoch of what is remembered is over. The ids are the caller's, to
 * be freed with batch_ids_fini.
 */
DbOutcome intern_batch(Interner *interner, Session *session, const Batch *batch, BatchIds *ids,
					   DbError *error);
void batch_ids_fini(BatchIds *ids); /* accepts a zeroed one */

#endif
