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

#include "batch/batch.h"
#include "database/session.h"
#include "writer/gate.h"
#include "writer/intern.h"

#define WRITER_UUID_BYTES 16

typedef struct Store
{
	char writer[WRITER_UUID_BYTES]; /* who writes */
	char node[256];					/* stored with losses */
	const Gate *gate;				/* of writers that may store the same; NULL: none */
	Buffer rows;					/* scratch */
} Store;

/* uuid NULL: drawn at random; -errno where no random number can be had. gate: may be NULL. */
int store_init(Store *store, const char *node, const char *uuid, const Gate *gate);
void store_fini(Store *store);

/*
 * Stores the batch under that number, which ascends, and interns what it needs. DB_OK also where it
 * was there already; DB_REPEATED where one of its receipts was, and nothing of it is stored now.
 */
DbOutcome store_batch(Store *store, Interner *interner, Session *session, const Batch *batch,
					  uint64_t number, DbError *error);

/* Changes the health of this writer's target from one to another; nothing if it has no target. */
DbOutcome store_health(const Store *store, Session *session, const char *from, const char *to,
					   DbError *error);

#endif
