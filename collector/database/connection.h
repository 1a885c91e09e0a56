/*
 * connection.h
 *		A libpq connection whose calls never block beyond a deadline and can be interrupted.
 *
 * All calls are non-blocking and wait in one place, for the socket, the deadline and the wake
 * descriptor. Once that is readable, every call returns DB_STOPPED. After DB_AWAY and DB_STOPPED
 * the connection is closed; after other failures it is rolled back and usable.
 */
#ifndef COLLECTOR_CONNECTION_H
#define COLLECTOR_CONNECTION_H

#include <libpq-fe.h>
#include <stdatomic.h>
#include <stddef.h>

#include "database/db_error.h"
#include "database/result.h"
#include "database/wire.h"

#define STATEMENT_MAX_PARAMS 10
#define CONNECTION_KEPT_MAX	 16

typedef struct Connection
{
	PGconn *pg;	 /* NULL if closed */
	int wake_fd; /* eventfd, not owned; readable means stop */
	/* If another thread sets this flag, calls soon return DB_STOPPED. NULL: no flag. */
	const atomic_bool *is_unwanted;
	const char *kept[CONNECTION_KEPT_MAX]; /* statements that are prepared on the server */
	uint32_t kept_count;
	/* a pooler may change the session between transactions, so no statement is prepared */
	bool is_pooled;
} Connection;

/* A binary parameter; the buffer belongs to the caller. */
typedef struct StatementParam
{
	Oid type;
	const Buffer *value;
} StatementParam;

typedef struct Statement
{
	const char *sql;
	const char *failure; /* message if it fails, such as "could not intern stacks" */
	/* Prepare the statement once for each connection. sql must be a string literal. */
	bool keep;
	int param_count;
	StatementParam params[STATEMENT_MAX_PARAMS];
} Statement;

/*
 * Returns false, with *error, if the connection string cannot be parsed. The error never contains a
 * password.
 */
bool conninfo_check(const char *conninfo, DbError *error);

/*
 * Opens the connection with keepalives, encoding UTF8 and search_path pg_catalog. Returns DB_OK,
 * DB_AWAY, DB_DENIED or DB_STOPPED.
 */
DbOutcome connection_open(Connection *connection, const char *conninfo, DbError *error);

/*
 * Like connection_open(), but as the given user with the given password. Also returns DB_DENIED if
 * the server does not ask for the password, because then the password proves nothing.
 */
DbOutcome connection_open_as(Connection *connection, const char *conninfo, const char *user,
							 const char *password, DbError *error);
void connection_close(Connection *connection); /* may be closed already */

/* Returns true if the connection is open and not known to be lost. Does not ask the server. */
bool connection_stands(Connection *connection);

/* From this call on, logs the server's notices under module, a string literal. */
void connection_log_notices(Connection *connection, const char *module);

/*
 * Runs statements in one round trip, as one transaction unless they contain BEGIN or COMMIT. After
 * DB_OK results[i] is the binary result of statements[i], to be freed by the caller; otherwise
 * there are no results.
 */
DbOutcome connection_run(Connection *connection, const Statement *statements, size_t count,
						 Result **results, DbError *error);

/* Like connection_run(), but for one statement and without its result. */
DbOutcome connection_execute(Connection *connection, const Statement *statement, DbError *error);

/*
 * Waits until the server sends a notice of a channel that the session listens to, or until
 * timeout_ms have passed. Returns DB_OK in both cases; otherwise DB_AWAY or DB_STOPPED.
 */
DbOutcome connection_wait_notice(Connection *connection, int64_t wait_ms, DbError *error);

/* Rolls back the open transaction, if there is one. */
void connection_abandon(Connection *connection);

/*
 * Run COPY FROM STDIN. Statements after the COPY in sql (such as "; COMMIT") have been executed
 * once connection_copy_end() returns DB_OK. connection_copy_data() clears the buffer.
 */
DbOutcome connection_copy_begin(Connection *connection, const char *sql, DbError *error);
DbOutcome connection_copy_data(Connection *connection, Buffer *data, DbError *error);
DbOutcome connection_copy_end(Connection *connection, DbError *error);

#endif
