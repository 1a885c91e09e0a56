/*
 * uploaded_file.c
 *		Reads an upload chunk by chunk.
 */
#include "symbolize/uploaded_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "base/cache_directory.h"
#include "base/log.h"
#include "base/regular_file.h"
#include "debuginfo/debug_upload.h"

#define MODULE "symbolize"

typedef struct Upload
{
	int64_t id; /* 0: there is no upload */
	int64_t chunks;
	char name[256];
} Upload;

static DbOutcome
uploaded_find(Connection *connection, const char *build_id, Upload *upload, DbError *error)
{
	Buffer build = { NULL };
	const Statement statement = {
		.sql =
			"SELECT coalesce(max(id), 0), coalesce(max(chunks), 0)::int8, coalesce(max(name), '') "
			"FROM (SELECT * FROM profstore.find_debuginfo($1) LIMIT 1) AS d",
		.failure = "could not search for uploaded debug information",
		.keep = true,
		.param_count = 1,
		.params = { { WIRE_TEXT, &build } },
	};
	Result *result = NULL;
	DbOutcome outcome;

	buffer_put_bytes(&build, build_id, strlen(build_id));
	outcome = connection_run(connection, &statement, 1, &result, error);
	buffer_fini(&build);
	if (outcome != DB_OK)
		return outcome;
	upload->id = result_int8(result, 0);
	upload->chunks = result_int8(result, 1);
	snprintf(upload->name, sizeof(upload->name), "%s", result_bytes(result, 2, NULL));
	result_free(result);
	return DB_OK;
}

/*
 * Appends a chunk to the file. Sets *is_good to false if the chunk is not a zstd frame of the right
 * size.
 */
static DbOutcome
copy_chunk(Connection *connection, const Upload *upload, int64_t number, int fd, char *plain,
		   bool *is_good, DbError *error)
{
	Buffer id = { NULL };
	Buffer at = { NULL };
	const Statement statement = { .sql = "SELECT profstore.read_debuginfo($1, $2)",
								  .failure = "could not read uploaded debug information",
								  .keep = true,
								  .param_count = 2,
								  .params = { { WIRE_INT8, &id }, { WIRE_INT4, &at } } };
	Result *result = NULL;
	DbOutcome outcome;
	size_t length;
	size_t unpacked;

	buffer_put_int8(&id, upload->id);
	buffer_put_int4(&at, (int32_t) number);
	outcome = connection_run(connection, &statement, 1, &result, error);
	buffer_fini(&id);
	buffer_fini(&at);
	if (outcome != DB_OK)
		return outcome;
	result_bytes(result, 0, &length);
	unpacked = ZSTD_decompress(plain, DEBUG_CHUNK_BYTES, result_bytes(result, 0, NULL), length);
	*is_good = length > 0 && !ZSTD_isError(unpacked) &&
			   (unpacked == DEBUG_CHUNK_BYTES || number == upload->chunks - 1) &&
			   cache_file_write(fd, plain, unpacked) == 0;
	result_free(result);
	return DB_OK;
}

DbOutcome
uploaded_file_open(Connection *connection, const char *build_id, DebugFile *file, DbError *error)
{
	Upload upload = { 0 };
	DbOutcome outcome = uploaded_find(connection, build_id, &upload, error);
	bool is_good = true;
	char *plain;

	*file = (DebugFile){ .fd = -1 };
	if (outcome != DB_OK || upload.id == 0)
		return outcome;
	plain = malloc(DEBUG_CHUNK_BYTES);
	file->fd = scratch_file_open();
	is_good = plain != NULL && file->fd >= 0;
	for (int64_t i = 0; outcome == DB_OK && is_good && i < upload.chunks; i++)
		outcome = copy_chunk(connection, &upload, i, file->fd, plain, &is_good, error);
	free(plain);
	is_good = is_good && outcome == DB_OK && debug_file_is_of(file->fd, build_id);
	snprintf(file->where, sizeof(file->where), "uploaded: %s", upload.name);
	if (is_good)
		return DB_OK;
	if (file->fd >= 0)
		close(file->fd);
	file->fd = -1;
	if (outcome == DB_OK)
		log_event(LOG_WARNING, MODULE, "could not use an upload", log_text("build_id", build_id),
				  log_text("file", upload.name));
	return outcome;
}
