/*
 * test_writer_access.c
 *		A writer's access to a database: the rights of its role, and the errors of connections.
 */
#include "writer_fixture.h"

#include "base/log.h"
#include "database/session.h"
#include "program/version.h"

static PrivateServer server;

/* A role with grant_write and nothing else can write. */
static void
test_least_privilege(void **state)
{
	Writer *writer;

	create_database("least");
	sql_in("postgres", "DROP ROLE IF EXISTS test_collector");
	sql_in("least",
		   "CREATE ROLE test_collector LOGIN; SELECT profstore.grant_write('test_collector')");
	writer = open_writer("dbname=least user=test_collector", QUEUE_BYTES);
	writer_submit_newest(writer, make_batch(0));
	writer_submit_newest(writer, make_batch(1));
	assert_true(writer_drain(writer, DRAIN_MS));
	writer_free(writer);
	assert_stored_once("least", 2);
}

/*
 * Two roles store equal content from one host: each has rows of its own, and neither delays the
 * other.
 */
static void
test_two_roles(void **state)
{
	create_database("roles");
	sql_in("postgres",
		   "DROP ROLE IF EXISTS test_collector_a; DROP ROLE IF EXISTS test_collector_b");
	sql_in("roles", "CREATE ROLE test_collector_a LOGIN; CREATE ROLE test_collector_b LOGIN;"
					" SELECT profstore.grant_write('test_collector_a'),"
					" profstore.grant_write('test_collector_b')");
	for (int i = 0; i < 2; i++)
	{
		Writer *writer = open_writer(i == 0 ? "dbname=roles user=test_collector_a"
											: "dbname=roles user=test_collector_b",
									 QUEUE_BYTES);

		writer_submit_newest(writer, make_batch(0));
		writer_submit_newest(writer, make_batch(1));
		assert_true(writer_drain(writer, DRAIN_MS));
		writer_free(writer);
	}
	assert_string_equal(
		sql_in("roles",
			   "SELECT string_agg(format('%s %s', t.role, m.mappings), ', ' ORDER BY t.role)"
			   " FROM profstore.targets AS t JOIN (SELECT role, count(*) > 0 AS mappings"
			   "   FROM profstore.mappings GROUP BY role) AS m USING (role)"),
		"test_collector_a t, test_collector_b t");
	assert_string_equal(
		sql_in("roles", "SELECT bool_and(sums = 1) FROM (SELECT count(DISTINCT value) AS sums"
						" FROM (SELECT s.role, sum(p.value) AS value FROM profstore.samples AS p"
						"   JOIN profstore.series AS s ON s.id = p.series_id GROUP BY s.role) AS r)"
						" AS t"),
		"t");
}

/* --- errors: each with its code, the server's words, and a way out; never a password --- */

static void
assert_check_fails(const char *conninfo, ExitCode code, const char *message, const char *detail,
				   const char *hint)
{
	Failure failure = { 0 };

	assert_int_equal(session_check(conninfo, &failure), code);
	assert_int_equal(failure.code, code);
	assert_string_equal(failure.message, message);
	if (strstr(failure.detail, detail) == NULL)
		fail_msg("\"%s\" is not in \"%s\"", detail, failure.detail);
	if (strstr(failure.hint, hint) == NULL)
		fail_msg("\"%s\" is not in \"%s\"", hint, failure.hint);
	assert_null(strstr(failure.detail, "s3cret"));
	assert_null(strstr(failure.detail, "LOCATION"));
	assert_null(strchr(failure.detail, '\n'));
}

static void
assert_check_passes(const char *conninfo)
{
	Failure failure = { 0 };

	if (session_check(conninfo, &failure) != EXIT_OK)
		fail_msg("%s: %s", failure.message, failure.detail);
}

static const char connect_failure[] = "could not connect to database";

static void
test_no_database(void **state)
{
	assert_check_fails("dbname=nowhere", EXIT_DATABASE, connect_failure,
					   "The server says: database \"nowhere\" does not exist",
					   "Create the database");
}

