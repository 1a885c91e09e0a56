/*
 * debug_upload.c
 *		Announces the digest of all chunks, sends the chunks that are missing, and makes the
 *		database check them.
 */
#include "debuginfo/debug_upload.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/read_at.h"

#define LEVEL		 6
#define DIGEST_BYTES 32
#define CHUNKS_MAX	 1024

static const char unreadable[] = "could not read debug information";

/* A file whose chunks are compressed one after the other. */
typedef struct Sending
{
	int fd;
	int64_t bytes;
	int32_t chunks;
	char *plain;
	Buffer payload; /* compressed bytes of the last chunk */
	ZSTD_CCtx *compressor;
} Sending;

static bool
sending_init(Sending *sending, int fd)
{
	struct stat status;

	*sending = (Sending){ .fd = fd };
	if (fstat(fd, &status) != 0 || status.st_size == 0)
		return false;
	sending->bytes = status.st_size;
	sending->chunks = (int32_t) ((status.st_size + DEBUG_CHUNK_BYTES - 1) / DEBUG_CHUNK_BYTES);
	sending->plain = malloc(DEBUG_CHUNK_BYTES);
	sending->compressor = ZSTD_createCCtx();
	return sending->plain != NULL && sending->compressor != NULL;
}

static void
sending_fini(Sending *sending)
{
	free(sending->plain);
	buffer_fini(&sending->payload);
	ZSTD_freeCCtx(sending->compressor);
}

/* Compresses a chunk. Equal bytes give equal compressed bytes. */
static bool
compress_chunk(Sending *sending, int32_t number)
{
	off_t offset = (off_t) number * DEBUG_CHUNK_BYTES;
	size_t length = sending->bytes - offset < DEBUG_CHUNK_BYTES ? (size_t) (sending->bytes - offset)
																: DEBUG_CHUNK_BYTES;
	size_t bound = ZSTD_compressBound(length);
	size_t compressed;
	char *room;

	if (read_at(sending->fd, (uint64_t) offset, sending->plain, length) != 0)
		return false;
	buffer_reset(&sending->payload);
	room = buffer_extend(&sending->payload, bound);
	if (room == NULL)
		return false;
	compressed = ZSTD_compressCCtx(sending->compressor, room, bound, sending->plain, length, LEVEL);
	if (ZSTD_isError(compressed))
		return false;
	sending->payload.length = compressed;
	return true;
}

/* Computes the SHA-256 over the SHA-256 of each chunk. */
static bool
find_digest(Sending *sending, Buffer *digest)
{
	unsigned char each[DIGEST_BYTES];
	unsigned char whole[DIGEST_BYTES];
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	bool is_good = context != NULL && EVP_DigestInit_ex(context, EVP_sha256(), NULL) == 1;

	for (int32_t i = 0; is_good && i < sending->chunks; i++)
		is_good = compress_chunk(sending, i) &&
				  EVP_Digest(sending->payload.bytes, sending->payload.length, each, NULL,
							 EVP_sha256(), NULL) == 1 &&
				  EVP_DigestUpdate(context, each, sizeof(each)) == 1;
	is_good = is_good && EVP_DigestFinal_ex(context, whole, NULL) == 1;
	EVP_MD_CTX_free(context);
	if (is_good)
		buffer_put_bytes(digest, whole, sizeof(whole));
	return is_good;
}

/* State of an upload in the database. */
typedef struct Begun
{
	int64_t id;
	bool is_ready;
	size_t missing_count;
	int64_t missing[CHUNKS_MAX];
} Begun;

static DbOutcome
begin_upload(Connection *connection, const DebugUpload *upload, const Buffer *digest, Begun *begun,
			 DbError *error)
{
	Buffer build_id = { NULL };
	Buffer bytes = { NULL };
	Buffer name = { NULL };
	Buffer tenant = { NULL };
	Buffer has_lines = { NULL };
	Buffer hash = { NULL };
	const Statement statement = {
		.sql = "SELECT id, is_ready, cardinality(missing)::int8, missing "
			   "FROM profstore.begin_debuginfo($1, $2, $3, $4, $5, $6 <> 0, $7)",
		.failure = "could not upload debug information",
		.keep = true,
		.param_count = 7,
		.params = { { WIRE_TEXT, &build_id },
					{ WIRE_BYTEA, digest },
					{ WIRE_INT8, &bytes },
					{ WIRE_TEXT, &name },
					{ WIRE_TEXT, &tenant },
					{ WIRE_INT4, &has_lines },
					{ WIRE_TEXT, &hash } },
	};
	Result *result = NULL;
	DbOutcome outcome;
	size_t length;
	const char *missing;

	buffer_put_bytes(&build_id, upload->build_id, strlen(upload->build_id));
	buffer_put_int8(&bytes, upload->bytes);
	buffer_put_bytes(&name, upload->name, strlen(upload->name));
	buffer_put_bytes(&tenant, upload->tenant, strlen(upload->tenant));
	buffer_put_int4(&has_lines, upload->has_lines);
	buffer_put_bytes(&hash, upload->hash, strlen(upload->hash));
	outcome = connection_run(connection, &statement, 1, &result, error);
	buffer_fini(&build_id);
	buffer_fini(&bytes);
	buffer_fini(&name);
	buffer_fini(&tenant);
	buffer_fini(&has_lines);
	buffer_fini(&hash);
	if (outcome != DB_OK)
		return outcome;
	begun->id = result_int8(result, 0);
	begun->is_ready = result_is(result, 1, true);
	begun->missing_count = (size_t) result_int8(result, 2);
	missing = result_bytes(result, 3, &length);
	if (begun->missing_count > CHUNKS_MAX ||
		!wire_ints(missing, length, WIRE_INT4, begun->missing_count, begun->missing))
	{
		db_error_set(error, NULL, "could not upload debug information",
					 "The answer of the server is invalid.", NULL);
		outcome = DB_REFUSED;
	}
	result_free(result);
	return outcome;
}

