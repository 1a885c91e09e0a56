/*
 * source_batch.h
 *		Texts of source files on their way into the database, some at a time.
 */
#ifndef COLLECTOR_SOURCE_BATCH_H
#define COLLECTOR_SOURCE_BATCH_H

#include <stddef.h>
#include <stdint.h>

#include "database/connection.h"

/* the database has equal limits */
#define SOURCE_TEXT_BYTES (4U << 20)
#define SOURCE_PATH_BYTES 1024

typedef struct SourceCount
{
	uint64_t stored;
	uint64_t missing; /* files that are not there, too large, too many, or not text */
} SourceCount;

/* The caller sets the first three members, which must outlive the batch, and zeroes the others. */
typedef struct SourceBatch
{
	Connection *connection;
	const char *origin; /* build ID, or "git:" and a reference */
	SourceCount *count;
	Buffer paths; /* elements of an array in binary form, like texts */
	Buffer texts;
	size_t waiting;
} SourceBatch;

/*
 * Adds the text of a file, read from its beginning, and sends the batch if it is full. A file that
 * is too large or not text, or fd -1, counts as missing.
 */
DbOutcome source_batch_add(SourceBatch *batch, const char *path, int fd, DbError *error);

/* Sends the rest if outcome is DB_OK, and frees the batch. Returns the outcome of all. */
DbOutcome source_batch_end(SourceBatch *batch, DbOutcome outcome, DbError *error);

#endif
