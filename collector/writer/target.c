/*
 * target.c
 *		One attempt to store a batch: session, partitions, interning, storing.
 */
#include "writer/target.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int
target_init(Target *target, const TargetOptions *options)
{
	*target = (Target){ .session.connection.wake_fd = options->wake_fd };
	interner_init(&target->interner, options->cache_bytes);
	partitions_init(&target->partitions);
	store_init(&target->store, options->node, options->gate);
	target->conninfo = strdup(options->conninfo);
	return target->conninfo ? 0 : -ENOMEM;
}

void
target_fini(Target *target)
{
	connection_close(&target->session.connection);
	interner_fini(&target->interner);
	store_fini(&target->store);
	partitions_forget(&target->partitions);
	free(target->conninfo);
}

static void
forget_ids(Target *target)
{
	interner_clear(&target->interner);
	partitions_forget(&target->partitions);
}

static bool
identity_equal(const Identity *a, const Identity *b)
{
	return a->epoch == b->epoch && a->database_oid == b->database_oid &&
		   a->extension_oid == b->extension_oid;
}

DbOutcome
target_open(Target *target, DbError *error)
{
	DbOutcome outcome = session_open(&target->session, target->conninfo, error);

	if (outcome != DB_OK)
		return outcome;
	/* ids of another epoch, database or extension would name other content */
	if (!identity_equal(&target->session.identity, &target->interned_under))
	{
		forget_ids(target);
		target->interned_under = target->session.identity;
	}
	return DB_OK;
}

DbOutcome
target_write(Target *target, const Batch *batch, const BatchId *id, DbError *error)
{
	Session *session = &target->session;
	DbOutcome outcome = target_open(target, error);

	if (outcome != DB_OK)
		return outcome;
	outcome = partitions_ensure(&target->partitions, &session->connection, batch, error);
	if (outcome == DB_OK)
		outcome = store_batch(&target->store, &target->interner, session, batch, id, error);
	return outcome;
}

/*
 * Changes the health of the target in the database. Errors are ignored, because the state is not
 * wrong for long: if "unknown" is not stored, the next samples still mark the target as up; if
 * "stopped" is not stored, target_states() shows the target as silent after a few minutes.
 */
static void
change_health(Target *target, const char *from, const char *to)
{
	DbError ignored;

	if (connection_stands(&target->session.connection))
		(void) store_health(&target->store, &target->session, from, to, &ignored);
}

void
target_begin(Target *target)
{
	change_health(target, "stopped", "unknown");
}

void
target_end(Target *target)
{
	change_health(target, "up", "stopped");
}

bool
target_prepare_retry(Target *target, DbOutcome outcome)
{
	Identity before = target->session.identity;
	DbError ignored;

	/* the ids are not the reason, and the identity is compared after reconnecting */
	if (outcome == DB_AWAY || outcome == DB_TIMEOUT || outcome == DB_STOPPED)
		return false;
	forget_ids(target);
	if (outcome == DB_DENIED) /* reconnect, which checks privileges, role and extension again */
		connection_close(&target->session.connection);
	if (outcome != DB_EPOCH || target->session.connection.pg == NULL)
		return false;
	/* If the epoch is still the same, repeating at once would only fail again. */
	return session_refresh(&target->session, &ignored) == DB_OK &&
		   !identity_equal(&before, &target->session.identity);
}

bool
target_adopt(Target *target, char *conninfo, DbError *error)
{
	if (connection_stands(&target->session.connection))
	{
		/*
		 * A usable connection is closed only after the new one stands. An unusable one needs no
		 * care: target_open() connects with the new string.
		 */
		Session session = { .connection.wake_fd = target->session.connection.wake_fd };

		if (session_open(&session, conninfo, error) != DB_OK)
		{
			free(conninfo);
			return false;
		}
		connection_close(&target->session.connection);
		target->session = session;
	}
	free(target->conninfo);
	target->conninfo = conninfo;
	return true;
}