static DbOutcome
send_chunk(Connection *connection, int64_t upload, int32_t number, const Buffer *payload,
		   DbError *error)
{
	Buffer id = { NULL };
	Buffer at = { NULL };
	const Statement statement = {
		.sql = "SELECT profstore.put_debuginfo($1, $2, $3)",
		.failure = "could not upload debug information",
		.keep = true,
		.param_count = 3,
		.params = { { WIRE_INT8, &id }, { WIRE_INT4, &at }, { WIRE_BYTEA, payload } },
	};
	DbOutcome outcome;

	buffer_put_int8(&id, upload);
	buffer_put_int4(&at, number);
	outcome = connection_execute(connection, &statement, error);
	buffer_fini(&id);
	buffer_fini(&at);
	return outcome;
}

static DbOutcome
finish_upload(Connection *connection, int64_t upload, DbError *error)
{
	Buffer id = { NULL };
	const Statement statement = { .sql = "SELECT profstore.finish_debuginfo($1)",
								  .failure = "could not upload debug information",
								  .keep = true,
								  .param_count = 1,
								  .params = { { WIRE_INT8, &id } } };
	Result *result = NULL;
	DbOutcome outcome;

	buffer_put_int8(&id, upload);
	outcome = connection_run(connection, &statement, 1, &result, error);
	buffer_fini(&id);
	if (outcome != DB_OK)
		return outcome;
	if (!result_is(result, 0, true))
	{
		db_error_set(error, NULL, "could not upload debug information",
					 "The stored bytes differ from the sent ones, or another client removed them.",
					 "Upload the file again.");
		outcome = DB_REFUSED;
	}
	result_free(result);
	return outcome;
}

static DbOutcome
send_missing(Connection *connection, Sending *sending, const Begun *begun, DebugUpload *upload,
			 DbError *error)
{
	DbOutcome outcome = DB_OK;

	for (size_t i = 0; outcome == DB_OK && i < begun->missing_count; i++)
	{
		int32_t number = (int32_t) begun->missing[i];

		if (!compress_chunk(sending, number))
		{
			db_error_set(error, NULL, unreadable, NULL, NULL);
			return DB_REFUSED;
		}
		outcome = send_chunk(connection, begun->id, number, &sending->payload, error);
		upload->sent_bytes += (int64_t) sending->payload.length;
	}
	return outcome == DB_OK ? finish_upload(connection, begun->id, error) : outcome;
}

DbOutcome
debug_upload(Connection *connection, int fd, DebugUpload *upload, DbError *error)
{
	Buffer digest = { NULL };
	DbOutcome outcome = DB_REFUSED;
	Begun begun = { 0 };
	Sending sending;

	if (sending_init(&sending, fd) && find_digest(&sending, &digest))
	{
		upload->bytes = sending.bytes;
		outcome = begin_upload(connection, upload, &digest, &begun, error);
		upload->was_there = outcome == DB_OK && begun.is_ready;
		if (outcome == DB_OK && !begun.is_ready)
			outcome = send_missing(connection, &sending, &begun, upload, error);
	}
	else
		db_error_set(error, NULL, unreadable, NULL, NULL);
	buffer_fini(&digest);
	sending_fini(&sending);
	return outcome;
}

static DebugState
state_of(const char *text)
{
	static const char *const names[] = { [DEBUG_ABSENT] = "absent",
										 [DEBUG_POOR] = "poor",
										 [DEBUG_EQUAL] = "equal",
										 [DEBUG_READY] = "ready" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(text, names[i]) == 0)
			return (DebugState) i;
	return DEBUG_NOT_KNOWN;
}

DbOutcome
debug_upload_state(Connection *connection, const char *build_id, const char *tenant,
				   const char *hash, DebugState *state, DbError *error)
{
	Buffer build = { NULL };
	Buffer client = { NULL };
	Buffer known = { NULL };
	const Statement statement = {
		.sql = "SELECT profstore.debuginfo_state($1, $2, $3)",
		.failure = "could not search for debug information",
		.keep = true,
		.param_count = 3,
		.params = { { WIRE_TEXT, &build }, { WIRE_TEXT, &client }, { WIRE_TEXT, &known } },
	};
	Result *result = NULL;
	DbOutcome outcome;

	*state = DEBUG_NOT_KNOWN;
	buffer_put_bytes(&build, build_id, strlen(build_id));
	buffer_put_bytes(&client, tenant, strlen(tenant));
	buffer_put_bytes(&known, hash, strlen(hash));
	outcome = connection_run(connection, &statement, 1, &result, error);
	buffer_fini(&build);
	buffer_fini(&client);
	buffer_fini(&known);
	if (outcome != DB_OK)
		return outcome;
	*state = state_of(result_bytes(result, 0, NULL));
	result_free(result);
	return DB_OK;
}
