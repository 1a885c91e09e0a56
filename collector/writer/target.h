/*
 * target.h
 *		The database in which a writer stores: its connection, the known ids, and one attempt to
 *		store a batch.
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
	size_t cache_bytes; /* memory for known ids */
	const Gate *gate;	/* NULL: there is no gate */
	int wake_fd;		/* descriptor that is readable when the writer must stop */
} TargetOptions;

/*
 * Initializes a target, whose address must not change afterwards. Returns 0 or -errno. Call
 * target_fini() in either case.
 */
int target_init(Target *target, const TargetOptions *options);
void target_fini(Target *target);

/* Opens the connection if it is closed. */
DbOutcome target_open(Target *target, DbError *error);

/* Stores a batch exactly once. */
DbOutcome target_write(Target *target, const Batch *batch, const BatchId *id, DbError *error);

/*
 * Marks a target that was "stopped" as expected again, so that it counts as silent if it stores
 * nothing. Call it after target_open().
 */
void target_begin(Target *target);

/* Marks the target as stopped, if the connection is usable. */
void target_end(Target *target);

/*
 * Prepares another attempt after a failure: drops cached ids, because they may be the reason.
 * Returns true if the epoch has changed, so that the next attempt may succeed at once.
 */
bool target_prepare_retry(Target *target, DbOutcome outcome);

/*
 * Replaces the connection string, and owns the new one. Returns false, with *error set and nothing
 * changed, if the present connection is usable and one with the new string cannot be opened.
 */
bool target_adopt(Target *target, char *conninfo, DbError *error);

#endif
