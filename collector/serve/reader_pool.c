/*
 * reader_pool.c
 *		Opens, reuses and closes the connections of readers.
 */
#include "serve/reader_pool.h"

#include <inttypes.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

/* Age at which a connection is closed, so that a changed password or right takes effect. */
#define SESSION_AGE_NS (60 * NS_PER_S)

/* Interval at which the server checks whether we have closed the connection. */
#define HANGUP_CHECK "500ms"

bool
reader_pool_init(ReaderPool *pool, const char *conninfo, int64_t query_ms, size_t count,
				 ServeMetrics *metrics)
{
	char limit[32];

	*pool = (ReaderPool){ .conninfo = conninfo, .metrics = metrics };
	pthread_mutex_init(&pool->lock, NULL);
	snprintf(limit, sizeof(limit), "%" PRId64 "ms", query_ms);
	buffer_put_bytes(&pool->query_limit, limit, strlen(limit));
	pool->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pool->sessions = calloc(count, sizeof(ReaderSession));
	if (pool->sessions == NULL || pool->stop_fd < 0 || pool->query_limit.failed)
		return false;
	pool->count = count;
	for (size_t i = 0; i < count; i++)
		pool->sessions[i].connection.wake_fd = pool->stop_fd;
	return true;
}

void
reader_pool_fini(ReaderPool *pool)
{
	for (size_t i = 0; i < pool->count; i++)
		connection_close(&pool->sessions[i].connection);
	free(pool->sessions);
	buffer_fini(&pool->query_limit);
	if (pool->stop_fd >= 0)
		close(pool->stop_fd);
	pthread_mutex_destroy(&pool->lock);
}

void
reader_pool_stop(ReaderPool *pool)
{
	const uint64_t one = 1;

	/* a write fails only if the eventfd is readable already */
	if (write(pool->stop_fd, &one, sizeof(one)) < 0)
		return;
}

/*
 * Hashes the identity of a reader. The texts are hashed with their final zeros, so that different
 * pairs of texts differ.
 */
static void
reader_key(const Reader *reader, uint8_t key[READER_KEY_BYTES])
{
	const char *const texts[] = { reader->user != NULL ? reader->user : "",
								  reader->user != NULL ? reader->password : "", reader->role };
	uint8_t hashes[3 * READER_KEY_BYTES];

	for (size_t i = 0; i < 3; i++)
		SHA256((const unsigned char *) texts[i], strlen(texts[i]), &hashes[i * READER_KEY_BYTES]);
	SHA256(hashes, sizeof(hashes), key);
}

/*
 * Chooses a session: an open one of this reader, otherwise a closed one, otherwise the least
 * recently used one.
 */
static ReaderSession *
pool_choose(ReaderPool *pool, const uint8_t key[READER_KEY_BYTES])
{
	ReaderSession *chosen = NULL;

	/* Only is_busy and used_ns need the lock: a busy session belongs to one worker. */
	pthread_mutex_lock(&pool->lock);
	for (size_t i = 0; i < pool->count; i++)
	{
		ReaderSession *session = &pool->sessions[i];

		if (session->is_busy)
			continue;
		/* Compared in constant time, because the key depends on a password. */
		if (session->connection.pg != NULL &&
			CRYPTO_memcmp(session->key, key, READER_KEY_BYTES) == 0)
		{
			chosen = session;
			break;
		}
		if (chosen == NULL ||
			(chosen->connection.pg != NULL &&
			 (session->connection.pg == NULL || session->used_ns < chosen->used_ns)))
			chosen = session;
	}
	if (chosen != NULL)
		chosen->is_busy = true;
	pthread_mutex_unlock(&pool->lock);
	return chosen;
}