static void
test_no_server(void **state)
{
	assert_check_fails("host=/nonexistent", EXIT_DATABASE, connect_failure,
					   "No such file or directory", "Check that the server is running");
	assert_check_fails("host=/nonexistent,/neither dbname=x", EXIT_DATABASE, connect_failure,
					   "/neither", "");
}

static void
test_invalid_conninfo(void **state)
{
	assert_check_fails("dbname=x nonsense", EXIT_CONFIG, "invalid connection string", "nonsense",
					   "postgresql://");
	assert_check_fails("password=x s3cret", EXIT_CONFIG, "invalid connection string", "", "");
	assert_check_fails("postgresql://u:s3cret@h/x?nonsense=s3cret", EXIT_CONFIG,
					   "invalid connection string", "", "");
}

static void
test_wrong_password(void **state)
{
	sql_in("postgres", "DROP ROLE IF EXISTS test_password");
	sql_in("postgres", "CREATE ROLE test_password LOGIN PASSWORD 'right'");
	require_password(&server, "test_password");
	assert_check_fails("user=test_password password=s3cret", EXIT_DATABASE, connect_failure,
					   "password authentication failed for user \"test_password\"", "PGPASSFILE");
	assert_check_fails("user=test_password", EXIT_DATABASE, connect_failure, "no password supplied",
					   "PGPASSFILE");
	assert_check_fails("user=test_norole", EXIT_DATABASE, connect_failure,
					   "role \"test_norole\" does not exist", "Check the user");
}

static void
test_extension_missing(void **state)
{
	sql_in("postgres", "DROP DATABASE IF EXISTS plain (FORCE)");
	sql_in("postgres", "CREATE DATABASE plain");
	assert_check_fails("dbname=plain", EXIT_DATABASE,
					   "extension \"profstore\" is not in the database", "\"plain\"",
					   "CREATE EXTENSION profstore");
}

/*
 * The database was restored from a server that had the extension, or a package upgrade is in
 * progress.
 */
static void
test_library_missing(void **state)
{
	create_database("nolib");
	sql_in("nolib", "UPDATE pg_proc SET probin = '$libdir/nosuch' WHERE proname = 'epoch'");
	assert_check_fails("dbname=nolib", EXIT_DATABASE,
					   "could not read the state of extension \"profstore\"",
					   "could not access file \"$libdir/nosuch\"", "make install");
	assert_int_equal(db_outcome_of("58P01"), DB_DENIED);
	assert_int_equal(db_outcome_of("58030"), DB_AWAY);
}

static void
test_extension_of_another_version(void **state)
{
	char detail[192];

	snprintf(
		detail, sizeof(detail),
		"Extension 1.0 in database \"version\" names no writer protocols; this collector, %s, %s",
		collector_version(), protocol_spoken());
	create_database("version");
	sql_in("version", "ALTER EXTENSION profstore DROP FUNCTION profstore.writer_protocols;"
					  " DROP FUNCTION profstore.writer_protocols");
	assert_check_fails("dbname=version", EXIT_DATABASE,
					   "extension \"profstore\" is not compatible with this collector", detail,
					   "ALTER EXTENSION profstore UPDATE");
	sql_in("version", "DROP EXTENSION profstore; CREATE EXTENSION profstore");
	assert_check_passes("dbname=version");
}

static void
test_no_privilege(void **state)
{
	create_database("denied");
	sql_in("postgres", "DROP ROLE IF EXISTS test_denied");
	sql_in("denied", "CREATE ROLE test_denied LOGIN");
	assert_check_fails("dbname=denied user=test_denied", EXIT_DATABASE,
					   "could not read the state of extension \"profstore\"", "permission denied",
					   "grant_write('test_denied')");
	sql_in("denied", "GRANT USAGE ON SCHEMA profstore TO test_denied;"
					 " GRANT EXECUTE ON FUNCTION profstore.epoch TO test_denied");
	assert_check_fails("dbname=denied user=test_denied", EXIT_DATABASE,
					   "permission to store samples denied", "\"test_denied\"",
					   "grant_write('test_denied')");
}

