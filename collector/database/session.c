/*
 * session.c
 *		Session settings and checks of the database.
 */
#include "database/session.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "program/version.h"

/* The timeouts limit how long the locks of a collector that is lost can block other sessions. */
static const Statement settings[] = {
	{ .sql = "SET statement_timeout = '60s'" },
	{ .sql = "SET lock_timeout = '30s'" },
	{ .sql = "SET idle_in_transaction_session_timeout = '60s'" },
	{ .sql = "SELECT x.extversion, pg_catalog.pg_is_in_recovery(), pg_catalog.current_database(),"
			 "    EXISTS (SELECT FROM pg_catalog.pg_proc AS p WHERE p.proname = 'writer_protocols'"
			 "        AND p.pronamespace = x.extnamespace)"
			 "    FROM (VALUES (1)) AS one(n)"
			 "    LEFT JOIN pg_catalog.pg_extension AS x ON x.extname = 'profstore'" },
};

#define SETTING_COUNT (sizeof(settings) / sizeof(settings[0]))

static const Statement identity_query = {
	.sql = "SELECT profstore.epoch(), d.oid::int8, x.oid::int8,"
		   "    pg_catalog.has_table_privilege('profstore.samples', 'INSERT'),"
		   "    CURRENT_USER::text, x.extversion, d.datname::text, p.oldest::int8, p.newest::int8,"
		   "    pg_catalog.to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL"
		   " FROM pg_catalog.pg_database AS d, pg_catalog.pg_extension AS x,"
		   "    profstore.writer_protocols() AS p"
		   " WHERE d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()"
		   "    AND x.extname OPERATOR(pg_catalog.=) 'profstore'",
	.failure = "could not read the state of extension \"profstore\"",
};

static const char *const older_hint =
	"Run \"ALTER EXTENSION profstore UPDATE\", after installing a newer package if "
	"necessary, or use an older collector.";

/*
 * Reports that the two ranges of writer protocols do not overlap. served describes the extension's
 * range.
 */
static DbOutcome
protocol_mismatch(const char *database, const char *version, const char *served, const char *hint,
				  DbError *error)
{
	char detail[sizeof(error->failure.detail)];

	snprintf(detail, sizeof(detail),
			 "Extension %s in database \"%s\" %s; this collector, %s, speaks %d.", version,
			 database, served, collector_version(), WRITER_PROTOCOL);
	db_error_set(error, NULL, "extension \"profstore\" is not compatible with this collector",
				 detail, hint);
	return DB_DENIED;
}

/*
 * Checks the last result of the settings: extension version, recovery state, database name, and
 * whether writer_protocols() exists.
 */
static DbOutcome
check_extension(const Result *result, DbError *error)
{
	const char *database = result_bytes(result, 2, NULL);
	char detail[sizeof(error->failure.detail)];

	if (result_is_null(result, 0))
	{
		snprintf(detail, sizeof(detail), "The database is \"%s\".", database);
		db_error_set(
			error, NULL, "extension \"profstore\" is not in the database", detail,
			"Connect to this database as its owner and run \"CREATE EXTENSION profstore\".");
		return DB_DENIED;
	}
	if (!result_is(result, 3, true))
		return protocol_mismatch(database, result_bytes(result, 0, NULL),
								 "names no writer protocols", older_hint, error);
	if (result_is(result, 1, true))
	{
		db_error_set(error, NULL, "database is read-only", "The server is a standby.",
					 "Name the primary, or several hosts and \"target_session_attrs=read-write\".");
		return DB_AWAY;
	}
	return DB_OK;
}

/* Checks that the extension serves the writer protocol of this collector. */
static DbOutcome
check_protocol(const Result *result, DbError *error)
{
	int64_t oldest = result_int8(result, 7);
	int64_t newest = result_int8(result, 8);
	char served[80];

	if (oldest <= WRITER_PROTOCOL && WRITER_PROTOCOL <= newest)
		return DB_OK;
	snprintf(served, sizeof(served), "serves writer protocols %" PRId64 " to %" PRId64, oldest,
			 newest);
	return protocol_mismatch(result_bytes(result, 6, NULL), result_bytes(result, 5, NULL), served,
							 newest < WRITER_PROTOCOL ? older_hint : "Use a newer collector.",
							 error);
}

