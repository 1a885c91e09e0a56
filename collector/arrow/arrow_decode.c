/*
 * arrow_decode.c
 *		Decodes a request in two passes over its record batches: the first finds the oldest time,
 *		the second converts the rows.
 */
#include "arrow/arrow_decode.h"

#include "arrow/samples.h"
#include "arrow/stack_ids.h"
#include "arrow/stream.h"

#define WORK_PER_BYTE 24
#define WORK_FREE	  (INT64_C(64) * 1024 * 1024)

static const AttributeRule no_labels = { "*" };

/* State of decoding one request. */
typedef struct Decoding
{
	Budget budget;
	Arena arena;
	ArrowWork work;
	StackIds ids;
} Decoding;

static void
arrow_begin(Decoding *decoding, Batch *batch, size_t bytes, MemoryShare *memory)
{
	*decoding = (Decoding){ .budget = { .limit_bytes = ARROW_MEMORY_BYTES, .share = memory } };
	arena_init(&decoding->arena, &decoding->budget);
	stack_ids_init(&decoding->ids, &decoding->budget);
	decoding->work = (ArrowWork){ .batch = batch,
								  .arena = &decoding->arena,
								  .left = WORK_FREE + WORK_PER_BYTE * (int64_t) bytes };
}

static DecodeEnd
arrow_end(Decoding *decoding, ArrowResult *result)
{
	stack_ids_fini(&decoding->ids);
	arena_fini(&decoding->arena);
	result->message = decoding->work.message;
	return decoding->work.end;
}

/* Function that is called with each record batch. */
typedef bool (*BatchReader)(void *context, ArrowStream *stream, SampleColumns *columns);

/* Calls a function with each record batch of a stream. Returns false once decoding has ended. */
static bool
each_batch(ArrowWork *work, Span samples, const AttributeRule *rule, BatchReader read,
		   void *context)
{
	ArrowStream stream;
	SampleColumns columns;
	bool is_empty = true;

	arrow_stream_open(&stream, samples, work->arena);
	while (arrow_stream_next(&stream))
	{
		is_empty = false;
		/* the columns have other addresses in each record batch, so they are found again */
		if (!sample_columns_open(&columns, work, &stream, rule) ||
			!read(context, &stream, &columns))
			return false;
	}
	if (stream.is_out_of_memory)
		return work_too_large(work);
	if (stream.error != NULL)
		return work_fail(work, stream.error);
	return !is_empty || work_fail(work, "the request has no records");
}

/* --- samples --- */

static bool
look_at_times(void *context, ArrowStream *stream, SampleColumns *columns)
{
	SampleReader *reader = context;

	return sample_times_look(reader->work, columns, stream->rows, &reader->origin_us);
}

static bool
arrow_read_rows(void *context, ArrowStream *stream, SampleColumns *columns)
{
	return sample_rows_read(context, stream, columns);
}

DecodeEnd
arrow_decode(const ArrowRequest *request, Batch *batch, ArrowResult *result)
{
	Decoding decoding;
	SampleReader reader = { .request = request,
							.result = result,
							.work = &decoding.work,
							.ids = &decoding.ids,
							.origin_us = INT64_MAX };

	*result = (ArrowResult){ 0 };
	arrow_begin(&decoding, batch, request->samples.length + request->stacks.length,
				request->limits.memory);
	decoding.work.limit = request->limits.limit;
	/* 1. Find the oldest time, from which the windows of ten seconds are counted. */
	if (each_batch(&decoding.work, request->samples, &no_labels, look_at_times, &reader) &&
		(reader.origin_us >= request->limits.first_us || work_fail(&decoding.work, TIME_TOO_FAR)))
	{
		/* frees the unpacked buffers */
		arena_fini(&decoding.arena);
		arena_init(&decoding.arena, &decoding.budget);
		/*
		 * 2. Read the stacks of the first version, which came in a request of their own, then the
		 * samples, which refer to them.
		 */
		if (request->stacks.length == 0 ||
			stack_ids_read(&decoding.ids, &decoding.work, request->stacks))
			each_batch(&decoding.work, request->samples, request->rule, arrow_read_rows, &reader);
	}
	return arrow_end(&decoding, result);
}

/* --- ids --- */

/* Collects the ids of stacks in a record batch of the first version. A BatchReader. */
static bool
collect_ids(void *context, ArrowStream *stream, SampleColumns *columns)
{
	Decoding *decoding = context;

	/* records of the second version contain their stacks */
	if (columns->stacks != NULL)
		return true;
	for (uint32_t row = 0; row < stream->rows; row++)
	{
		/*
		 * The ids point into the request or into the arena. stack 0 is a placeholder, because no
		 * batch exists yet.
		 */
		Span id;

		if (!work_pay(&decoding->work, 4) || !work_bytes(&decoding->work, columns->ids, row, &id) ||
			!stack_ids_add(&decoding->ids, &decoding->work, id, 0))
			return false;
	}
	return true;
}

DecodeEnd
arrow_wanted_stacks(Span samples, MemoryShare *memory, uint8_t **stream, size_t *length,
					ArrowResult *result)
{
	Decoding decoding;

	*result = (ArrowResult){ 0 };
	*stream = NULL;
	arrow_begin(&decoding, NULL, samples.length, memory);
	/* without any id there is nothing to ask for: *stream stays NULL */
	if (each_batch(&decoding.work, samples, &no_labels, collect_ids, &decoding) &&
		decoding.ids.table.count > 0)
	{
		*stream = stack_ids_stream(&decoding.ids, length);
		if (*stream == NULL)
			decoding.work.end = DECODE_NO_MEMORY;
	}
	return arrow_end(&decoding, result);
}
