/*
 * connection.c
 *		Non-blocking libpq with deadlines.
 *
 * 1. connection_open() starts the connection and polls it until it succeeds or 10 s have passed.
 * 2. connection_run() sends all statements as one pipeline, then reads a result for each and the
 *    pipeline's end. It keeps the first failure; later statements only report that they were
 *    skipped.
 * 3. COPY has three steps: begin, data, end.
 * 4. After a failure the transaction is rolled back if the connection is open; otherwise the
 *    connection is closed.
 *
 * All these functions wait in connection_wait(), for the socket, the deadline or the request to
 * stop.
 */
#include "database/connection.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"

#define CONNECT_TIMEOUT_MS 10000

/*
 * Longer than the server's statement timeout, so that this timeout expires only if the server does
 * not answer at all.
 */
#define ANSWER_TIMEOUT_MS 120000

/* Interval at which a waiting call reads is_unwanted. */
#define UNWANTED_MS 100

#define APPLICATION_NAME "profstore-collector"

#define KEPT_NAME_BYTES 24

static int64_t
now_ms(void)
{
	return clock_ns(CLOCK_MONOTONIC) / 1000000;
}

bool
conninfo_check(const char *conninfo, DbError *error)
{
	char *words = NULL;
	PQconninfoOption *options = PQconninfoParse(conninfo, &words);
	bool secret = strcasestr(conninfo, "password") != NULL || strstr(conninfo, "://") != NULL;

	if (options != NULL)
	{
		PQconninfoFree(options);
		return true;
	}
	if (words != NULL)
		words[strcspn(words, "\n")] = '\0';

	/* libpq quotes the part that it could not parse, which may be part of a password */
	db_error_set(error, NULL, "invalid connection string", secret ? NULL : words,
				 "Use \"host=... dbname=... user=...\" or a postgresql:// URI.");
	PQfreemem(words);
	return false;
}

void
connection_close(Connection *connection)
{
	PQfinish(connection->pg);
	connection->pg = NULL;
	connection->kept_count = 0;
}

bool
connection_stands(Connection *connection)
{
	return connection->pg != NULL && PQconsumeInput(connection->pg) &&
		   PQstatus(connection->pg) == CONNECTION_OK;
}

static const char connect_failure[] = "could not connect to database";

static DbOutcome
connection_lost(Connection *connection, const char *message, DbError *error)
{
	DbOutcome outcome = db_error_from_connection(error, message, connection->pg);

	connection_close(connection);
	return outcome;
}

/* Waits until the socket is ready for one of poll()'s events. */
static DbOutcome
connection_wait(Connection *connection, short events, int64_t deadline_ms, DbError *error)
{
	struct pollfd fds[2] = { { .fd = PQsocket(connection->pg), .events = events },
							 { .fd = connection->wake_fd, .events = POLLIN } };

	for (;;)
	{
		const int64_t left_ms = MAX(deadline_ms - now_ms(), 0);
		const bool is_watched = connection->is_unwanted != NULL;
		int ready = poll(fds, 2, (int) (is_watched ? MIN(left_ms, UNWANTED_MS) : left_ms));

		if (ready < 0 && errno == EINTR)
			continue;
		if (fds[1].revents != 0 || (is_watched && atomic_load(connection->is_unwanted)))
		{
			connection_close(connection);
			db_error_set(error, NULL, "stopped", NULL, NULL);
			return DB_STOPPED;
		}
		if (ready == 0 && left_ms > 0)
			continue;
		if (ready > 0)
			return DB_OK;
		connection_close(connection);
		db_error_set(error, NULL, "could not reach database", "The server did not answer in time.",
					 NULL);
		return DB_AWAY;
	}
}

/* Ignores notices, which are for humans; commands that humans run use connection_log_notices(). */
static void
ignore_notice(void *arg, const PGresult *result)
{
}

static void
log_notice(void *arg, const PGresult *result)
{
	const char *severity = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
	const char *primary = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
	const char *detail = PQresultErrorField(result, PG_DIAG_MESSAGE_DETAIL);
	const char *hint = PQresultErrorField(result, PG_DIAG_MESSAGE_HINT);
	bool is_warning = severity != NULL && strcmp(severity, "WARNING") == 0;

	log_event(is_warning ? LOG_WARNING : LOG_INFO, arg, primary != NULL ? primary : "notice",
			  log_text("detail", detail), log_text("hint", hint));
}

void
connection_log_notices(Connection *connection, const char *module)
{
	PQsetNoticeReceiver(connection->pg, log_notice, (void *) (uintptr_t) module);
}

