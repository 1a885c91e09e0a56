/*
 * completion.h
 *		The outcome of a batch, which is reported to its submitter.
 */
#ifndef COLLECTOR_COMPLETION_H
#define COLLECTOR_COMPLETION_H

#include <stdbool.h>
#include <stdint.h>

#include "batch/batch.h"
#include "program/failure.h"

typedef enum BatchEnd
{
	BATCH_STORED, /* the transaction was committed */
	/* on disk, to be stored later; reported only if the callback has takes_spooled */
	BATCH_SPOOLED,
	BATCH_REFUSED,	  /* refused by the database, after several attempts */
	BATCH_PUSHED_OUT, /* dropped because the queue was full when a newer batch came */
	/* Dropped from the spool. No callback gets these, because it has got BATCH_SPOOLED before. */
	BATCH_SPOOL_FULL,
	BATCH_SPOOL_EXPIRED,
	BATCH_SPOOL_DAMAGED,
	/* The writer ended before; the batch is stored nevertheless if its COMMIT was in progress. */
	BATCH_LEFT
} BatchEnd;

/* Returns true if the batch must not be sent again. */
static inline bool
batch_is_safe(BatchEnd end)
{
	return end == BATCH_STORED || end == BATCH_SPOOLED;
}

typedef struct BatchResult
{
	uint64_t number; /* later batches have greater numbers */
	BatchEnd end;
	const Batch *batch;	  /* belongs to the writer; valid during the call */
	const char *reason;	  /* a literal, as in profstore.losses; NULL if the batch was stored */
	const Failure *why;	  /* error of the database; NULL if there was none */
	const char *sqlstate; /* "" if there is none */
} BatchResult;

/*
 * Called once for each accepted batch; for stored batches in the order of their numbers. Called by
 * the writer's thread, by the spooler's if the batch is on disk, or by the thread that drops the
 * batch or ends the writer. No lock is held, so the callback may call the writer. It must return
 * quickly, because the writer waits for it.
 */
typedef struct BatchCallback
{
	void (*function)(void *context, const BatchResult *result); /* NULL if there is none */
	void *context;
	bool takes_spooled; /* the submitter is done with a batch when it is in the spool */
} BatchCallback;

#endif
