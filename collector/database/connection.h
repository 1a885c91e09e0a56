/*
 * connection.h
 *		One libpq connection that never blocks beyond a deadline and can be told to stop.
 *
 * Everything runs non-blocking and waits in one place, for the socket, the deadline and the wake
 * descriptor: once that is readable every call returns DB_STOPPED. After DB_AWAY and DB_STOPPED the
 * connection is closed; after other failures it is usable, rolled back.
 */
#ifndef COLLECTOR_CONNECTION_H
#define COLLECTOR_CONNECTION_H

#include <libpq-fe.h>
#include <stddef.h>

#include "database/db_error.h"
#include "database/result.h"
#include "database/wire.h"

#define STATEMENT_MAX_PARAMS 9
#define CONNECTION_KEPT_MAX	 16

typedef struct Connection
{
	PGconn *pg;							   /* NULL: closed */
	int wake_fd;						   /* an eventfd, not owned; readable: stop */
	const char *kept[CONNECTION_KEPT_MAX]; /* statements that the server has prepared */
	uint32_t kept_count;
} Connection;

/* A parameter in binary; its buffer is the caller's. */
typedef struct StatementParam
{
	Oid type;
	const Buffer *value;
} StatementParam;

typedef struct Statement
{
	const char *sql;
	const char *failure; /* message where it fails: "could not intern stacks" */
	bool keep;			 /* sql is a literal that comes again: prepared once a connection */
	int param_count;
	StatementParam params[STATEMENT_MAX_PARAMS];
} Statement;

/* False, with *error, where a connection string cannot be parsed. It never repeats a password. */
bool conninfo_check(const char *conninfo, DbError *error);

/*
 * Opens the connection, with keepalives, UTF-8 and a search path of pg_catalog alone. DB_OK,
 * DB_AWAY, DB_DENIED or DB_STOPPED.
 */
DbOutcome connection_open(Connection *connection, const char *conninfo, DbError *error);
void connection_close(Connection *connection); /* a closed one is fine */

/* Is it open, and as far as can be told without asking the server not lost? */
bool connection_stands(Connection *connection);

/*
 * From now on what the server tells beside results goes into the log, under a module's name that
 * stays.
 */
void connection_log_notices(Connection *connection, const char *module);

/*
 * Runs statements in one round trip, as one transaction unless they say BEGIN or COMMIT. On DB_OK
 * results[i] is the result of statements[i], in binary, for the caller to free; otherwise there
 * are no results.
 */
DbOutcome connection_run(Connection *connection, const Statement *statements, size_t count,
						 Result **results, DbError *error);

/* Like connection_run(), for one statement whose result nobody needs. */
DbOutcome connection_execute(Connection *connection, const Statement *statement, DbError *error);

/* Leaves a transaction that may be open, for whoever cannot go on with it; else does nothing. */
void connection_abandon(Connection *connection);

/*
 * COPY FROM STDIN: begin, data in pieces, end. What follows the COPY in sql (such as "; COMMIT")
 * has been done where copy_end returns DB_OK. data empties the buffer.
 */
DbOutcome connection_copy_begin(Connection *connection, const char *sql, DbError *error);
DbOutcome connection_copy_data(Connection *connection, Buffer *data, DbError *error);
DbOutcome connection_copy_end(Connection *connection, DbError *error);

#endif