/*
 * Sets search_path, because the setting of the role or database may contain schemas in which other
 * users can create functions and operators.
 */
static DbOutcome
pin_search_path(Connection *connection, DbError *error)
{
	static const Statement statement = { .sql = "SET search_path = pg_catalog, pg_temp",
										 .failure = "could not prepare the session" };
	DbOutcome outcome = connection_execute(connection, &statement, error);

	if (outcome != DB_OK)
		connection_close(connection);
	return outcome;
}

/* Starts a connection, as the given user unless NULL, and waits until it is established. */
static DbOutcome
connection_start(Connection *connection, const char *conninfo, const char *user,
				 const char *password, DbError *error)
{
	/*
	 * settings before dbname are defaults that the connection string may override; those after it
	 * override the connection string
	 */
	static const char *const keywords[] = { "keepalives_idle",	"keepalives_interval",
											"keepalives_count", "tcp_user_timeout",
											"dbname",			"fallback_application_name",
											"client_encoding",	"user",
											"password",			NULL };
	const char *const values[] = { "30",   "10", "3",	   "60000", conninfo, APPLICATION_NAME,
								   "UTF8", user, password, NULL };
	int64_t deadline_ms = now_ms() + CONNECT_TIMEOUT_MS;
	PostgresPollingStatusType status = PGRES_POLLING_WRITING;

	connection->pg = PQconnectStartParams(keywords, values, 1);
	if (connection->pg == NULL)
	{
		db_error_set(error, NULL, connect_failure, "Out of memory.", NULL);
		return DB_AWAY;
	}
	PQsetErrorVerbosity(connection->pg, PQERRORS_VERBOSE);
	PQsetNoticeReceiver(connection->pg, ignore_notice, NULL);
	while (status != PGRES_POLLING_OK)
	{
		DbOutcome outcome;

		if (status == PGRES_POLLING_FAILED || PQstatus(connection->pg) == CONNECTION_BAD)
			return connection_lost(connection, connect_failure, error);
		outcome = connection_wait(connection, status == PGRES_POLLING_READING ? POLLIN : POLLOUT,
								  deadline_ms, error);
		if (outcome != DB_OK)
			return outcome;
		status = PQconnectPoll(connection->pg);
	}
	if (PQsetnonblocking(connection->pg, 1) != 0)
		return connection_lost(connection, connect_failure, error);
	return DB_OK;
}

DbOutcome
connection_open(Connection *connection, const char *conninfo, DbError *error)
{
	DbOutcome outcome = connection_start(connection, conninfo, NULL, NULL, error);

	return outcome == DB_OK ? pin_search_path(connection, error) : outcome;
}

DbOutcome
connection_open_as(Connection *connection, const char *conninfo, const char *user,
				   const char *password, DbError *error)
{
	DbOutcome outcome;

	/* if one is empty, libpq would take the user or password from our environment */
	if (user[0] == '\0' || password[0] == '\0')
	{
		db_error_set(error, "28P01", connect_failure, "The user or the password is empty.", NULL);
		return DB_DENIED;
	}
	outcome = connection_start(connection, conninfo, user, password, error);
	if (outcome != DB_OK)
		return outcome;
	if (!PQconnectionUsedPassword(connection->pg))
	{
		connection_close(connection);
		db_error_set(error, "28000", connect_failure, "The server did not ask for the password.",
					 "Let pg_hba.conf require scram-sha-256 for connections of this program.");
		return DB_DENIED;
	}
	return pin_search_path(connection, error);
}

/*
 * Sends all pending data. Reads meanwhile, because the server may stop reading until we have read
 * its answers.
 */
static DbOutcome
connection_flush(Connection *connection, const char *failure, DbError *error)
{
	for (;;)
	{
		DbOutcome outcome;
		int pending = PQflush(connection->pg);

		if (pending == 0)
			return DB_OK;
		if (pending < 0)
			return connection_lost(connection, failure, error);
		outcome =
			connection_wait(connection, POLLIN | POLLOUT, now_ms() + ANSWER_TIMEOUT_MS, error);
		if (outcome != DB_OK)
			return outcome;
		if (!PQconsumeInput(connection->pg))
			return connection_lost(connection, failure, error);
	}
}

/* Returns the next result; NULL after the last result of a statement. */
static DbOutcome
connection_result(Connection *connection, const char *failure, PGresult **result, DbError *error)
{
	while (PQisBusy(connection->pg))
	{
		DbOutcome outcome =
			connection_wait(connection, POLLIN, now_ms() + ANSWER_TIMEOUT_MS, error);

		if (outcome != DB_OK)
			return outcome;
		if (!PQconsumeInput(connection->pg))
			return connection_lost(connection, failure, error);
	}
	*result = PQgetResult(connection->pg);
	return DB_OK;
}

