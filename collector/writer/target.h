/*
 * target.h
 *		The database that a writer stores in: connection, ids that it gave out, and one attempt.
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
	const char *uuid;	/* NULL: one drawn at random */
	size_t cache_bytes; /* of known ids */
	const Gate *gate;	/* NULL: none */
	int wake_fd;		/* readable: stop */
} TargetOptions;

/* 0 or -errno; to be given back in either case. Must not move. */
int target_init(Target *target, const TargetOptions *options);
void target_fini(Target *target);

/* Connects where there is no connection. */
DbOutcome target_open(Target *target, DbError *error);

/* Stores a batch, exactly once under that number. */
DbOutcome target_write(Target *target, const Batch *batch, uint64_t number, DbError *error);

/*
 * Stores that a target which had been stopped is expected again: one that then stores nothing is
 * silent. After target_open().
 */
void target_begin(Target *target);

/* Stores that the target has been stopped, if the connection stands. */
void target_end(Target *target);

/*
 * After an attempt that failed, makes ready for another one: what the database refused may have
 * been wrong in our memory. True where the very next one may go well, since the epoch is another
 * one now.
 */
bool target_prepare_retry(Target *target, DbOutcome outcome);

/*
 * Takes another connection string, which is the target's from then on. False, with *error, where it
 * cannot be opened now and the old connection stands: all stays as it was then.
 */
bool target_adopt(Target *target, char *conninfo, DbError *error);

#endif
