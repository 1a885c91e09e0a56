/*
 * import_lane.c
 *		A thread of an import.
 *
 * 1. A file is read, decoded and added to the current batch.
 * 2. A batch that is large enough goes to the writer. A lane has up to two batches in progress, so
 * that one is decoded while the other is stored; the writer does not merge them.
 * 3. The writer's callback reports stored files. Files of a refused batch are imported again one by
 * one by the server, so that each gets an error of its own.
 * 4. Files that only the server can decode go to the server as well.
 */
#include "exchange/import_lane.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "exchange/lz4_file.h"
#include "exchange/path_labels.h"
#include "formats/gunzip.h"
#include "writer/writer.h"

#define MODULE "import"

/* Limits of a batch, large enough to make the cost of a transaction negligible. */
#define BATCH_BYTES		((size_t) 8 * 1024 * 1024)
#define BATCH_SAMPLES	100000
#define BATCH_BYTES_MAX ((size_t) 256 * 1024 * 1024)
#define BATCHES_AT_ONCE 2
#define QUEUE_BYTES		(2 * BATCHES_AT_ONCE * BATCH_BYTES_MAX)
#define ID_CACHE_BYTES	((size_t) 128 * 1024 * 1024)
#define FILES_MIN		64
#define READ_BYTES		((size_t) 256 * 1024)

/* Number of attempts to import a file in the server if other sessions conflict with it. */
#define CONFLICT_ATTEMPTS 5

/* A statement's parameter has room for 1 GB. */
#define FILE_BYTES_MAX	   ((size_t) 1000 * 1000 * 1000)
#define UNPACKED_BYTES_MAX ((size_t) 256 * 1024 * 1024)

typedef struct LaneFile
{
	size_t index;
	ProfileFormat format;
	size_t samples;
} LaneFile;

/* A batch and the files that it contains. */
typedef struct LaneBatch
{
	struct LaneBatch *next; /* next refused batch */
	ImportLane *lane;
	Batch *batch; /* NULL once it is submitted */
	LaneFile *files;
	size_t count;
	size_t capacity;
} LaneBatch;

struct ImportLane
{
	Import *import;
	size_t number;
	pthread_t thread;
	Writer *writer;
	Connection connection; /* for files that the server decodes; opened when needed */
	LaneBatch *filling;	   /* NULL: no batch is being filled */
	Buffer content;
	Buffer json;
	GivenLabels labels; /* labels of the current file */

	/* Guarded by the import's lock. */
	unsigned under_way;
	LaneBatch *refused;
};

/* --- batches --- */

static void
lane_batch_free(LaneBatch *batch)
{
	if (batch == NULL)
		return;
	batch_free(batch->batch);
	free(batch->files);
	free(batch);
}

static LaneBatch *
lane_batch_create(ImportLane *lane)
{
	LaneBatch *batch = calloc(1, sizeof(LaneBatch));

	if (batch != NULL && batch_create(BATCH_BYTES_MAX, &batch->batch) == 0)
	{
		batch->lane = lane;
		return batch;
	}
	free(batch);
	return NULL;
}

static bool
lane_add_file(LaneBatch *batch, const LaneFile *file)
{
	size_t capacity = batch->capacity ? batch->capacity * 2 : FILES_MIN;

	if (batch->count == batch->capacity)
	{
		LaneFile *files = realloc(batch->files, capacity * sizeof(files[0]));

		if (files == NULL)
			return false;
		batch->files = files;
		batch->capacity = capacity;
	}
	batch->files[batch->count++] = *file;
	return true;
}

static void
lane_out_of_memory(ImportLane *lane)
{
	Failure failure;

	failure_out_of_memory(&failure);
	import_end(lane->import, &failure);
}

/* Called by the writer: reports stored files, and keeps a refused batch for import_refused(). */
static void
lane_on_batch_end(void *context, const BatchResult *result)
{
	LaneBatch *batch = context;
	ImportLane *lane = batch->lane;
	Import *import = lane->import;

	for (size_t i = 0; result->end == BATCH_STORED && i < batch->count; i++)
		import_stored(import, batch->files[i].index, batch->files[i].format,
					  (int64_t) batch->files[i].samples);
	pthread_mutex_lock(&import->lock);
	lane->under_way--;
	if (result->end == BATCH_REFUSED)
	{
		batch->next = lane->refused;
		lane->refused = batch;
		batch = NULL;
	}
	pthread_cond_broadcast(&import->changed);
	pthread_mutex_unlock(&import->lock);
	lane_batch_free(batch);
}