static bool
result_is_good(const PGresult *result)
{
	ExecStatusType status = PQresultStatus(result);

	return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK || status == PGRES_COPY_IN ||
		   status == PGRES_PIPELINE_SYNC;
}

/*
 * Reads results up to the end of a simple query and keeps the first failure. *tag, unless tag is
 * NULL, becomes the last command tag. Returns DB_OK if all statements succeeded.
 */
static DbOutcome
connection_read_to_end(Connection *connection, const char *failure, char tag[64], DbError *error)
{
	DbOutcome first = DB_OK;

	for (;;)
	{
		PGresult *result = NULL;
		DbOutcome outcome = connection_result(connection, failure, &result, error);

		if (outcome != DB_OK)
			return outcome;
		if (result == NULL)
			break;
		if (!result_is_good(result) && first == DB_OK)
			first = db_error_from_result(error, failure, result);
		else if (tag != NULL)
			snprintf(tag, 64, "%s", PQcmdStatus(result));
		PQclear(result);
	}
	if (PQstatus(connection->pg) == CONNECTION_BAD || first == DB_AWAY)
	{
		connection_close(connection);
		return DB_AWAY;
	}
	return first;
}

/* Rolls back a failed transaction, so that the connection is usable again. */
static DbOutcome
connection_rollback(Connection *connection, DbError *error)
{
	static const char failure[] = "could not roll back";
	DbOutcome outcome;

	if (PQtransactionStatus(connection->pg) == PQTRANS_IDLE)
		return DB_OK;
	if (!PQsendQuery(connection->pg, "ROLLBACK"))
		return connection_lost(connection, failure, error);
	outcome = connection_flush(connection, failure, error);
	return outcome != DB_OK ? outcome : connection_read_to_end(connection, failure, NULL, error);
}

/* Cleans up after a failure: rolls back, or closes the connection if that fails. */
static DbOutcome
connection_recover(Connection *connection, DbOutcome failure)
{
	DbError ignored;

	if (connection->pg == NULL)
		return failure;
	if (failure == DB_AWAY || connection_rollback(connection, &ignored) != DB_OK)
		connection_close(connection);
	return failure;
}

void
connection_abandon(Connection *connection)
{
	(void) connection_recover(connection, DB_OK);
}

/* Removes all received notices of channels. Returns true if there was one. */
static bool
take_notices(Connection *connection)
{
	bool any = false;
	PGnotify *notice;

	while ((notice = PQnotifies(connection->pg)) != NULL)
	{
		any = true;
		PQfreemem(notice);
	}
	return any;
}

DbOutcome
connection_wait_notice(Connection *connection, int64_t wait_ms, DbError *error)
{
	static const char failure[] = "lost the connection to the database";
	int64_t deadline_ms = now_ms() + wait_ms;

	while (!take_notices(connection))
	{
		struct pollfd fds[2] = { { .fd = PQsocket(connection->pg), .events = POLLIN },
								 { .fd = connection->wake_fd, .events = POLLIN } };
		int64_t left_ms = deadline_ms - now_ms();

		if (left_ms <= 0)
			return DB_OK;
		if (poll(fds, 2, (int) left_ms) < 0 && errno != EINTR)
			return connection_lost(connection, failure, error);
		if (fds[1].revents != 0)
		{
			connection_close(connection);
			db_error_set(error, NULL, "stopped", NULL, NULL);
			return DB_STOPPED;
		}
		if (fds[0].revents != 0 && !PQconsumeInput(connection->pg))
			return connection_lost(connection, failure, error);
	}
	return DB_OK;
}

/*
 * Writes the name of a prepared statement, which depends only on its text: a pooler may give us a
 * session in which another collector has prepared statements.
 */
static void
kept_name(const char *sql, char name[KEPT_NAME_BYTES])
{
	uint64_t hash = 0;

	for (const char *at = sql; *at != '\0'; at++)
		hash = hash_word(hash, (uint8_t) *at);
	snprintf(name, KEPT_NAME_BYTES, "pfs_%016" PRIx64, hash);
}

/* Returns the index of a prepared statement; CONNECTION_KEPT_MAX if it is not prepared. */
static uint32_t
find_kept(const Connection *connection, const Statement *statement)
{
	for (uint32_t i = 0; statement->keep && i < connection->kept_count; i++)
		if (connection->kept[i] == statement->sql)
			return i;
	return CONNECTION_KEPT_MAX;
}

