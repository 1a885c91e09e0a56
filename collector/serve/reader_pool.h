/*
 * reader_pool.h
 *		Connections to the database for readers, each with the rights of its reader.
 *
 * A connection is used again only for the reader that it was opened for, by a hash of user and
 * password, or of the role. So what a reader may see is decided by the database alone. All
 * functions may be called by any thread.
 */
#ifndef COLLECTOR_SERVE_READER_POOL_H
#define COLLECTOR_SERVE_READER_POOL_H

#include <pthread.h>

#include "database/connection.h"
#include "serve/serve_metrics.h"

#define READER_KEY_BYTES 32

/* Who asks. */
typedef struct Reader
{
	const char *user; /* with its password, of a login; NULL: the user of the connection string */
	const char *password;
	const char *role; /* to take with SET ROLE; "" : none */
} Reader;

typedef struct ReaderSession
{
	Connection connection;
	uint8_t key[READER_KEY_BYTES]; /* reader that it was opened for, if it is open */
	int64_t opened_ns;
	int64_t used_ns;
	bool is_busy;
	bool is_reused; /* opened for an earlier question: the server may have ended it since */
} ReaderSession;

typedef struct ReaderPool
{
	pthread_mutex_t lock; /* guards is_busy and used_ns of the sessions */
	const char *conninfo;
	Buffer query_limit; /* statement_timeout of queries, such as "30000ms" */
	ServeMetrics *metrics;
	int stop_fd; /* eventfd: readable once no more queries may run */
	ReaderSession *sessions;
	size_t count;
} ReaderPool;

/* Returns false if out of memory or descriptors. Call reader_pool_fini() in either case. */
bool reader_pool_init(ReaderPool *pool, const char *conninfo, int64_t query_ms, size_t count,
					  ServeMetrics *metrics);
void reader_pool_fini(ReaderPool *pool); /* call when no session is in use */

/* Ends running queries, and refuses further ones. */
void reader_pool_stop(ReaderPool *pool);

/*
 * Takes a session of the reader, which must be returned with reader_pool_release(). If *session is
 * not NULL, it is one of the reader whose connection was lost, and is opened again. There must be
 * no more callers at a time than sessions. On failure returns the outcome with *error and no
 * session.
 */
DbOutcome reader_pool_take(ReaderPool *pool, const Reader *reader, const atomic_bool *is_unwanted,
						   ReaderSession **session, DbError *error);

/*
 * Runs a query as the role ("": none), read-only and bounded; query may be NULL: only tries the
 * role. The settings come first in the query's transaction and end with it, because a pooler may
 * give each transaction another session, which then serves other readers. They override those of
 * the role, which its owner may change.
 */
DbOutcome reader_pool_run(const ReaderPool *pool, ReaderSession *session, const char *role,
						  const Statement *query, Result **result, DbError *error);

void reader_pool_release(ReaderPool *pool, ReaderSession *session); /* accepts NULL */

#endif