/* Ends the import because the writer has ended by itself. */
static bool
writer_has_ended(ImportLane *lane)
{
	Failure failure;

	if (writer_failure(lane->writer, &failure) == EXIT_OK)
		return false;
	import_end(lane->import, &failure);
	return true;
}

/*
 * Waits until at most "most" batches are in progress. Returns false if the import has ended with a
 * failure.
 */
static bool
wait_for_writer(ImportLane *lane, unsigned most)
{
	Import *import = lane->import;
	bool may_go_on = true;
	bool is_done = false;

	while (may_go_on && !is_done)
	{
		may_go_on = !writer_has_ended(lane);
		pthread_mutex_lock(&import->lock);
		is_done = lane->under_way <= most;
		if (may_go_on && !is_done)
			import_wait(import);
		if (import->give_up_ns != 0 && clock_ns(CLOCK_MONOTONIC) > import->give_up_ns)
			may_go_on = false;
		pthread_mutex_unlock(&import->lock);
	}
	return is_done;
}

/* Ends the import because the writer did not accept a batch. */
static void
report_not_submitted(ImportLane *lane, int err)
{
	Failure failure;

	if (err == -ENOMEM)
		lane_out_of_memory(lane);
	else if (!writer_has_ended(lane))
	{
		failure_set(&failure, EXIT_INTERNAL, "could not queue a batch");
		failure_detail(&failure, "%s.", strerror(-err));
		import_end(lane->import, &failure);
	}
}

/* Submits the current batch. Returns false if the import has ended with a failure. */
static bool
lane_submit(ImportLane *lane)
{
	LaneBatch *batch = lane->filling;
	const BatchCallback callback = { lane_on_batch_end, batch };
	Batch *content;
	int err;

	lane->filling = NULL;
	if (batch == NULL || batch->count == 0)
	{
		lane_batch_free(batch);
		return true;
	}
	if (!wait_for_writer(lane, BATCHES_AT_ONCE - 1))
	{
		lane_batch_free(batch);
		return false;
	}
	pthread_mutex_lock(&lane->import->lock);
	lane->under_way++;
	pthread_mutex_unlock(&lane->import->lock);
	content = batch->batch;
	batch->batch = NULL; /* from here on the writer owns the batch */
	err = writer_submit(lane->writer, content, &callback);
	if (err == 0)
		return true;
	batch_free(content);
	pthread_mutex_lock(&lane->import->lock);
	lane->under_way--;
	pthread_mutex_unlock(&lane->import->lock);
	lane_batch_free(batch);
	report_not_submitted(lane, err);
	return false;
}

/* --- one file --- */

static ExitCode
read_failed(const char *file, const char *reason, Failure *failure)
{
	return failure_of_file(failure, "could not read file", file, reason);
}

/* Reads a whole file, or standard input for "-". */
static ExitCode
lane_read_file(const char *file, Buffer *content, Failure *failure)
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
			code = failure_out_of_memory(failure);
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

/* Replaces LZ4 frames by their content. The readers decompress gzip themselves. */
static ExitCode
unpack_file(const char *file, Buffer *content, Failure *failure)
{
	Buffer unpacked = { NULL };
	int err;

	if (!lz4_is_frame(content->bytes, content->length))
		return EXIT_OK;
	err = lz4_unpack(content->bytes, content->length, UNPACKED_BYTES_MAX, &unpacked);
	if (err == 0)
	{
		buffer_fini(content);
		*content = unpacked;
		return EXIT_OK;
	}
	buffer_fini(&unpacked);
	if (err == -ENOMEM)
		return failure_out_of_memory(failure);
	return read_failed(file,
					   err == -EFBIG ? "It unpacks to more than 256 MB"
									 : "Its LZ4 frame is damaged or cut",
					   failure);
}

