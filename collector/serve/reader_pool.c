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

/* Interval at which the server looks whether we have hung up. */
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

/* Hashes who the reader is; the texts end with their zeros, so that they cannot run together. */
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
 * Chooses a session: an open one of the reader, otherwise a closed one, otherwise the one that was
 * used least recently.
 */
static ReaderSession *
pool_choose(ReaderPool *pool, const uint8_t key[READER_KEY_BYTES])
{
	ReaderSession *chosen = NULL;

	pthread_mutex_lock(&pool->lock);
	for (size_t i = 0; i < pool->count; i++)
	{
		ReaderSession *session = &pool->sessions[i];

		if (session->is_busy)
			continue;
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
	/* while a connection is being opened, no statement of another one may be in the way */
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

	/* SET ROLE none would leave the session with the rights of all readers */
	if (strcmp(role, "none") == 0)
	{
		db_error_set(error, NULL, "could not take the role", "Role \"none\" does not exist.", NULL);
		return DB_DENIED;
	}
	buffer_put_bytes(&name, role, strlen(role));
	if (role[0] != '\0')
		statements[count++] = (Statement){ .sql = take_role,
										   .failure = "could not take the role",
										   .keep = keep,
										   .param_count = 1,
										   .params = { { WIRE_TEXT, &name } } };
	if (query != NULL)
		statements[count++] = *query;
	outcome = connection_run(&session->connection, statements, count, results, error);
	if (query != NULL)
		*result = results[--count];
	for (size_t i = 0; i < count; i++)
		result_free(results[i]);
	buffer_fini(&name);
	return outcome;
}

static DbOutcome
session_begin(ReaderPool *pool, ReaderSession *session, const Reader *reader, DbError *error)
{
	Connection *connection = &session->connection;
	DbOutcome outcome;

	connection_close(connection);
	outcome = reader->user != NULL ? connection_open_as(connection, pool->conninfo, reader->user,
														reader->password, error)
								   : connection_open(connection, pool->conninfo, error);
	if (outcome != DB_OK)
		return outcome;
	metric_add(&pool->metrics->database_connections_total, 1);
	session->opened_ns = clock_ns(CLOCK_MONOTONIC);
	outcome = reader_pool_run(pool, session, reader->role, NULL, NULL, error);
	if (outcome != DB_OK)
		connection_close(connection);
	return outcome;
}

DbOutcome
reader_pool_take(ReaderPool *pool, const Reader *reader, const atomic_bool *is_unwanted,
				 ReaderSession **session, DbError *error)
{
	uint8_t key[READER_KEY_BYTES];
	ReaderSession *chosen;
	DbOutcome outcome = DB_OK;

	reader_key(reader, key);
	chosen = *session != NULL ? *session : pool_choose(pool, key);
	if (chosen == NULL)
	{
		db_error_set(error, NULL, "too many queries at a time", NULL, NULL);
		return DB_AWAY;
	}
	chosen->connection.is_unwanted = is_unwanted;
	chosen->is_reused = true;
	if (!connection_stands(&chosen->connection) || memcmp(chosen->key, key, sizeof(key)) != 0 ||
		clock_ns(CLOCK_MONOTONIC) - chosen->opened_ns > SESSION_AGE_NS)
	{
		outcome = session_begin(pool, chosen, reader, error);
		chosen->is_reused = false;
		memcpy(chosen->key, key, sizeof(key));
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