/*
 * Statements that are prepared within one pipeline; each has an additional result before that of
 * its first execution. If the pipeline fails, we do not know which ones the server has prepared.
 */
typedef struct Preparing
{
	size_t at[CONNECTION_KEPT_MAX]; /* position of each prepared statement in the pipeline */
	uint32_t count;
} Preparing;

static bool
prepare_statement(Connection *connection, const Statement *statement, size_t at,
				  Preparing *preparing)
{
	Oid types[STATEMENT_MAX_PARAMS];
	char name[KEPT_NAME_BYTES];

	if (!statement->keep || connection->is_pooled ||
		connection->kept_count == CONNECTION_KEPT_MAX ||
		find_kept(connection, statement) != CONNECTION_KEPT_MAX)
		return true;
	for (int i = 0; i < statement->param_count; i++)
		types[i] = statement->params[i].type;
	kept_name(statement->sql, name);
	connection->kept[connection->kept_count++] = statement->sql;
	preparing->at[preparing->count++] = at;
	return PQsendPrepare(connection->pg, name, statement->sql, statement->param_count, types);
}

/* Sends a statement, by name if it is prepared, with binary parameters. */
static bool
send_statement(Connection *connection, const Statement *statement)
{
	uint32_t kept = find_kept(connection, statement);
	char name[KEPT_NAME_BYTES];
	Oid types[STATEMENT_MAX_PARAMS];
	const char *values[STATEMENT_MAX_PARAMS];
	int lengths[STATEMENT_MAX_PARAMS];
	int formats[STATEMENT_MAX_PARAMS];

	for (int i = 0; i < statement->param_count; i++)
	{
		types[i] = statement->params[i].type;
		/* a NULL pointer would be an SQL null */
		values[i] = statement->params[i].value->length ? statement->params[i].value->bytes : "";
		lengths[i] = (int) statement->params[i].value->length;
		formats[i] = 1;
	}
	if (kept == CONNECTION_KEPT_MAX)
		return PQsendQueryParams(connection->pg, statement->sql, statement->param_count, types,
								 values, lengths, formats, 1);
	kept_name(statement->sql, name);
	return PQsendQueryPrepared(connection->pg, name, statement->param_count, values, lengths,
							   formats, 1);
}

/*
 * Reads the result of one statement and the NULL after it. *result belongs to the caller in any
 * case. The first failure of the pipeline goes to *first; later ones only report that they were
 * skipped.
 */
static DbOutcome
connection_read_one(Connection *connection, const char *failure, PGresult **result,
					DbOutcome *first, DbError *error)
{
	PGresult *end = NULL;
	DbOutcome outcome = connection_result(connection, failure, result, error);

	if (outcome != DB_OK)
		return outcome;
	if (*result == NULL)
		return connection_lost(connection, failure, error);
	if (*first == DB_OK && !result_is_good(*result))
		*first = db_error_from_result(error, failure, *result);

	/* a broken connection delivers no end of the results */
	if (PQstatus(connection->pg) == CONNECTION_BAD)
		return *first != DB_OK ? *first : connection_lost(connection, failure, error);
	outcome = connection_result(connection, failure, &end, error);
	PQclear(end);
	return outcome;
}

/* Reads one result for each statement, then the end of the pipeline. Keeps the first failure. */
static DbOutcome
connection_read_pipeline(Connection *connection, const Statement *statements, size_t count,
						 const Preparing *preparing, PGresult **results, DbError *error)
{
	DbOutcome first = DB_OK;
	PGresult *result = NULL;
	DbOutcome outcome;
	uint32_t prepared = 0;

	for (size_t i = 0; i < count; i++)
	{
		const char *failure = statements[i].failure;

		if (prepared < preparing->count && preparing->at[prepared] == i)
		{
			prepared++;
			outcome = connection_read_one(connection, failure, &result, &first, error);
			PQclear(result);
			result = NULL;
			if (outcome != DB_OK)
				return outcome;
		}
		outcome = connection_read_one(connection, failure, &results[i], &first, error);
		if (outcome != DB_OK)
			return outcome;
	}
	outcome = connection_result(connection, statements[count - 1].failure, &result, error);
	if (outcome != DB_OK)
		return outcome;
	PQclear(result);
	if (!PQexitPipelineMode(connection->pg))
		return connection_lost(connection, statements[count - 1].failure, error);
	return first;
}