/* Sets the labels from the file's path, then those of --labels, which replace them. */
static bool
lane_find_labels(ImportLane *lane, const char *path)
{
	const ExchangeOptions *options = lane->import->options;

	given_labels_reset(&lane->labels);
	if (options->path_labels != NULL && !path_labels(options->path_labels, path, &lane->labels))
		return false;
	return given_labels_set_all(&lane->labels, &lane->import->labels);
}

/*
 * Reads a file and determines its labels and format. Returns false, after reporting the failure, if
 * it cannot be imported.
 */
static bool
load_file(ImportLane *lane, size_t file, ProfileFormat *format)
{
	const ExchangeOptions *options = lane->import->options;
	const char *path = lane->import->files.paths[file];
	Failure failure;

	if (options->path_labels != NULL && !path_pattern_matches(options->path_labels, path))
	{
		read_failed(path, "Its path does not fit the pattern of --path-labels", &failure);
		import_failed(lane->import, file, &failure);
		return false;
	}
	if (lane_read_file(path, &lane->content, &failure) != EXIT_OK ||
		unpack_file(path, &lane->content, &failure) != EXIT_OK)
	{
		import_failed(lane->import, file, &failure);
		return false;
	}
	if (!lane_find_labels(lane, path))
	{
		lane_out_of_memory(lane);
		return false;
	}
	*format = options->format == IMPORT_AUTO
				  ? profile_format_of(lane->content.bytes, lane->content.length)
				  : (ProfileFormat) (options->format - IMPORT_PPROF);
	return true;
}

static void
hint_at_format(const ImportLane *lane, ProfileFormat format, Failure *failure)
{
	if (lane->import->options->format == IMPORT_AUTO && failure->hint[0] == '\0')
		failure_hint(failure,
					 "The format %s was detected by content. Use --format to set another one.",
					 import_format_name(format));
}

static bool
lane_open_connection(ImportLane *lane, DbError *error)
{
	if (lane->connection.pg != NULL)
		return true;
	if (connection_open(&lane->connection, lane->import->options->database, error) != DB_OK)
		return false;
	connection_log_notices(&lane->connection, MODULE);
	return true;
}

/* Returns true if another session was in the way, so that a retry may succeed. */
static bool
is_conflict(const DbError *error)
{
	return strncmp(error->sqlstate, "40", 2) == 0 || strcmp(error->sqlstate, "55P03") == 0;
}

static void
pause_lane(Import *import)
{
	pthread_mutex_lock(&import->lock);
	import_wait(import);
	pthread_mutex_unlock(&import->lock);
}

/* Asks the server to import a file; retries after conflicts with other sessions. */
static DbOutcome
ask_server(ImportLane *lane, const ServerImport *request, int64_t *samples, DbError *error)
{
	DbOutcome outcome = DB_AWAY;

	for (int attempt = 1; attempt <= CONFLICT_ATTEMPTS; attempt++)
	{
		if (attempt > 1)
			pause_lane(lane->import);
		if (!lane_open_connection(lane, error))
			return DB_AWAY;
		outcome = import_by_server(&lane->connection, request, samples, error);
		if (outcome == DB_OK || !is_conflict(error) || !import_goes_on(lane->import))
			break;
	}
	return outcome;
}

/*
 * Imports the current file in the server. If the connection is lost, ends the import, because it is
 * not known whether the file was stored.
 */
static void
import_on_server(ImportLane *lane, size_t file, ProfileFormat format)
{
	Import *import = lane->import;
	const ServerImport request = { .format = format,
								   .content = &lane->content,
								   .labels = &lane->json,
								   .at = import->options->at };
	DbOutcome outcome;
	DbError error;
	Failure failure;
	int64_t samples = 0;

	given_labels_json(&lane->labels, &lane->json);
	outcome = ask_server(lane, &request, &samples, &error);
	if (outcome == DB_OK)
	{
		import_stored(import, file, format, samples);
		return;
	}
	failure = error.failure;
	failure_detail(&failure, "%s: %s", import->files.paths[file], error.failure.detail);
	if (outcome == DB_REFUSED && format != PROFILE_PPROF &&
		pfs_is_gzip((const uint8_t *) lane->content.bytes, lane->content.length))
		failure_hint(
			&failure,
			"The server does not decompress text. Decompress it first, with \"gzip -dc\".");
	else if (outcome == DB_REFUSED)
		hint_at_format(lane, format, &failure);
	else if (outcome != DB_TIMEOUT && !is_conflict(&error))
	{
		import_end(import, &failure);
		return;
	}
	failure.code = EXIT_IO; /* an error of the file is no error of the database */
	import_failed(import, file, &failure);
}

