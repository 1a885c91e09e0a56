/*
 * target.h
 *		The database that a writer stores in: connection, known ids, and one attempt to store a
 *		batch.
 *
 * Belongs to the writer's thread.
 */
#ifndef COLLECTOR_TARGET_H
#define COLLECTOR_TARGET_H

#include "writer/intern.h"
#include "writer/partitions.h"
#include "writer/store.h"

typedef struct Target
{
	char *conninfo;
	Session session;
	Interner interner;
	Store store;
	Partitions partitions;
	Identity interned_under;
} Target;

typedef struct TargetOptions
{
	const char *conninfo;
	const char *node;
	size_t cache_bytes; /* for known ids */
	const Gate *gate;	/* NULL if there is none */
	int wake_fd;		/* readable means stop */
} TargetOptions;

/* 0 or -errno; target_fini() must be called in either case. Must not be moved. */
int target_init(Target *target, const TargetOptions *options);
void target_fini(Target *target);

/* Connects if there is no connection. */
DbOutcome target_open(Target *target, DbError *error);

/* Stores a batch exactly once. */
DbOutcome target_write(Target *target, const Batch *batch, const BatchId *id, DbError *error);

/*
 * Marks a stopped target as expected again, so that it counts as silent if it stores nothing. Call
 * it after target_open().
 */
void target_begin(Target *target);

/* Marks the target as stopped, if the connection is usable. */
void target_end(Target *target);

/*
 * Prepares another attempt after a failure by dropping cached ids, which may have caused it.
 * Returns true if the epoch has changed, so that the next attempt may succeed at once.
 */
bool target_prepare_retry(Target *target, DbOutcome outcome);

/*
 * Takes over another connection string. Returns false, with *error set and nothing changed, if the
 * present connection is usable and the new one cannot be opened.
 */
bool target_adopt(Target *target, char *conninfo, DbError *error);

#endif