/*
 * Returns true for an error that a pooler causes: the session has a statement of this name already
 * (42P05), or lacks it (26000).
 */
static bool
error_is_of_pooler(const DbError *error)
{
	return strcmp(error->sqlstate, "42P05") == 0 || strcmp(error->sqlstate, "26000") == 0;
}

DbOutcome
connection_run(Connection *connection, const Statement *statements, size_t count,
			   PGresult **results, DbError *error)
{
	const char *failure = statements[0].failure;
	Preparing preparing = { .count = 0 };
	DbOutcome outcome;

	memset(results, 0, count * sizeof(results[0]));
	for (size_t i = 0; i < count; i++)
	{
		for (int j = 0; j < statements[i].param_count; j++)
		{
			if (statements[i].params[j].value->failed)
			{
				db_error_set(error, NULL, statements[i].failure, "Out of memory.", NULL);
				return connection_recover(connection, DB_REFUSED);
			}
		}
	}
	if (!PQenterPipelineMode(connection->pg))
		return connection_lost(connection, failure, error);
	for (size_t i = 0; i < count; i++)
		if (!prepare_statement(connection, &statements[i], i, &preparing) ||
			!send_statement(connection, &statements[i]))
			return connection_lost(connection, statements[i].failure, error);
	if (!PQpipelineSync(connection->pg))
		return connection_lost(connection, failure, error);
	outcome = connection_flush(connection, failure, error);
	if (outcome == DB_OK)
		outcome =
			connection_read_pipeline(connection, statements, count, &preparing, results, error);
	if (outcome == DB_OK)
		return DB_OK;
	for (size_t i = 0; i < count; i++)
	{
		PQclear(results[i]);
		results[i] = NULL;
	}
	connection->is_pooled |= outcome != DB_STOPPED && error_is_of_pooler(error);
	if (preparing.count > 0)
		connection_close(connection);
	return connection_recover(connection, outcome);
}

DbOutcome
connection_execute(Connection *connection, const Statement *statement, DbError *error)
{
	PGresult *result;
	DbOutcome outcome = connection_run(connection, statement, 1, &result, error);

	if (outcome == DB_OK)
		PQclear(result);
	return outcome;
}

static const char copy_failure[] = "could not store samples";

DbOutcome
connection_copy_begin(Connection *connection, const char *sql, DbError *error)
{
	PGresult *result = NULL;
	DbOutcome outcome;

	if (!PQsendQuery(connection->pg, sql))
		return connection_lost(connection, copy_failure, error);
	outcome = connection_flush(connection, copy_failure, error);
	if (outcome != DB_OK)
		return outcome;
	outcome = connection_result(connection, copy_failure, &result, error);
	if (outcome != DB_OK)
		return outcome;
	if (PQresultStatus(result) == PGRES_COPY_IN)
	{
		PQclear(result);
		return DB_OK;
	}
	outcome = db_error_from_result(error, copy_failure, result);
	PQclear(result);
	if (PQstatus(connection->pg) == CONNECTION_OK)
	{
		DbError ignored;

		connection_read_to_end(connection, copy_failure, NULL, &ignored);
	}
	return connection_recover(connection, outcome);
}

DbOutcome
connection_copy_data(Connection *connection, Buffer *data, DbError *error)
{
	if (data->failed)
	{
		/* abort the COPY, because a part of the data is missing */
		db_error_set(error, NULL, copy_failure, "Out of memory.", NULL);
		connection_close(connection);
		return DB_REFUSED;
	}
	/*
	 * libpq accepts all data unless out of memory; data that the socket did not accept is flushed
	 * here
	 */
	if (PQputCopyData(connection->pg, data->bytes, (int) data->length) != 1)
		return connection_lost(connection, copy_failure, error);
	buffer_reset(data);
	return connection_flush(connection, copy_failure, error);
}

DbOutcome
connection_copy_end(Connection *connection, DbError *error)
{
	char tag[64] = "";
	DbOutcome outcome;

	if (PQputCopyEnd(connection->pg, NULL) != 1)
		return connection_lost(connection, copy_failure, error);
	outcome = connection_flush(connection, copy_failure, error);
	if (outcome == DB_OK)
		outcome = connection_read_to_end(connection, copy_failure, tag, error);
	if (outcome == DB_OK && strcmp(tag, "COMMIT") != 0)
	{
		db_error_set(error, NULL, copy_failure, "The server did not commit.", NULL);
		outcome = DB_REFUSED;
	}
	return outcome == DB_OK ? DB_OK : connection_recover(connection, outcome);
}
