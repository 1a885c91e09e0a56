/*
 * debug_find.c
 *		Searches for debug information in the database, then in the sources of "symbolize".
 */
#include "debuginfo/command/debug_find.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "database/connection.h"
#include "debuginfo/debug_content.h"
#include "program/stop_signals.h"
#include "symbolize/debug_source.h"
#include "uploads/upload_messages.h"

typedef struct Finding
{
	Connection connection;
	DebugSource *source;
	size_t missing; /* number of builds without debug information */
} Finding;

/* Prints the uploads for a build, the best first. *found is set to their number. */
static DbOutcome
print_uploads(Finding *finding, const char *build_id, int64_t *found, DbError *error)
{
	Buffer build = { NULL };
	const Statement statement = {
		.sql = "SELECT count(*), convert_to(coalesce(string_agg(format(E'%s  uploaded  %s  %s\\n', "
			   "d.build_id, CASE WHEN d.has_lines THEN 'lines' ELSE 'symbols' END, d.name), '' "
			   "ORDER BY d.has_lines DESC, d.tenant = '' DESC, d.finished DESC, d.id DESC), ''), "
			   "'UTF8') FROM profstore.debuginfo AS d "
			   "WHERE d.build_id = $1 AND d.state = 'ready' AND d.role = current_user",
		.failure = "could not search for uploaded debug information",
		.keep = true,
		.param_count = 1,
		.params = { { WIRE_TEXT, &build } },
	};
	Result *result = NULL;
	DbOutcome outcome;

	buffer_put_bytes(&build, build_id, strlen(build_id));
	outcome = connection_run(&finding->connection, &statement, 1, &result, error);
	buffer_fini(&build);
	if (outcome != DB_OK)
		return outcome;
	*found = result_int8(result, 0);
	fputs(result_bytes(result, 1, NULL), stdout);
	result_free(result);
	return DB_OK;
}

/*
 * Prints the first source that has the file: directory, cache or server. Returns false if none has
 * it.
 */
static bool
print_source(Finding *finding, const char *build_id, bool is_uploaded)
{
	DebugContent content;
	DebugFile file;

	debug_source_find(finding->source, build_id, &file);
	if (file.fd >= 0)
	{
		const bool is_good = debug_content_read(file.fd, &content) == 0;

		close(file.fd);
		printf("%s  found  %s  %s\n", build_id, is_good && content.has_lines ? "lines" : "symbols",
			   file.where);
	}
	else if (!is_uploaded)
		printf("%s  none  -  %s\n", build_id, file.where);
	return file.fd >= 0;
}

static DbOutcome
find_build(Finding *finding, const char *build_id, DbError *error)
{
	int64_t uploaded = 0;
	DbOutcome outcome = print_uploads(finding, build_id, &uploaded, error);

	if (outcome == DB_OK && !print_source(finding, build_id, uploaded > 0) && uploaded == 0)
		finding->missing++;
	return outcome;
}

/* Reads the build ID of an operand. Returns false, with the reason in *failure, if it has none. */
static bool
read_operand(const char *operand, char build_id[ELF_BUILD_ID_TEXT_BYTES], Failure *failure)
{
	DebugContent content = { "" };
	int fd;

	if (upload_build_id(operand, strlen(operand), build_id))
		return true;
	fd = open(operand, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	failure_set(failure, EXIT_IO, "could not read a build ID");
	if (fd < 0)
		failure_detail(failure, "%s: %s.", operand, strerror(errno));
	else
	{
		if (debug_content_read(fd, &content) != 0 || content.build_id[0] == '\0')
			failure_detail(failure, "%s is not an ELF file with a build ID.", operand);
		close(fd);
	}
	memcpy(build_id, content.build_id, sizeof(content.build_id));
	return content.build_id[0] != '\0';
}

static ExitCode
find_all(Finding *finding, const SymbolizeOptions *options, char **operands, size_t count,
		 Failure *failure)
{
	char build_id[ELF_BUILD_ID_TEXT_BYTES];
	DbError error;
	DbOutcome outcome = connection_open(&finding->connection, options->database, &error);

	for (size_t i = 0; outcome == DB_OK && i < count && !stop_asked(); i++)
	{
		if (!read_operand(operands[i], build_id, failure))
			return failure->code;
		outcome = find_build(finding, build_id, &error);
	}
	if (outcome != DB_OK)
	{
		*failure = error.failure;
		return failure->code;
	}
	if (finding->missing == 0)
		return EXIT_OK;
	failure_set(failure, EXIT_IO, "some builds have no debug information");
	return failure->code;
}

ExitCode
debug_find(const SymbolizeOptions *options, char **operands, size_t count, Failure *failure)
{
	Finding finding = { .connection.wake_fd = -1 };
	const int error = debug_source_create(options, &finding.source);
	ExitCode code;

	if (error != 0)
	{
		failure_set(failure, error == -EINVAL ? EXIT_CONFIG : EXIT_IO,
					"could not set up the sources of debug information");
		failure_detail(failure, "%s.", strerror(-error));
		return failure->code;
	}
	code = find_all(&finding, options, operands, count, failure);
	connection_close(&finding.connection);
	debug_source_free(finding.source);
	return code;
}
