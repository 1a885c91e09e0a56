/*
 * export.c
 *		The command "export": writes the result of an exporting function to a file.
 */
#include "exchange/exchange.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "database/connection.h"
#include "database/wire.h"

#define MODULE "export"

#define PARAM_COUNT 9

/*
 * SQL: the parameters that all statements have. Parameters that are not given are empty texts,
 * which mean the last hour and no filter.
 */
#define RANGE                                                                \
	"$1, coalesce(nullif($2, '')::timestamptz, now() - interval '1 hour'), " \
	"coalesce(nullif($3, '')::timestamptz, now())"
#define FILTERS                                           \
	"focus => $4, ignore => $5, show => $6, hide => $7, " \
	"trace => nullif($8, '')::uuid, span => nullif($9, '')"

#define FORMAT_PPROF 0

/* The statement of each format; each returns one bytea. */
static const char *const statements[] = {
	"SELECT profstore.pprof(" RANGE ", " FILTERS ")",
	"SELECT coalesce(string_agg(convert_to(stack || ' ' || value || E'\\n', 'UTF8'), ''), '') "
	"FROM profstore.folded(" RANGE ", " FILTERS ")",
	"SELECT convert_to(profstore.speedscope(" RANGE ", " FILTERS ")::text, 'UTF8')",
	"SELECT convert_to(profstore.flamegraph_json(" RANGE ", " FILTERS ")::text, 'UTF8')",
	"SELECT convert_to(profstore.firefox_profile(" RANGE ", " FILTERS ")::text, 'UTF8')",
	"SELECT convert_to(profstore.flamegraph_html(" RANGE ", " FILTERS "), 'UTF8')",
};

static int
write_to(FILE *output, const char *bytes, size_t length)
{
	int err = fwrite(bytes, 1, length, output) == length ? 0 : errno;

	if ((output == stdout ? fflush(output) : fclose(output)) != 0 && err == 0)
		err = errno;
	return err;
}

/* Writes to a new or existing file. If that fails, removes a new file. */
static int
export_write_file(const char *file, const char *bytes, size_t length)
{
	FILE *output = fopen(file, "wxe");
	bool is_new = output != NULL;
	int err;

	if (!is_new && errno == EEXIST)
		output = fopen(file, "we");
	if (output == NULL)
		return errno;
	err = write_to(output, bytes, length);
	if (err != 0 && is_new)
		unlink(file);
	return err;
}

static ExitCode
write_result(const char *file, const Result *result, Failure *failure)
{
	size_t length;
	const char *bytes = result_bytes(result, 0, &length);
	bool is_standard = file == NULL || strcmp(file, "-") == 0;
	int err =
		is_standard ? write_to(stdout, bytes, length) : export_write_file(file, bytes, length);

	if (err == 0)
		return EXIT_OK;
	failure_set(failure, EXIT_IO, "could not write file");
	failure_detail(failure, "%s: %s.", is_standard ? "standard output" : file, strerror(err));
	return failure->code;
}

/* Returns true if compressed bytes would be written to a terminal without an explicit request. */
static bool
spoils_terminal(const ExchangeOptions *options)
{
	return options->output == NULL && options->format == FORMAT_PPROF && isatty(STDOUT_FILENO);
}

/* Runs the statement of the format and writes its result. */
static ExitCode
run_export(Connection *connection, const ExchangeOptions *options, Failure *failure)
{
	const char *texts[PARAM_COUNT] = { options->selector, options->from,   options->to,
									   options->focus,	  options->ignore, options->show,
									   options->hide,	  options->trace,  options->span };
	Buffer params[PARAM_COUNT] = { 0 };
	Statement statement = { .sql = statements[options->format],
							.failure = "could not export",
							.param_count = PARAM_COUNT };
	Result *result = NULL;
	DbError error;
	ExitCode code;

	for (int i = 0; i < PARAM_COUNT; i++)
	{
		const char *text = texts[i] == NULL ? "" : texts[i];

		buffer_put_bytes(&params[i], text, strlen(text));
		statement.params[i] = (StatementParam){ WIRE_TEXT, &params[i] };
	}
	if (connection_run(connection, &statement, 1, &result, &error) == DB_OK)
	{
		code = write_result(options->output, result, failure);
		result_free(result);
	}
	else
	{
		*failure = error.failure;
		/* malformed selector, time or expression */
		if (strncmp(error.sqlstate, "22", 2) == 0 || strcmp(error.sqlstate, "42601") == 0)
			failure->code = EXIT_CONFIG;
		if (strcmp(error.sqlstate, "22007") == 0)
			failure_hint(failure,
						 "--from and --to accept PostgreSQL's time formats, such as yesterday "
						 "or '2026-01-31 12:00'.");
		code = failure->code;
	}
	for (int i = 0; i < PARAM_COUNT; i++)
		buffer_fini(&params[i]);
	return code;
}

ExitCode
export_run(const ExchangeOptions *options)
{
	Connection connection = { .wake_fd = -1 };
	Failure failure;
	DbError error;
	ExitCode code;

	if (options->selector == NULL)
	{
		code = failure_set(&failure, EXIT_USAGE, "no selector given");
		failure_hint(&failure, "Set --selector to a profile type (SELECT profile_type FROM "
							   "profstore.profile_types()), with labels in braces after it.");
	}
	else if (spoils_terminal(options))
	{
		code = failure_set(&failure, EXIT_USAGE, "standard output is a terminal");
		failure_hint(&failure, "Use --output FILE, or --output - to write it to the terminal.");
	}
	else if (connection_open(&connection, options->database, &error) != DB_OK)
	{
		failure = error.failure;
		code = failure.code;
	}
	else
	{
		connection_log_notices(&connection, MODULE);
		code = run_export(&connection, options, &failure);
	}
	if (code != EXIT_OK)
		failure_log(&failure, MODULE);
	connection_close(&connection);
	return code;
}
