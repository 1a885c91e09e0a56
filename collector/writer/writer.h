/*
 * writer.h
 *		Batches into the database.
 *
 * A writer has one thread, one connection and a bounded queue. For each batch it interns what the
 * database does not know yet (a short transaction of its own), then stores all in one transaction:
 * begin_batch, losses, samples by binary COPY. begin_batch makes a repeated batch harmless, so a
 * lost connection is answered by trying again. While the database is away the queue holds batches
 * up to its byte budget; beyond it the oldest that is not being written goes.
 *
 * What goes is counted, here and in the database: the next batch that is stored carries the losses
 * of those that were not, and how many sample rows they had (reasons writer_queue_full and
 * database_refused).
 */
#ifndef COLLECTOR_WRITER_H
#define COLLECTOR_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/failure.h"
#include "batch/batch.h"

typedef struct Writer Writer;

typedef struct WriterOptions
{
	const char *conninfo; /* libpq connection string; "" for PG* environment alone */
	const char *node;	  /* name of this host, stored with losses */
	size_t queue_bytes;	  /* budget of the queue */
	int stop_fd; /* readable: writer_create gives up; borrowed, not used afterwards; -1: none */
} WriterOptions;

typedef struct WriterStats
{
	uint64_t batches_written;
	uint64_t samples_written;
	uint64_t batches_dropped; /* queue over its budget, or left over at the end */
	uint64_t samples_dropped;
	/* the server did not take them: a fault in the batch or the database */
	uint64_t batches_refused;
	uint64_t samples_refused;
	uint64_t retries;
	size_t queued_bytes;
	int64_t waiting_since_ns; /* the oldest batch in the queue, CLOCK_MONOTONIC; 0: none waits */
} WriterStats;

/*
 * Connects once and checks database, extension, its version and privileges. Returns EXIT_OK, or
 * EXIT_DATABASE / EXIT_CONFIG / EXIT_INTERNAL with *failure filled in. A database that is merely
 * away (connection refused, starting up) is EXIT_DATABASE too at the start: later it is retried.
 * Takes at most 10 s, and what the resolver takes; EXIT_DATABASE also where stop_fd ended it.
 */
ExitCode writer_create(const WriterOptions *options, Writer **writer, Failure *failure);

/* Starts the thread, once. Logs through log_event. 0 or -errno. */
int writer_start(Writer *writer);

/*
 * Gives a batch to the writer, which frees it. Never blocks, never fails: what does not fit is
 * counted.
 */
void writer_submit(Writer *writer, Batch *batch);

/*
 * Waits until the queue is empty or deadline_ms has passed, stops the thread. Returns true where
 * everything was stored; what was not is counted in stats as dropped. Nothing may be submitted
 * afterwards.
 */
bool writer_drain(Writer *writer, int deadline_ms);
void writer_stats(Writer *writer, WriterStats *stats);

/*
 * A permanent error met while running (password changed, extension dropped), which ended the
 * thread: EXIT_OK while there is none. The queue goes on to hold and to drop.
 */
ExitCode writer_failure(Writer *writer, Failure *failure);

/* Stops a thread that still runs, as writer_drain with no time left. Accepts NULL. */
void writer_free(Writer *writer);

#endif