static void
report_invalid(ImportLane *lane, size_t file, ProfileFormat format, const DecodeResult *result)
{
	const char *path = lane->import->files.paths[file];
	Failure failure;

	failure_set(&failure, EXIT_IO, "could not import file");
	if (result->line > 0)
		failure_detail(&failure, "%s: invalid profile: %s, seen at line %" PRIu64 ", byte %zu.",
					   path, result->message, result->line, result->offset);
	else
		failure_detail(&failure, "%s: invalid profile: %s, seen at byte %zu.", path,
					   result->message, result->offset);
	if (result->hint != NULL)
		failure_hint(&failure, "%s", result->hint);
	hint_at_format(lane, format, &failure);
	import_failed(lane->import, file, &failure);
}

/* Decodes the current file into the current batch. */
static DecodeEnd
lane_decode(ImportLane *lane, ProfileFormat format, DecodeResult *result)
{
	const Import *import = lane->import;
	const DecodeRequest request = { .format = format,
									.labels = lane->labels.labels,
									.label_count = lane->labels.count,
									.has_time = import->facts.has_time,
									.time_us = import->facts.time_us,
									.limits.now_us = clock_ns(CLOCK_REALTIME) / 1000 };

	if (!import->facts.takes_texts)
		return DECODE_SERVER;
	if (lane->filling == NULL)
		lane->filling = lane_batch_create(lane);
	return lane->filling == NULL
			   ? DECODE_NO_MEMORY
			   : decode_profile(&request, lane->content.bytes, lane->content.length,
								lane->filling->batch, result);
}

/* Logs which parts of a stored file were left out. */
static void
log_gaps(const ImportLane *lane, size_t file, ProfileFormat format, const DecodeResult *result)
{
	const char *path = lane->import->files.paths[file];

	if (result->skipped.count > 0)
		log_event(LOG_WARNING, MODULE, "unrecognized parts of a profile were not stored",
				  log_text("file", path), log_number("parts", (int64_t) result->skipped.count),
				  log_number("first_line", (int64_t) result->skipped.first_line),
				  log_number("first_byte", (int64_t) result->skipped.first_offset));
	if (result->lacks_frames)
		log_event(LOG_WARNING, MODULE, "no sample of a profile has a stack", log_text("file", path),
				  log_text("hint", format != PROFILE_PERF_SCRIPT
									   ? NULL
									   : "Record with perf record -g; make perf script print "
										 "the fields ip and sym."));
}

static bool
is_large(const LaneBatch *batch)
{
	const BatchSample *samples;

	return batch_bytes(batch->batch) >= BATCH_BYTES ||
		   batch_samples(batch->batch, &samples) >= BATCH_SAMPLES;
}

/* Imports a file. Returns false if the import has ended with a failure. */
static bool
import_file(ImportLane *lane, size_t file)
{
	LaneFile decoded = { .index = file };
	DecodeResult result = { 0 };
	DecodeEnd end;

	if (!load_file(lane, file, &decoded.format))
		return true;
	if (strcmp(lane->import->files.paths[file], "-") == 0)
	{
		/*
		 * a refused batch needs a second reading of its files, which standard input does not allow
		 */
		import_on_server(lane, file, decoded.format);
		return true;
	}
	end = lane_decode(lane, decoded.format, &result);
	if (end == DECODE_NO_ROOM && lane->filling->count > 0)
	{
		if (!lane_submit(lane))
			return false;
		end = lane_decode(lane, decoded.format, &result);
	}
	decoded.samples = result.sample_count;
	switch (end)
	{
		case DECODE_OK:
			log_gaps(lane, file, decoded.format, &result);
			if (!lane_add_file(lane->filling, &decoded))
				lane_out_of_memory(lane);
			return !is_large(lane->filling) || lane_submit(lane);
		case DECODE_INVALID:
			report_invalid(lane, file, decoded.format, &result);
			break;
		case DECODE_NO_ROOM: /* the file is too large even for an empty batch */
			lane_batch_free(lane->filling);
			lane->filling = NULL;
			import_on_server(lane, file, decoded.format);
			break;
		case DECODE_TIME: /* cannot happen: no time was requested */
		case DECODE_SERVER:
			import_on_server(lane, file, decoded.format);
			break;
		case DECODE_NO_MEMORY:
			lane_out_of_memory(lane);
			return false;
	}
	return true;
}

