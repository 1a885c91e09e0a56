/*
 * store.h
 *		One batch into the database, exactly once: the transaction that holds its samples and
 *		losses.
 *
 * begin_batch locks the writer's row and tells whether the batch was stored before, so that a batch
 * whose commit got lost on the way may be sent again.
 */
#ifndef COLLECTOR_STORE_H
#define COLLECTOR_STORE_H

#include "base/table.h"
#include "batch/batch.h"
#include "database/session.h"
#include "writer/intern.h"

#define WRITER_UUID_BYTES 16

typedef struct Store
{
	char writer[WRITER_UUID_BYTES]; /* who writes */
	char node[256];					/* stored with losses */
	Budget budget;					/* of days */
	Table days;						/* int64_t, since 1970: partitions that are known to be there */
	Buffer rows;					/* scratch */
} Store;

/* uuid NULL: drawn at random; -errno where no random number can be had. */
int store_init(Store *store, const char *node, const char *uuid);
void store_fini(Store *store);
void store_forget(Store *store); /* the days: another database, or partitions were dropped */

/* Makes the partitions that a batch needs, and tomorrow's. */
DbOutcome store_ensure_partitions(Store *store, Connection *connection, const Batch *batch,
								  DbError *error);

/* Stores the batch under that number, which ascends. DB_OK also where it was there already. */
DbOutcome store_batch(Store *store, Session *session, const Batch *batch, uint64_t number,
					  const BatchIds *ids, DbError *error);

#endif
