/*
 * completion.h
 *		What becomes of a batch, told to whoever submitted it.
 */
#ifndef COLLECTOR_COMPLETION_H
#define COLLECTOR_COMPLETION_H

#include <stdint.h>

#include "base/failure.h"
#include "batch/batch.h"

typedef enum BatchEnd
{
	BATCH_STORED,	  /* committed */
	BATCH_REFUSED,	  /* the database did not take it, several times over */
	BATCH_PUSHED_OUT, /* the queue was full and a newer one came */
	BATCH_LEFT		  /* the writer ended before; stored all the same if its COMMIT was under way */
} BatchEnd;

typedef struct BatchResult
{
	uint64_t number; /* as writer_submit told it */
	BatchEnd end;
	const Batch *batch;	  /* the writer's still, holds during the call */
	const char *reason;	  /* a literal, as in the table "losses"; NULL where stored */
	const Failure *why;	  /* the database's words; NULL where it said none */
	const char *sqlstate; /* "" where there is none */
} BatchResult;

/*
 * Called once for each batch that was taken, in order of numbers where they are stored, by the
 * writer's thread or whoever pushes out or ends; without any lock, so it may call the writer. It
 * must not take long: the writer waits.
 */
typedef struct BatchCallback
{
	void (*function)(void *context, const BatchResult *result); /* NULL: none */
	void *context;
} BatchCallback;

#endif
