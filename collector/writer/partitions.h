/*
 * partitions.h
 *		The days of samples whose partitions are known to be there.
 */
#ifndef COLLECTOR_PARTITIONS_H
#define COLLECTOR_PARTITIONS_H

#include "base/table.h"
#include "batch/batch.h"
#include "database/connection.h"

typedef struct Partitions
{
	Budget budget;
	Table days; /* int64_t, since 1970 */
} Partitions;

void partitions_init(Partitions *partitions); /* must not move afterwards */

/* All days: another database, or partitions were dropped. Gives the memory back. */
void partitions_forget(Partitions *partitions);

/* Makes the partitions that a batch needs, and tomorrow's. */
DbOutcome partitions_ensure(Partitions *partitions, Connection *connection, const Batch *batch,
							DbError *error);

#endif
