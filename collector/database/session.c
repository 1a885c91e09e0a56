/*
 * session.c
 *		Settings of the session, and what the database must have.
 */
#include "database/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The timeouts bound what a forgotten lock or a lost collector can hold up. */
static const Statement settings[] = {
	{ .sql = "SET statement_timeout = '60s'" },
	{ .sql = "SET lock_timeout = '30s'" },
	{ .sql = "SET idle_in_transaction_session_timeout = '60s'" },
	{ .sql = "SELECT x.extversion, pg_catalog.pg_is_in_recovery(), pg_catalog.current_database()"
			 "    FROM (VALUES (1)) AS one(n)"
			 "    LEFT JOIN pg_catalog.pg_extension AS x ON x.extname = 'profstore'" },
};

#define SETTING_COUNT (sizeof(settings) / sizeof(settings[0]))

static const Statement identity_query = {
	.sql = "SELECT profstore.epoch(), d.oid::int8, x.oid::int8,"
		   "    pg_catalog.has_table_privilege('profstore.samples', 'INSERT'),"
		   "    CURRENT_USER::text"
		   " FROM pg_catalog.pg_database AS d, pg_catalog.pg_extension AS x"
		   " WHERE d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()"
		   "    AND x.extname OPERATOR(pg_catalog.=) 'profstore'",
	.failure = "could not read the state of extension \"profstore\"",
};

/* From version, recovery state and database name to what is wrong with them. */
static DbOutcome
check_extension(const Result *result, DbError *error)
{
	const char *version = result_bytes(result, 0, NULL);
	const char *database = result_bytes(result, 2, NULL);
	char detail[sizeof(error->failure.detail)];

	if (result_is_null(result, 0))
	{
		snprintf(detail, sizeof(detail), "The database is \"%s\".", database);
		db_error_set(
			error, NULL, "extension \"profstore\" is not in the database", detail,
			"Connect to this database as its owner and run \"CREATE EXTENSION profstore\".");
		return DB_PERMANENT;
	}
	if (strcmp(version, EXTENSION_VERSION) != 0)
	{
		snprintf(detail, sizeof(detail), "Database \"%s\" has version %s; this collector needs %s.",
				 database, version, EXTENSION_VERSION);
		db_error_set(
			error, NULL, "extension \"profstore\" has another version", detail,
			"Run \"ALTER EXTENSION profstore UPDATE\", or use the collector of that version.");
		return DB_PERMANENT;
	}
	if (result_is(result, 1, true))
	{
		db_error_set(error, NULL, "database is read-only", "The server is a standby.",
					 "Name the primary, or several hosts and \"target_session_attrs=read-write\".");
		return DB_AWAY;
	}
	return DB_OK;
}

DbOutcome
session_refresh(Session *session, DbError *error)
{
	Result *result;
	DbOutcome outcome = connection_run(&session->connection, &identity_query, 1, &result, error);
	char detail[sizeof(error->failure.detail)];
	char hint[sizeof(error->failure.hint)];

	if (outcome != DB_OK)
		return outcome;
	if (!result_is_row(result, 5))
	{
		db_error_set(error, NULL, identity_query.failure, "It has gone.", NULL);
		outcome = DB_PERMANENT;
	}
	else if (!result_is(result, 3, true))
	{
		snprintf(detail, sizeof(detail), "Role \"%s\" may not insert into \"profstore.samples\".",
				 result_bytes(result, 4, NULL));
		snprintf(hint, sizeof(hint),
				 "Let the owner of the extension run \"SELECT profstore.grant_write('%s')\".",
				 result_bytes(result, 4, NULL));
		db_error_set(error, "42501", "permission to store samples denied", detail, hint);
		outcome = DB_PERMANENT;
	}
	else
	{
		session->identity.epoch = result_int8(result, 0);
		session->identity.database_oid = result_int8(result, 1);
		session->identity.extension_oid = result_int8(result, 2);
	}
	result_free(result);
	return outcome;
}

DbOutcome
session_open(Session *session, const char *conninfo, DbError *error)
{
	Statement statements[SETTING_COUNT];
	Result *results[SETTING_COUNT];
	DbOutcome outcome;

	if (session->connection.pg != NULL)
		return DB_OK;
	outcome = connection_open(&session->connection, conninfo, error);
	if (outcome != DB_OK)
		return outcome;
	memcpy(statements, settings, sizeof(settings));
	for (size_t i = 0; i < SETTING_COUNT; i++)
		statements[i].failure = "could not prepare the session";
	outcome = connection_run(&session->connection, statements, SETTING_COUNT, results, error);
	if (outcome != DB_OK)
		return outcome;
	outcome = check_extension(results[SETTING_COUNT - 1], error);
	for (size_t i = 0; i < SETTING_COUNT; i++)
		result_free(results[i]);
	if (outcome == DB_OK)
		outcome = session_refresh(session, error);
	if (outcome != DB_OK)
		connection_close(&session->connection);
	return outcome;
}
