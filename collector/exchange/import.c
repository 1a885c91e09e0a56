/*
 * import.c
 *		"import FILE…": bytes of files to the functions that import them.
 */
#include "exchange/exchange.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/progress.h"
#include "database/connection.h"
#include "database/wire.h"

#define MODULE "import"

/* A parameter of a statement has room for 1 GB. */
#define FILE_BYTES_MAX ((size_t) 1000 * 1000 * 1000)
#define READ_BYTES	   ((size_t) 256 * 1024)

/* How much of a file is looked at for its format. */
#define PROBE_BYTES 4096

/* By ImportFormat. A time that is missing comes as an empty text. */
static const char *const statements[] = {
	NULL,
	"SELECT profstore.import_pprof($1, $2::jsonb, nullif($3, '')::timestamptz)",
	"SELECT profstore.import_folded(convert_from($1, 'UTF8'), $2::jsonb, nullif($3, '')::timestamptz)",
	"SELECT profstore.import_perf_script(convert_from($1, 'UTF8'), $2::jsonb, "
	"nullif($3, '')::timestamptz)",
};

static const char *const format_names[] = { "auto", "pprof", "folded", "perf-script" };

/* True for a line as folded stacks have it: something, a blank, a number. */
static bool
looks_folded(const char *line, size_t length)
{
	size_t digits = 0;

	while (length > 0 && (line[length - 1] == '\r' || line[length - 1] == ' '))
		length--;
	while (digits < length && line[length - 1 - digits] >= '0' && line[length - 1 - digits] <= '9')
		digits++;
	return digits > 0 && digits < length && line[length - 1 - digits] == ' ';
}

ImportFormat
import_format_of(const char *bytes, size_t length)
{
	size_t probed = length < PROBE_BYTES ? length : PROBE_BYTES;

	/* text has none of the control characters that gzip and protobuf begin with */
	for (size_t i = 0; i < probed; i++)
	{
		unsigned char c = (unsigned char) bytes[i];

		if (c < ' ' && c != '\t' && c != '\n' && c != '\r')
			return IMPORT_PPROF;
	}
	for (size_t begin = 0; begin < probed;)
	{
		const char *line = bytes + begin;
		const char *end = memchr(line, '\n', length - begin);
		size_t line_length = end == NULL ? length - begin : (size_t) (end - line);

		if (line_length > 0 && line[0] != '#' && line[0] != '\r')
			return looks_folded(line, line_length) ? IMPORT_FOLDED : IMPORT_PERF_SCRIPT;
		begin += line_length + 1;
	}
	return IMPORT_FOLDED;
}

static void
append_json(Buffer *json, const char *text, size_t length)
{
	buffer_put_bytes(json, "\"", 1);
	for (size_t i = 0; i < length; i++)
	{
		char escaped[8];
		unsigned char c = (unsigned char) text[i];

		if (c == '"' || c == '\\' || c < ' ')
		{
			snprintf(escaped, sizeof(escaped), "\\u%04x", c);
			buffer_put_bytes(json, escaped, strlen(escaped));
		}
		else
			buffer_put_bytes(json, text + i, 1);
	}
	buffer_put_bytes(json, "\"", 1);
}

char *
import_labels_json(const char *labels, Failure *failure)
{
	Buffer json = { 0 };

	buffer_put_bytes(&json, "{", 1);
	for (const char *at = labels; *at != '\0';)
	{
		size_t length = strcspn(at, ",");
		const char *equals = memchr(at, '=', length);

		if (equals == NULL || equals == at)
		{
			failure_set(failure, EXIT_CONFIG, "a flag's value cannot be used");
			failure_detail(failure, "--labels does not take \"%.*s\".", (int) length, at);
			failure_hint(failure, "It takes a list such as service=api,version=1.2.");
			buffer_fini(&json);
			return NULL;
		}
		if (json.length > 1)
			buffer_put_bytes(&json, ",", 1);
		append_json(&json, at, (size_t) (equals - at));
		buffer_put_bytes(&json, ":", 1);
		append_json(&json, equals + 1, length - (size_t) (equals + 1 - at));
		at += length + (at[length] == ',');
	}
	buffer_put_bytes(&json, "}", 2);
	if (json.failed)
	{
		failure_set(failure, EXIT_INTERNAL, "out of memory");
		buffer_fini(&json);
		return NULL;
	}
	return json.bytes;
}

