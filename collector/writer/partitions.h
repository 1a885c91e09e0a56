/*
 * partitions.h
 *		The days of samples whose partitions are known to exist.
 */
#ifndef COLLECTOR_PARTITIONS_H
#define COLLECTOR_PARTITIONS_H

#include "base/table.h"
#include "batch/batch.h"
#include "database/connection.h"

typedef struct Partitions
{
	Budget budget;
	Table days; /* int64_t, days since 1970 */
} Partitions;

void partitions_init(Partitions *partitions); /* must not be moved afterwards */

/*
 * Forgets all days, because the database is another one or partitions were dropped. Frees the
 * memory.
 */
void partitions_forget(Partitions *partitions);

/* Creates the partitions that a batch needs, and tomorrow's. */
DbOutcome partitions_ensure(Partitions *partitions, Connection *connection, const Batch *batch,
							DbError *error);

#endif