/* --- the thread --- */

/* Imports the files of a batch by the server, until the import ends. */
static void
import_files_of(ImportLane *lane, LaneBatch *batch)
{
	for (size_t i = 0; i < batch->count && import_goes_on(lane->import); i++)
		if (load_file(lane, batch->files[i].index, &batch->files[i].format))
			import_on_server(lane, batch->files[i].index, batch->files[i].format);
}

/* Imports the files of refused batches one by one. */
static void
import_refused(ImportLane *lane)
{
	Import *import = lane->import;
	LaneBatch *batch;

	pthread_mutex_lock(&import->lock);
	batch = lane->refused;
	lane->refused = NULL;
	pthread_mutex_unlock(&import->lock);
	while (batch != NULL)
	{
		LaneBatch *next = batch->next;

		import_files_of(lane, batch);
		lane_batch_free(batch);
		batch = next;
	}
}

/* Runs the body of the thread. */
static void *
lane_main(void *argument)
{
	ImportLane *lane = argument;
	Import *import = lane->import;
	bool goes_on = true;
	size_t file;

	while (goes_on && import_take(import, lane->number, &file))
	{
		goes_on = import_file(lane, file);
		import_refused(lane);
	}
	if (goes_on && lane_submit(lane) && wait_for_writer(lane, 0))
		import_refused(lane);
	pthread_mutex_lock(&import->lock);
	import->lanes--;
	pthread_cond_broadcast(&import->changed);
	pthread_mutex_unlock(&import->lock);
	return NULL;
}

static void
lane_free(ImportLane *lane)
{
	lane_batch_free(lane->filling);
	writer_free(lane->writer); /* first, because its callback uses the lane */
	while (lane->refused != NULL)
	{
		LaneBatch *next = lane->refused->next;

		lane_batch_free(lane->refused);
		lane->refused = next;
	}
	connection_close(&lane->connection);
	buffer_fini(&lane->content);
	buffer_fini(&lane->json);
	given_labels_free(&lane->labels);
	free(lane);
}

static ExitCode
lane_start(ImportLane *lane, Failure *failure)
{
	const WriterOptions options = { .conninfo = lane->import->options->database,
									.node = "",
									.queue_bytes = QUEUE_BYTES,
									.cache_bytes = ID_CACHE_BYTES,
									.denied_ms = 1,
									.gate = &lane->import->gate };

	if (writer_create(&options, &lane->writer, failure) != EXIT_OK)
		return failure->code;
	if (writer_start(lane->writer) != 0 ||
		pthread_create(&lane->thread, NULL, lane_main, lane) != 0)
		return failure_set(failure, EXIT_INTERNAL, "could not start a thread");
	return EXIT_OK;
}

ImportLane *
import_lane_start(Import *import, size_t number, Failure *failure)
{
	ImportLane *lane = calloc(1, sizeof(ImportLane));

	if (lane == NULL)
	{
		failure_out_of_memory(failure);
		return NULL;
	}
	lane->import = import;
	lane->number = number;
	lane->connection.wake_fd = -1;
	pthread_mutex_lock(&import->lock);
	import->lanes++;
	pthread_mutex_unlock(&import->lock);
	if (lane_start(lane, failure) == EXIT_OK)
		return lane;
	pthread_mutex_lock(&import->lock);
	import->lanes--;
	pthread_mutex_unlock(&import->lock);
	lane_free(lane);
	return NULL;
}

void
import_lane_join(ImportLane *lane)
{
	pthread_join(lane->thread, NULL);
	lane_free(lane);
}