static ExitCode
read_failed(const char *file, const char *reason, Failure *failure)
{
	failure_set(failure, EXIT_IO, "could not read file");
	failure_detail(failure, "%s: %s.", file, reason);
	return failure->code;
}

static ExitCode
read_file(const char *file, Buffer *content, Failure *failure)
{
	FILE *input = strcmp(file, "-") == 0 ? stdin : fopen(file, "re");
	ExitCode code = EXIT_OK;

	if (input == NULL)
		return read_failed(file, strerror(errno), failure);
	buffer_reset(content);
	while (code == EXIT_OK && !feof(input))
	{
		char *room = buffer_extend(content, READ_BYTES);
		size_t got = room == NULL ? 0 : fread(room, 1, READ_BYTES, input);

		if (room == NULL)
			code = failure_set(failure, EXIT_INTERNAL, "out of memory");
		else if (ferror(input))
			code = read_failed(file, strerror(errno), failure);
		content->length -= room == NULL ? 0 : READ_BYTES - got;
		if (code == EXIT_OK && content->length > FILE_BYTES_MAX)
			code = read_failed(file, "It is larger than 1 GB", failure);
	}
	if (input != stdin)
		fclose(input);
	return code;
}

static ExitCode
import_file(Connection *connection, const ExchangeOptions *options, const char *labels,
			const char *file, Buffer *content, int64_t *samples, Failure *failure)
{
	Buffer labels_param = { 0 };
	Buffer at_param = { 0 };
	Result *result = NULL;
	Statement statement = { .failure = "could not import file", .param_count = 3 };
	DbError error;
	DbOutcome outcome;
	int format = options->format;
	ExitCode code = read_file(file, content, failure);

	if (code != EXIT_OK)
		return code;
	if (format == IMPORT_AUTO)
		format = (int) import_format_of(content->bytes, content->length);
	buffer_put_bytes(&labels_param, labels, strlen(labels));
	buffer_put_bytes(&at_param, options->at ? options->at : "",
					 options->at ? strlen(options->at) : 0);
	statement.sql = statements[format];
	statement.params[0] = (StatementParam){ WIRE_BYTEA, content };
	statement.params[1] = (StatementParam){ WIRE_TEXT, &labels_param };
	statement.params[2] = (StatementParam){ WIRE_TEXT, &at_param };
	outcome = connection_run(connection, &statement, 1, &result, &error);
	if (outcome == DB_OK)
	{
		*samples = result_int8(result, 0);
		printf("%s: %s, %" PRId64 " samples\n", file, format_names[format], *samples);
		result_free(result);
	}
	else
	{
		*failure = error.failure;
		/* the file is at fault, not the database */
		if (outcome == DB_REFUSED)
			failure->code = EXIT_IO;
		failure_detail(failure, "%s: %s", file, error.failure.detail);
		if (options->format == IMPORT_AUTO && error.failure.hint[0] == '\0')
			failure_hint(failure, "By its content it was taken for %s: --format says what it is.",
						 format_names[format]);
		code = failure->code;
	}
	buffer_fini(&labels_param);
	buffer_fini(&at_param);
	return code;
}

ExitCode
import_run(const ExchangeOptions *options, char **files, size_t file_count)
{
	Connection connection = { .wake_fd = -1 };
	Buffer content = { 0 };
	Failure failure;
	DbError error;
	int64_t samples = 0;
	ExitCode code = EXIT_OK;
	char *labels = import_labels_json(options->labels, &failure);

	if (file_count == 0)
	{
		code = failure_set(&failure, EXIT_USAGE, "no file given");
		failure_hint(&failure, "Name the files after the flags; - is standard input.");
	}
	else if (labels == NULL)
		code = failure.code;
	else if (connection_open(&connection, options->database, &error) != DB_OK)
	{
		failure = error.failure;
		code = failure.code;
	}
	else
		connection_log_notices(&connection, MODULE);
	for (size_t i = 0; code == EXIT_OK && i < file_count; i++)
	{
		int64_t added = 0;
		char text[64];

		code = import_file(&connection, options, labels, files[i], &content, &added, &failure);
		samples += added;
		snprintf(text, sizeof(text), "%zu of %zu files, %" PRId64 " samples", i + 1, file_count,
				 samples);
		progress_draw((int64_t) (i + 1), (int64_t) file_count, text);
	}
	if (file_count > 0)
		progress_end();
	if (code != EXIT_OK)
		failure_log(&failure, MODULE);
	connection_close(&connection);
	buffer_fini(&content);
	free(labels);
	return code;
}