static void
hint_at_grant(DbError *error, const char *role)
{
	failure_hint(&error->failure,
				 "Let the owner of the extension run \"SELECT profstore.grant_write('%s')\".",
				 role);
}

/* Checks that the role may store samples. */
static DbOutcome
check_privilege(const Result *result, DbError *error)
{
	const char *role = result_bytes(result, 4, NULL);
	char detail[sizeof(error->failure.detail)];

	if (result_is(result, 3, true))
		return DB_OK;
	snprintf(detail, sizeof(detail), "Role \"%s\" may not insert into \"profstore.samples\".",
			 role);
	db_error_set(error, "42501", "permission to store samples denied", detail, NULL);
	hint_at_grant(error, role);
	return DB_DENIED;
}

DbOutcome
session_refresh(Session *session, DbError *error)
{
	Result *result;
	DbOutcome outcome = connection_run(&session->connection, &identity_query, 1, &result, error);

	if (outcome != DB_OK)
	{
		if (strcmp(error->sqlstate, "42501") == 0 && session->connection.pg != NULL)
			hint_at_grant(error, PQuser(session->connection.pg));
		return outcome;
	}
	if (!result_is_row(result, 10))
	{
		db_error_set(error, NULL, identity_query.failure, "The extension was dropped.", NULL);
		outcome = DB_DENIED;
	}
	if (outcome == DB_OK)
		outcome = check_protocol(result, error);
	if (outcome == DB_OK)
		outcome = check_privilege(result, error);
	if (outcome == DB_OK)
	{
		session->identity.epoch = result_int8(result, 0);
		session->identity.database_oid = result_int8(result, 1);
		session->identity.extension_oid = result_int8(result, 2);
		session->copies_plainly |= result_is(result, 9, true);
	}
	result_free(result);
	return outcome;
}

/* Applies the settings to a new connection and checks the extension. */
static DbOutcome
prepare_session(Session *session, DbError *error)
{
	Statement statements[SETTING_COUNT];
	Result *results[SETTING_COUNT];
	DbOutcome outcome;

	memcpy(statements, settings, sizeof(settings));
	for (size_t i = 0; i < SETTING_COUNT; i++)
		statements[i].failure = "could not prepare the session";
	outcome = connection_run(&session->connection, statements, SETTING_COUNT, results, error);
	if (outcome != DB_OK)
		return outcome;
	outcome = check_extension(results[SETTING_COUNT - 1], error);
	for (size_t i = 0; i < SETTING_COUNT; i++)
		result_free(results[i]);
	return outcome == DB_OK ? session_refresh(session, error) : outcome;
}

DbOutcome
session_open(Session *session, const char *conninfo, DbError *error)
{
	DbOutcome outcome;

	if (session->connection.pg != NULL)
		return DB_OK;
	outcome = connection_open(&session->connection, conninfo, error);
	if (outcome == DB_OK)
		outcome = prepare_session(session, error);
	if (outcome == DB_OK)
		return DB_OK;
	connection_close(&session->connection);

	/* no request has been made yet, so the batch cannot be the reason */
	return outcome == DB_DENIED || outcome == DB_STOPPED ? outcome : DB_AWAY;
}

ExitCode
session_check(const char *conninfo, Failure *failure)
{
	Session session = { .connection.wake_fd = -1 };
	DbError error;
	ExitCode code = EXIT_OK;

	if (!conninfo_check(conninfo, &error))
		code = EXIT_CONFIG;
	else if (session_open(&session, conninfo, &error) != DB_OK)
		code = EXIT_DATABASE;
	connection_close(&session.connection);
	if (code != EXIT_OK)
	{
		*failure = error.failure;
		failure->code = code;
	}
	return code;
}
