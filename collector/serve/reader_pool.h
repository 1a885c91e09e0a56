/*
 * reader_pool.h
 *		Connections to the database for readers, each with the rights of its reader.
 *
 * A connection is reused only for the reader for whom it was opened, recognized by a hash of user
 * and password, or of the role. So only the database decides what a reader may see. Any thread may
 * call these functions.
 */
#ifndef COLLECTOR_SERVE_READER_POOL_H
#define COLLECTOR_SERVE_READER_POOL_H

#include <pthread.h>

#include "database/connection.h"
#include "serve/serve_metrics.h"

#define READER_KEY_BYTES 32

/* Identity of a reader. */
typedef struct Reader
{
	/* user of a login, which has a password; NULL: the user of the connection string */
	const char *user;
	const char *password;
	const char *role; /* role for SET ROLE; "": none */
} Reader;

typedef struct ReaderSession
{
	Connection connection;
	/* reader for whom the connection was opened; valid if it is open */
	uint8_t key[READER_KEY_BYTES];
	int64_t opened_ns;
	int64_t used_ns;
	bool is_busy;
	bool is_reused; /* opened for an earlier query, so the server may have ended it since */
} ReaderSession;

typedef struct ReaderPool
{
	pthread_mutex_t lock; /* guards is_busy and used_ns of the sessions */
	const char *conninfo;
	Buffer query_limit; /* statement_timeout of queries, such as "30000ms" */
	ServeMetrics *metrics;
	int stop_fd; /* eventfd that is readable when no more queries may run */
	ReaderSession *sessions;
	size_t count;
} ReaderPool;

/*
 * Makes a pool of count sessions. Returns false if out of memory or descriptors. Call
 * reader_pool_fini() in either case.
 */
bool reader_pool_init(ReaderPool *pool, const char *conninfo, int64_t query_ms, size_t count,
					  ServeMetrics *metrics);
void reader_pool_fini(ReaderPool *pool); /* call when no session is in use */

/* Ends running queries, and refuses further ones. */
void reader_pool_stop(ReaderPool *pool);

/*
 * Takes a session of the reader, which must be returned with reader_pool_release(). If *session is
 * not NULL, it is a session of the reader whose connection was lost, and is reopened. There must be
 * no more concurrent callers than sessions. On failure returns the outcome, with *error and no
 * session.
 */
DbOutcome reader_pool_take(ReaderPool *pool, const Reader *reader, const atomic_bool *is_unwanted,
						   ReaderSession **session, DbError *error);

/*
 * Runs a query as the role ("": none), read-only and with limits. If query is NULL, only checks
 * that the role can be set. The settings are made in the query's transaction and end with it,
 * because a pooler may run each transaction in another session, which then serves other readers.
 * They override the role's own settings, which its owner may change.
 */
DbOutcome reader_pool_run(const ReaderPool *pool, ReaderSession *session, const char *role,
						  const Statement *query, Result **result, DbError *error);

void reader_pool_release(ReaderPool *pool, ReaderSession *session); /* accepts NULL */

#endif
