/*
 * completion.h
 *		The outcome of a batch, reported to its submitter.
 */
#ifndef COLLECTOR_COMPLETION_H
#define COLLECTOR_COMPLETION_H

#include <stdbool.h>
#include <stdint.h>

#include "batch/batch.h"
#include "program/failure.h"

typedef enum BatchEnd
{
	BATCH_STORED,	  /* committed */
	BATCH_SPOOLED,	  /* on disk, to be stored later: only if the callback takes that */
	BATCH_REFUSED,	  /* refused by the database, after several attempts */
	BATCH_PUSHED_OUT, /* dropped because the queue was full and a newer batch came */
	/* dropped from the spool, after BATCH_SPOOLED or without a callback */
	BATCH_SPOOL_FULL,
	BATCH_SPOOL_EXPIRED,
	BATCH_SPOOL_DAMAGED,
	/* the writer ended first; stored nevertheless if its COMMIT was in progress */
	BATCH_LEFT
} BatchEnd;

/* Returns true if a batch needs not be sent again. */
static inline bool
batch_is_safe(BatchEnd end)
{
	return end == BATCH_STORED || end == BATCH_SPOOLED;
}

typedef struct BatchResult
{
	uint64_t number; /* those of later batches are greater */
	BatchEnd end;
	const Batch *batch;	  /* belongs to the writer; valid during the call */
	const char *reason;	  /* a literal, as in the table "losses"; NULL if stored */
	const Failure *why;	  /* error of the database; NULL if there was none */
	const char *sqlstate; /* "" if there is none */
} BatchResult;

/*
 * Called once for each accepted batch, for stored ones in order of their numbers. Called by the
 * writer's thread, by the spooler's if the batch is on disk, or by the thread that drops the batch
 * or ends the writer; without a lock held, so it may call the writer. It must return quickly,
 * because the writer waits for it.
 */
typedef struct BatchCallback
{
	void (*function)(void *context, const BatchResult *result); /* NULL if there is none */
	void *context;
	bool takes_spooled; /* a batch that is in the spool has come to its end for the submitter */
} BatchCallback;

#endif