/*
 * A message of the server or libpq with several lines is one line in the log; a caret below a line
 * is removed.
 */
static void
test_messages_of_several_lines(void **state)
{
	PGconn *connection = server_connect("postgres");
	PGresult *result = PQexec(connection, "DO $$ BEGIN RAISE EXCEPTION 'no' USING DETAIL ="
										  " E'Line 1:\\n  a b\\n\\t  ^\\nEnd.'; END $$");
	PGconn *nowhere = PQconnectdb("host=/nonexistent");
	DbError error;

	db_error_from_result(&error, "could not", result);
	assert_string_equal(error.failure.detail, "The server says: no DETAIL: Line 1: a b End.");
	PQclear(result);
	PQfinish(connection);

	result = PQmakeEmptyPGresult(nowhere, PGRES_FATAL_ERROR);
	assert_non_null(strchr(PQresultErrorMessage(result), '\n'));
	assert_int_equal(db_error_from_result(&error, "could not", result), DB_AWAY);
	assert_null(strchr(error.failure.detail, '\n'));
	assert_null(strchr(error.failure.detail, '\t'));
	assert_non_null(strstr(error.failure.detail, "No such file or directory"));
	PQclear(result);
	PQfinish(nowhere);
}

static void
test_extension_dropped_while_running(void **state)
{
	Writer *writer;
	Failure failure = { 0 };

	create_database("gone");
	writer = open_patient_writer("dbname=gone", 300);
	writer_submit_newest(writer, make_batch(0));
	wait_until_done(writer, 1);
	assert_int_equal(writer_failure(writer, &failure), EXIT_OK);
	sql_in("gone", "DROP EXTENSION profstore CASCADE");
	writer_submit_newest(writer, make_batch(1));
	wait_until_done(writer, 2);
	assert_int_equal(writer_failure(writer, &failure), EXIT_DATABASE);
	assert_string_equal(failure.message, "extension \"profstore\" is not in the database");
	assert_false(writer_drain(writer, DRAIN_MS));
	writer_free(writer);
}

/* The password is changed while the writer has no connection. */
static void
test_password_changed_while_running(void **state)
{
	Writer *writer;
	Failure failure = { 0 };

	create_database("changed");
	sql_in("postgres", "DROP ROLE IF EXISTS test_changed");
	sql_in("changed", "CREATE ROLE test_changed LOGIN PASSWORD 's3cret';"
					  " SELECT profstore.grant_write('test_changed')");
	require_password(&server, "test_changed");
	writer = open_patient_writer("dbname=changed user=test_changed password=s3cret", 300);
	writer_submit_newest(writer, make_batch(0));
	wait_until_done(writer, 1);
	sql_in("changed", "ALTER ROLE test_changed PASSWORD 'other'");
	sql_in("changed", "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
					  " WHERE usename = 'test_changed'");
	writer_submit_newest(writer, make_batch(1));
	wait_until_done(writer, 2);
	assert_int_equal(writer_failure(writer, &failure), EXIT_DATABASE);
	assert_non_null(strstr(failure.detail, "password authentication failed"));
	writer_free(writer);
}

static int
setup_server(void **state)
{
	server_start(&server, "writer-access");
	return 0;
}

static int
stop_server(void **state)
{
	return server_control(&server, "purge", NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_least_privilege),
		cmocka_unit_test(test_two_roles),
		cmocka_unit_test(test_no_database),
		cmocka_unit_test(test_no_server),
		cmocka_unit_test(test_invalid_conninfo),
		cmocka_unit_test(test_wrong_password),
		cmocka_unit_test(test_extension_missing),
		cmocka_unit_test(test_library_missing),
		cmocka_unit_test(test_extension_of_another_version),
		cmocka_unit_test(test_no_privilege),
		cmocka_unit_test(test_messages_of_several_lines),
		cmocka_unit_test(test_extension_dropped_while_running),
		cmocka_unit_test(test_password_changed_while_running),
	};

	return cmocka_run_group_tests(tests, setup_server, stop_server);
}
