/*
 * writer.h
 *		Stores batches in a database.
 *
 * A writer has one thread, one connection, one target and a bounded queue; writers share nothing.
 * Each batch is one transaction: begin_batch(), losses, interning of new content, samples by binary
 * COPY. begin_batch() makes a repeated batch harmless, so after a lost connection the batch is sent
 * again. Batches that wait together are stored together. If the server refuses a flight, it is
 * divided into batches, and a batch of several senders into its series, until the refused part is
 * found.
 *
 * While the database is not available, queued batches wait for it. Once the queue is full, either
 * submissions are refused or the oldest batch is dropped. With a spool, batches that wait longer
 * than a moment are written to disk, and survive the process.
 */
#ifndef COLLECTOR_WRITER_H
#define COLLECTOR_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "batch/batch.h"
#include "program/failure.h"
#include "spool/spool_options.h"
#include "writer/completion.h"
#include "writer/gate.h"
#include "writer/report.h"
#include "writer/writer_stats.h"

/* How long the writer keeps trying if password, role, database or extension are wrong. */
#define WRITER_DENIED_MS (15 * 60 * 1000)

typedef struct Writer Writer;

typedef struct WriterOptions
{
	const char *target;	  /* name in the log; NULL: there is only one writer */
	const char *conninfo; /* libpq connection string; "": only the PG* environment variables */
	const char *node;	  /* name of this host, stored with losses; "": the host is no target */
	size_t queue_bytes;	  /* byte limit of the queue */
	size_t cache_bytes;	  /* memory for known ids; 0 for 20 MB */
	int64_t denied_ms;	  /* 0: WRITER_DENIED_MS */
	/* Gate that writers of equal content share; not owned; NULL: none. */
	const Gate *gate;
	SpoolOptions spool;
	WriterReport report; /* if name is NULL, the program stores no reports about itself */
} WriterOptions;

/*
 * Makes a writer without asking the database, and queues the batches that are in its spool. Returns
 * EXIT_OK; otherwise EXIT_CONFIG or EXIT_INTERNAL with *failure set.
 */
ExitCode writer_create(const WriterOptions *options, Writer **writer, Failure *failure);

/* Starts the thread, which connects at once. Call it only once. Returns 0 or -errno. */
int writer_start(Writer *writer);

/*
 * Queues a batch, which then belongs to the writer. callback may be NULL. Never blocks. If it
 * fails, the batch still belongs to the caller:
 *   -EAGAIN    the queue is full at the moment
 *   -EMSGSIZE  the batch is larger than the queue's limit
 *   -EPIPE     the writer was drained or has ended: see writer_failure()
 *   -ENOMEM
 */
int writer_submit(Writer *writer, Batch *batch, const BatchCallback *callback);

/*
 * Like writer_submit(), but never fails: drops the oldest batches that are not in flight until the
 * queue is within its limit. Drops are counted in the statistics and in the database: the next
 * stored batch carries the losses of dropped ones and the number of their samples (reasons
 * writer_queue_full and database_refused).
 */
void writer_submit_newest(Writer *writer, Batch *batch);

/*
 * Sets another connection string and queue limit. Returns EXIT_CONFIG, with *failure set and
 * nothing changed, if the string cannot be parsed. A usable connection is replaced only if one with
 * the new string can be opened; the log reports the outcome. Ends a wait for the next attempt.
 */
ExitCode writer_reload(Writer *writer, const char *conninfo, size_t queue_bytes, Failure *failure);

/*
 * Waits until the queue is empty or deadline_ms have passed, and stops the thread; a writer with a
 * spool does not wait if its database is not available. Puts the rest into the spool. Returns true
 * if everything was stored or is in the spool; the rest counts as dropped. Nothing may be submitted
 * afterwards.
 */
bool writer_drain(Writer *writer, int deadline_ms);
void writer_stats(Writer *writer, WriterStats *stats);

/*
 * Returns why the thread ended by itself: the database denied access at the first attempt, or for
 * denied_ms. EXIT_OK: it has not ended. The queue continues to accept and drop batches.
 */
ExitCode writer_failure(Writer *writer, Failure *failure);

/* Stops the thread if it runs, like writer_drain() with a deadline of 0. Accepts NULL. */
void writer_free(Writer *writer);

#endif
