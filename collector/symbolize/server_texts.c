/*
 * server_texts.c
 *		Asks for the missing paths, fetches one after the other, stores some together.
 */
#include "symbolize/server_texts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "debuginfo/source_batch.h"
#include "program/stop_signals.h"

#define MODULE "symbolize"

#define FILES_MAX  500 /* limit for a build in one round */
#define MISSES_MAX 16  /* one after the other: the servers do not have the build's sources */
#define TIME_NS	   (60 * NS_PER_S)

/* Reads the missing paths, one a line, into *paths, which the caller frees. */
static DbOutcome
read_missing(Connection *connection, const char *build_id, char **paths, DbError *error)
{
	Buffer id = { NULL };
	Buffer limit = { NULL };
	const Statement statement = {
		.sql = "SELECT coalesce(string_agg(path, E'\\n' ORDER BY place), '') "
			   "FROM profstore.missing_sources($1, $2) WITH ORDINALITY AS m(path, place) "
			   "WHERE strpos(path, E'\\n') = 0",
		.failure = "could not look for missing source files",
		.keep = true,
		.param_count = 2,
		.params = { { WIRE_TEXT, &id }, { WIRE_INT4, &limit } },
	};
	Result *result = NULL;
	DbOutcome outcome;

	buffer_put_bytes(&id, build_id, strlen(build_id));
	buffer_put_int4(&limit, FILES_MAX);
	outcome = connection_run(connection, &statement, 1, &result, error);
	buffer_fini(&id);
	buffer_fini(&limit);
	*paths = outcome == DB_OK ? strdup(result_bytes(result, 0, NULL)) : NULL;
	result_free(result);
	if (outcome != DB_OK || *paths != NULL)
		return outcome;
	db_error_set(error, NULL, "out of memory", NULL, NULL);
	return DB_REFUSED;
}

/* Fetches the files of paths, one a line, and stores them. */
static DbOutcome
fetch_texts(SourceBatch *batch, DebugSource *source, char *paths, DbError *error)
{
	const int64_t end_ns = clock_ns(CLOCK_MONOTONIC) + TIME_NS;
	DbOutcome outcome = DB_OK;
	int misses = 0;
	char *rest = paths;
	char *path;

	while (outcome == DB_OK && misses < MISSES_MAX && !stop_asked() &&
		   clock_ns(CLOCK_MONOTONIC) < end_ns && (path = strsep(&rest, "\n")) != NULL)
	{
		int fd = path[0] != '\0' ? debug_source_fetch_text(source, batch->origin, path) : -ENOENT;

		if (fd == -EHOSTDOWN)
			break;
		misses = fd < 0 ? misses + 1 : 0;
		if (path[0] != '\0')
			outcome = source_batch_add(batch, path, fd, error);
		if (fd >= 0)
			close(fd);
	}
	return source_batch_end(batch, outcome, error);
}

DbOutcome
server_texts_store(Connection *connection, DebugSource *source, const char *build_id,
				   DbError *error)
{
	SourceCount count = { 0 };
	SourceBatch batch = { .connection = connection, .origin = build_id, .count = &count };
	char *paths;
	DbOutcome outcome = read_missing(connection, build_id, &paths, error);

	if (outcome == DB_OK)
		outcome = fetch_texts(&batch, source, paths, error);
	if (count.stored + count.missing > 0)
		log_event(LOG_INFO, MODULE, "fetched source files of a build",
				  log_text("build_id", build_id), log_number("stored", (int64_t) count.stored),
				  log_number("missing", (int64_t) count.missing));
	free(paths);
	return outcome;
}