DbOutcome
reader_pool_run(const ReaderPool *pool, ReaderSession *session, const char *role,
				const Statement *query, Result **result, DbError *error)
{
	static const char settings[] =
		"SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true),"
		" pg_catalog.set_config('statement_timeout', $1, true),"
		" pg_catalog.set_config('transaction_read_only', 'on', true),"
		" pg_catalog.set_config('standard_conforming_strings', 'on', true),"
		" pg_catalog.set_config('client_connection_check_interval', '" HANGUP_CHECK "', true)";
	static const char take_role[] = "SELECT pg_catalog.set_config('role', $1, true)";
	/* without a query the connection is being opened, and no prepared statement may change that */
	const bool keep = query != NULL;
	Buffer name = { NULL };
	Statement statements[3] = { { .sql = settings,
								  .failure = "could not prepare the session",
								  .keep = keep,
								  .param_count = 1,
								  .params = { { WIRE_TEXT, &pool->query_limit } } } };
	Result *results[3];
	size_t count = 1;
	DbOutcome outcome;

	/* SET ROLE none would leave the rights of all readers to the session */
	if (strcmp(role, "none") == 0)
	{
		db_error_set(error, NULL, "could not set the role", "Role \"none\" does not exist.", NULL);
		return DB_DENIED;
	}
	buffer_put_bytes(&name, role, strlen(role));
	if (role[0] != '\0')
		statements[count++] = (Statement){ .sql = take_role,
										   .failure = "could not set the role",
										   .keep = keep,
										   .param_count = 1,
										   .params = { { WIRE_TEXT, &name } } };
	if (query != NULL)
		statements[count++] = *query;
	/*
	 * All in one transaction, so the settings and the role end with it, and no session keeps a
	 * role.
	 */
	outcome = connection_run(&session->connection, statements, count, results, error);
	if (query != NULL)
		*result = results[--count];
	for (size_t i = 0; i < count; i++)
		result_free(results[i]);
	buffer_fini(&name);
	return outcome;
}

/*
 * Opens a connection for the reader, in place of the session's. The old connection is closed once
 * the database has accepted the reader, so that a client without a password cannot close
 * connections of other readers. Meanwhile the session has two connections.
 */
static DbOutcome
session_begin(ReaderPool *pool, ReaderSession *session, const Reader *reader, DbError *error)
{
	ReaderSession fresh = { .connection = { .wake_fd = session->connection.wake_fd,
											.is_unwanted = session->connection.is_unwanted,
											.is_pooled = session->connection.is_pooled } };
	Connection *connection = &fresh.connection;
	DbOutcome outcome =
		reader->user != NULL
			? connection_open_as(connection, pool->conninfo, reader->user, reader->password, error)
			: connection_open(connection, pool->conninfo, error);

	if (outcome != DB_OK)
		return outcome;
	metric_add(&pool->metrics->database_connections_total, 1);
	outcome = reader_pool_run(pool, &fresh, reader->role, NULL, NULL, error);
	if (outcome != DB_OK)
	{
		connection_close(connection);
		return outcome;
	}
	connection_close(&session->connection);
	session->connection = *connection;
	session->opened_ns = clock_ns(CLOCK_MONOTONIC);
	return DB_OK;
}

DbOutcome
reader_pool_take(ReaderPool *pool, const Reader *reader, const atomic_bool *is_unwanted,
				 ReaderSession **session, DbError *error)
{
	uint8_t key[READER_KEY_BYTES];
	ReaderSession *chosen;
	DbOutcome outcome = DB_OK;
	bool is_own;

	reader_key(reader, key);
	chosen = *session != NULL ? *session : pool_choose(pool, key);
	if (chosen == NULL)
	{
		db_error_set(error, NULL, "too many concurrent queries", NULL, NULL);
		return DB_AWAY;
	}
	chosen->connection.is_unwanted = is_unwanted;
	/* Until a connection is opened below: a reused one may have been ended by the server. */
	chosen->is_reused = true;
	is_own = memcmp(chosen->key, key, sizeof(key)) == 0;
	/*
	 * An old session is opened again, so that a changed password or a revoked right takes effect.
	 */
	if (!connection_stands(&chosen->connection) || !is_own ||
		clock_ns(CLOCK_MONOTONIC) - chosen->opened_ns > SESSION_AGE_NS)
	{
		outcome = session_begin(pool, chosen, reader, error);
		chosen->is_reused = false;
		if (outcome == DB_OK)
			memcpy(chosen->key, key, sizeof(key));
		else if (is_own) /* the reader's password or rights may have changed */
			connection_close(&chosen->connection);
	}
	*session = outcome == DB_OK ? chosen : NULL;
	if (outcome != DB_OK)
		reader_pool_release(pool, chosen);
	return outcome;
}

void
reader_pool_release(ReaderPool *pool, ReaderSession *session)
{
	if (session == NULL)
		return;
	session->connection.is_unwanted = NULL;
	pthread_mutex_lock(&pool->lock);
	session->used_ns = clock_ns(CLOCK_MONOTONIC);
	session->is_busy = false;
	pthread_mutex_unlock(&pool->lock);
}
