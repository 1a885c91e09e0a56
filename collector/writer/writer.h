/*
 * writer.h
 *		Batches into the database: the only room that speaks SQL.
 *
 * A writer has one thread, one connection and a bounded queue. For each batch it interns what the database does
 * not know yet (a short transaction of its own), then stores all in one transaction: begin_batch, samples by binary COPY,
 * losses. begin_batch makes a repeated batch harmless, so a lost connection is answered by trying again. While
 * the database is away the queue holds batches up to its byte budget; beyond it the oldest batch goes, counted.
 */
#ifndef COLLECTOR_WRITER_H
#define COLLECTOR_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/batch.h"
#include "base/exit_code.h"

typedef struct Writer Writer;

typedef struct WriterOptions
{
	const char *conninfo; /* libpq connection string; "" for PG* environment alone */
	const char *node;	  /* name of this host, stored with losses */
	size_t queue_bytes;	  /* budget of the queue */
} WriterOptions;

typedef struct WriterError
{
	char message[256]; /* PostgreSQL message style */
	char detail[512];
	char hint[256];
} WriterError;

typedef struct WriterStats
{
	uint64_t batches_written;
	uint64_t samples_written;
	uint64_t batches_dropped; /* queue over its budget */
	uint64_t samples_dropped;
	uint64_t retries;
	size_t queued_bytes;
} WriterStats;

/*
 * Connects once and checks database, extension, its version and privileges. Returns EXIT_OK, or EXIT_DATABASE /
 * EXIT_CONFIG with *error filled in. A database that is merely away (connection refused, starting up) is reported
 * with EXIT_DATABASE at start: later it is retried.
 */
ExitCode writer_create(const WriterOptions *options, Writer **writer, WriterError *error);

/* Starts the thread. Logs through log_event. */
int writer_start(Writer *writer);

/* Gives a batch to the writer, which frees it. Never blocks, never fails: what does not fit is counted. */
void writer_submit(Writer *writer, Batch *batch);

/*
 * Waits until the queue is empty or deadline_ms has passed, stops the thread. Returns true where everything was
 * stored; what was not is counted in stats as dropped.
 */
bool writer_drain(Writer *writer, int deadline_ms);
void writer_stats(Writer *writer, WriterStats *stats);

/* A permanent error met while running (password changed, extension dropped): EXIT_OK while there is none. */
ExitCode writer_failure(Writer *writer, WriterError *error);
void writer_free(Writer *writer); /* accepts NULL */

#endif
