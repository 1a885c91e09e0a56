/*
 * source_batch.c
 *		Reads texts, and calls put_sources() for some together.
 */
#include "debuginfo/source_batch.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/utf8.h"

#define BATCH_BYTES (8U << 20)
#define BATCH_FILES 256

/*
 * Reads the text of a file, which the caller frees. Returns NULL if it is too large or not text.
 * Invalid UTF-8 is replaced.
 */
static char *
source_text_read(int fd)
{
	struct stat status;
	char *bytes = NULL;
	char *text = NULL;
	ssize_t got = -1;

	if (fd < 0 || fstat(fd, &status) != 0)
		return NULL;
	if (status.st_size <= (off_t) SOURCE_TEXT_BYTES)
		bytes = malloc((size_t) status.st_size + 1);
	if (bytes != NULL)
		got = pread(fd, bytes, (size_t) status.st_size, 0);
	if (got == status.st_size)
	{
		bytes[got] = '\0';
		if (strlen(bytes) == (size_t) got)
			text = utf8_replace_invalid(bytes);
	}
	free(bytes);
	if (text != NULL && strlen(text) > SOURCE_TEXT_BYTES)
	{
		free(text);
		text = NULL;
	}
	return text;
}

/* Sends the batch, and empties it. */
static DbOutcome
source_batch_send(SourceBatch *batch, DbError *error)
{
	Buffer origin = { NULL };
	Buffer paths = { NULL };
	Buffer texts = { NULL };
	const Statement statement = {
		.sql = "SELECT profstore.put_sources($1, $2, $3)",
		.failure = "could not store source files",
		.keep = true,
		.param_count = 3,
		.params = { { WIRE_TEXT, &origin },
					{ WIRE_TEXT_ARRAY, &paths },
					{ WIRE_TEXT_ARRAY, &texts } },
	};
	DbOutcome outcome = DB_OK;

	if (batch->waiting > 0)
	{
		buffer_put_bytes(&origin, batch->origin, strlen(batch->origin));
		wire_array_of(&paths, WIRE_TEXT, batch->waiting, &batch->paths);
		wire_array_of(&texts, WIRE_TEXT, batch->waiting, &batch->texts);
		outcome = connection_execute(batch->connection, &statement, error);
		if (outcome == DB_OK)
			batch->count->stored += batch->waiting;
	}
	buffer_fini(&origin);
	buffer_fini(&paths);
	buffer_fini(&texts);
	buffer_reset(&batch->paths);
	buffer_reset(&batch->texts);
	batch->waiting = 0;
	return outcome;
}

DbOutcome
source_batch_add(SourceBatch *batch, const char *path, int fd, DbError *error)
{
	char *text = source_text_read(fd);
	char *name = text != NULL ? utf8_replace_invalid(path) : NULL;
	const bool is_good = name != NULL && name[0] != '\0' && strlen(name) <= SOURCE_PATH_BYTES;

	if (is_good)
	{
		wire_text_element(&batch->paths, name);
		wire_text_element(&batch->texts, text);
		batch->waiting++;
	}
	batch->count->missing += !is_good;
	free(name);
	free(text);
	return batch->waiting == BATCH_FILES || batch->texts.length > BATCH_BYTES
			   ? source_batch_send(batch, error)
			   : DB_OK;
}

DbOutcome
source_batch_end(SourceBatch *batch, DbOutcome outcome, DbError *error)
{
	if (outcome == DB_OK)
		outcome = source_batch_send(batch, error);
	buffer_fini(&batch->paths);
	buffer_fini(&batch->texts);
	return outcome;
}
