/*
 * writer.h
 *		Batches into a database.
 *
 * A writer has one thread, one connection, one target and a bounded queue; nothing is shared
 * between writers. For each batch it interns what the database does not know yet (a short
 * transaction of its own), then stores all in one transaction: begin_batch, losses, samples by
 * binary COPY. begin_batch makes a repeated batch harmless, so a lost connection is answered by
 * trying again. Batches that wait together are stored together. What the server refuses is found by
 * dividing: flights into batches, and batches of several senders into their series.
 *
 * The database need not be there: what is queued waits for it. When it is missing for too long the
 * queue is full, and either whoever submits is told so, or the oldest batch makes room.
 */
#ifndef COLLECTOR_WRITER_H
#define COLLECTOR_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/failure.h"
#include "batch/batch.h"
#include "writer/completion.h"
#include "writer/gate.h"
#include "writer/retry.h"

/* How long the writer goes on where a password, role, database or extension is wrong. */
#define WRITER_DENIED_MS (15 * 60 * 1000)

typedef struct Writer Writer;

typedef struct WriterOptions
{
	const char *target;	  /* tells writers apart in the log; NULL where there is but one */
	const char *conninfo; /* libpq connection string; "" for PG* environment alone */
	const char *node;	  /* name of this host, stored with losses; "": it is no target */
	size_t queue_bytes;	  /* budget of the queue */
	size_t cache_bytes;	  /* budget of known ids; 0: 20 MB */
	int64_t denied_ms;	  /* 0: WRITER_DENIED_MS */
	const Gate *gate;	  /* of writers that may store the same; not owned; NULL: none */

	/*
	 * Who writes, and the number of its first batch: what was stored before under the same two is
	 * not stored again. NULL and 0: a new writer, drawn at random.
	 */
	const char *uuid; /* 16 bytes */
	uint64_t first_number;
} WriterOptions;

typedef struct WriterStats
{
	uint64_t batches_written; /* or pieces of those that were refused */
	uint64_t samples_written; /* rows */
	uint64_t transactions;	  /* that stored batches */
	uint64_t batches_dropped; /* queue over its budget, or left over at the end */
	uint64_t samples_dropped;
	/* the server did not take them: a fault in the batch or the database */
	uint64_t batches_refused;
	uint64_t samples_refused;
	uint64_t batches_repeated; /* of those written: stored before, under their receipt */
	uint64_t retries;
	RetryState state;
	uint64_t away_count; /* how often the database went away, or denied access */
	uint64_t denied_count;
	size_t queued_bytes;
	int64_t newest_sample_us; /* of those written, microseconds since 1970 UTC; 0: none yet */
	int64_t waiting_since_ns; /* the oldest batch in the queue, CLOCK_MONOTONIC; 0: none waits */
} WriterStats;

/* Asks the database for nothing. EXIT_OK, or EXIT_CONFIG or EXIT_INTERNAL with *failure set. */
ExitCode writer_create(const WriterOptions *options, Writer **writer, Failure *failure);

/* Starts the thread, once; it connects at once. Logs through log_event. 0 or -errno. */
int writer_start(Writer *writer);

/*
 * Queues a batch, which is the writer's from then on. It gets a number that is greater than all
 * before; number and callback may be NULL. Never blocks. On failure the batch is the caller's:
 *		-EAGAIN		the queue is full now
 *		-EMSGSIZE	it is larger than the queue will ever be
 *		-EPIPE		the writer was drained, or has ended: see writer_failure
 *		-ENOMEM
 */
int writer_submit(Writer *writer, Batch *batch, const BatchCallback *callback, uint64_t *number);

/*
 * The same for whoever would rather lose old samples than new ones: never fails, the oldest that
 * are not in flight go until the queue keeps its budget. What goes is counted, here and in the
 * database: the next batch that is stored carries the losses of those that were not, and how many
 * sample rows they had (reasons writer_queue_full and database_refused).
 */
void writer_submit_newest(Writer *writer, Batch *batch);

/*
 * Another connection string and queue from now on. EXIT_CONFIG, with *failure set, where it cannot
 * be parsed: nothing has changed then. While the connection stands it is given up only for one that
 * can be opened with the new string; the log tells. Ends a wait for the next attempt.
 */
ExitCode writer_reload(Writer *writer, const char *conninfo, size_t queue_bytes, Failure *failure);

/*
 * Waits until the queue is empty or deadline_ms has passed, stops the thread. Returns true where
 * everything was stored; what was not is counted in stats as dropped. Nothing may be submitted
 * afterwards.
 */
bool writer_drain(Writer *writer, int deadline_ms);
void writer_stats(Writer *writer, WriterStats *stats);

/*
 * Why the thread ended by itself: the database denied access, to the first attempt of all or for
 * denied_ms. EXIT_OK while it has not. The queue goes on to hold and to drop.
 */
ExitCode writer_failure(Writer *writer, Failure *failure);

/* Stops a thread that still runs, as writer_drain with no time left. Accepts NULL. */
void writer_free(Writer *writer);

#endif
