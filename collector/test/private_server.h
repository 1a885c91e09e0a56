/*
 * private_server.h
 *		A real PostgreSQL for tests: this checkout's private cluster, started by the test itself.
 *
 * The checkout is found from the test program's own path, so tests run from any directory. All
 * functions fail the test on any error.
 */
#ifndef COLLECTOR_TEST_PRIVATE_SERVER_H
#define COLLECTOR_TEST_PRIVATE_SERVER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <libgen.h>
#include <libpq-fe.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#define SERVER_TEXT_BYTES 4096

typedef struct PrivateServer
{
	char top[PATH_MAX]; /* directory of the checkout */
	char name[64];
	char socket[PATH_MAX];
	char data[PATH_MAX];
} PrivateServer;

static void
server_find_checkout(PrivateServer *server)
{
	ssize_t length = readlink("/proc/self/exe", server->top, sizeof(server->top) - 1);

	assert_true(length > 0);
	server->top[length] = '\0';
	for (;;)
	{
		char script[PATH_MAX + 16];

		assert_int_not_equal(strlen(server->top), 1);
		dirname(server->top);
		snprintf(script, sizeof(script), "%s/.dev/cluster", server->top);
		if (access(script, X_OK) == 0)
			return;
	}
}

/* Runs .dev/cluster ACTION; stores its standard output in text, unless that is NULL. */
static int
server_control(const PrivateServer *server, const char *action, char text[SERVER_TEXT_BYTES])
{
	char command[PATH_MAX + 128];
	size_t length;
	FILE *output;

	/*
	 * a server must not inherit this program's output, because its reader would wait for the
	 * server's end
	 */
	snprintf(command, sizeof(command), "'%s/.dev/cluster' %s --name %s 2>/dev/null </dev/null%s",
			 server->top, action, server->name, text ? "" : " >/dev/null");
	output = popen(command, "re");
	assert_non_null(output);
	if (text != NULL)
	{
		length = fread(text, 1, SERVER_TEXT_BYTES - 1, output);
		text[length] = '\0';
	}
	return pclose(output);
}

static inline void
server_start(PrivateServer *server, const char *name)
{
	char text[SERVER_TEXT_BYTES];
	const char *host;

	memset(server, 0, sizeof(*server));
	snprintf(server->name, sizeof(server->name), "%s", name);
	server_find_checkout(server);
	assert_int_equal(server_control(server, "start", NULL), 0);
	assert_int_equal(server_control(server, "env", text), 0);
	host = strstr(text, "PGHOST=");
	assert_non_null(host);
	snprintf(server->socket, sizeof(server->socket), "%.*s", (int) strcspn(host + 7, " "),
			 host + 7);
	snprintf(server->data, sizeof(server->data), "%.*s/data",
			 (int) (strlen(server->socket) - strlen("/socket")), server->socket);
	setenv("PGHOST", server->socket, 1);
	setenv("PGPORT", "5432", 1);
	setenv("PGUSER", "postgres", 1);
	setenv("PGDATABASE", "postgres", 1);
}

/* Returns the server's process: the first line of postmaster.pid. */
static inline pid_t
server_pid(const PrivateServer *server)
{
	char path[PATH_MAX + 32];
	long pid = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/postmaster.pid", server->data);
	file = fopen(path, "re");
	assert_non_null(file);
	assert_int_equal(fscanf(file, "%ld", &pid), 1);
	fclose(file);
	assert_true(pid > 1);
	return (pid_t) pid;
}

static inline bool
server_has_pid_file(const PrivateServer *server)
{
	char path[PATH_MAX + 32];

	snprintf(path, sizeof(path), "%s/postmaster.pid", server->data);
	return access(path, F_OK) == 0;
}

/* Opens a connection for the test itself. */
static inline PGconn *
server_connect(const char *database)
{
	const char *const keywords[] = { "dbname", "application_name", NULL };
	const char *const values[] = { database, "test", NULL };
	PGconn *connection = PQconnectdbParams(keywords, values, 0);

	if (PQstatus(connection) != CONNECTION_OK)
		fail_msg("%s", PQerrorMessage(connection));
	return connection;
}

/*
 * Runs SQL over a connection. Returns the first value of its last result, which is valid for 7 more
 * calls.
 */
static inline const char *
sql_on(PGconn *connection, const char *sql)
{
	static char texts[8][SERVER_TEXT_BYTES];
	static unsigned int calls;
	char *text = texts[calls++ % 8];
	PGresult *result = PQexec(connection, sql);

	if (PQresultStatus(result) != PGRES_TUPLES_OK && PQresultStatus(result) != PGRES_COMMAND_OK)
		fail_msg("%s: %s", sql, PQresultErrorMessage(result));
	snprintf(text, SERVER_TEXT_BYTES, "%s", PQntuples(result) > 0 ? PQgetvalue(result, 0, 0) : "");
	PQclear(result);
	return text;
}

/* Runs SQL in a database over a new connection. */
static inline const char *
sql_in(const char *database, const char *sql)
{
	PGconn *connection = server_connect(database);
	const char *text = sql_on(connection, sql);

	PQfinish(connection);
	return text;
}

#endif
