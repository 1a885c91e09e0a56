/*
 * store.h
 *		Stores one batch exactly once, in the transaction that contains its samples and losses.
 *
 * begin_batch() locks the writer's row and reports whether the batch was stored before. So a batch
 * may be sent again if the answer to its COMMIT was lost.
 */
#ifndef COLLECTOR_STORE_H
#define COLLECTOR_STORE_H

#include "batch/batch.h"
#include "database/session.h"
#include "spool/batch_id.h"
#include "writer/gate.h"
#include "writer/intern.h"

typedef struct Store
{
	char node[256]; /* stored with losses */
	/* Gate that writers of equal content share; NULL: none. */
	const Gate *gate;
	Buffer rows;  /* scratch buffer */
	bool was_new; /* the last stored batch was not known to the database under its id */
} Store;

void store_init(Store *store, const char *node, const Gate *gate); /* gate may be NULL */
void store_fini(Store *store);

/*
 * Stores the batch under its id, and interns the content that it needs. Returns DB_OK even if the
 * batch was stored before. Returns DB_REPEATED, and stores nothing, if one of its receipts was
 * stored before.
 */
DbOutcome store_batch(Store *store, Interner *interner, Session *session, const Batch *batch,
					  const BatchId *id, DbError *error);

/*
 * Changes the health of this writer's target if it equals "from". Does nothing if the writer has no
 * target.
 */
DbOutcome store_health(const Store *store, Session *session, const char *from, const char *to,
					   DbError *error);

#endif
