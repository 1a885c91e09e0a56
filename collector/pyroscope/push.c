/*
 * push.c
 *		Reads the labels of each series, then its profiles.
 */
#include "pyroscope/push.h"

#include <stdlib.h>

#define ARENA_BYTES ((size_t) 1024 * 1024)

/* Fields of the messages. */
enum
{
	REQUEST_SERIES = 1,
	SERIES_LABEL = 1,
	SERIES_SAMPLE = 2,
	SAMPLE_PROFILE = 1,
	PAIR_NAME = 1,
	PAIR_VALUE = 2
};

typedef struct Pushing
{
	const PyroscopeRequest *request;
	Batch *batch;
	PyroscopeResult *result;
	PyroscopeSeries *series;
	SampleTypes *no_types;
	Budget budget;
} Pushing;

static PfsText
push_text(Span span)
{
	const size_t most = UINT32_MAX; /* never reached: messages have a limit below 4 GiB */

	return (PfsText){ (const char *) span.bytes,
					  (uint32_t) (span.length < most ? span.length : most) };
}

static DecodeEnd
push_read_label(Pushing *pushing, Arena *arena, Span span)
{
	Message message = message_of(span);
	Span name = { (const uint8_t *) "", 0 };
	Span value = name;

	while (message_next(&message))
	{
		if (field_is_message(&message.field, PAIR_NAME))
			name = field_span(&message.field);
		else if (field_is_message(&message.field, PAIR_VALUE))
			value = field_span(&message.field);
	}
	if (message.error != NULL)
		return pyroscope_refuse(pushing->result, message.error);
	series_put(pushing->series, arena, pushing->request->rule, push_text(name), push_text(value));
	return DECODE_OK;
}

static DecodeEnd
push_read_labels(Pushing *pushing, Arena *arena, Span span)
{
	Message message = message_of(span);
	DecodeEnd end = DECODE_OK;

	series_begin(pushing->series, arena, pushing->request->tenant, pushing->request->scope);
	while (end == DECODE_OK && message_next(&message))
		if (field_is_message(&message.field, SERIES_LABEL))
			end = push_read_label(pushing, arena, field_span(&message.field));
	if (end == DECODE_OK && message.error != NULL)
		end = pyroscope_refuse(pushing->result, message.error);
	series_end(pushing->series, arena);
	pushing->result->skipped_labels += pushing->series->skipped;
	return end;
}

/* Decodes the profile of a sample. An invalid profile is counted and does not end the request. */
static DecodeEnd
push_read_sample(Pushing *pushing, Span span)
{
	PyroscopeDialect dialect = { .series = pushing->series,
								 .rule = pushing->request->rule,
								 .types = pushing->no_types,
								 .keeps_times = pushing->request->keep_times };
	Message message = message_of(span);
	DecodeEnd end = DECODE_OK;

	while (end == DECODE_OK && message_next(&message))
	{
		if (!field_is_message(&message.field, SAMPLE_PROFILE))
			continue;
		end = pyroscope_decode_profile(pushing->request, &dialect, PROFILE_PPROF,
									   field_span(&message.field), pushing->batch, pushing->result);
		if (end != DECODE_INVALID)
			continue;
		pushing->result->rejected_profiles++;
		end = DECODE_OK;
	}
	return end == DECODE_OK && message.error != NULL
			   ? pyroscope_refuse(pushing->result, message.error)
			   : end;
}

static DecodeEnd
push_read_series(Pushing *pushing, Arena *arena, Span span)
{
	Message message = message_of(span);
	DecodeEnd end = push_read_labels(pushing, arena, span);

	while (end == DECODE_OK && message_next(&message))
		if (field_is_message(&message.field, SERIES_SAMPLE))
			end = push_read_sample(pushing, field_span(&message.field));
	return end;
}

static DecodeEnd
push_read_request(Pushing *pushing)
{
	Message message = message_of(pushing->request->body);
	DecodeEnd end = DECODE_OK;

	while (end == DECODE_OK && message_next(&message))
	{
		Arena arena;

		if (!field_is_message(&message.field, REQUEST_SERIES))
			continue;
		arena_init(&arena, &pushing->budget);
		end = push_read_series(pushing, &arena, field_span(&message.field));
		arena_fini(&arena);
	}
	if (end == DECODE_OK && message.error != NULL)
		end = pyroscope_refuse(pushing->result, message.error);
	return end;
}

DecodeEnd
push_decode(const PyroscopeRequest *request, Batch *batch, PyroscopeResult *result)
{
	static const Span nothing = { NULL, 0 };
	const PfsAllocator allocator = { share_realloc, request->limits.memory };
	Pushing pushing = { .request = request,
						.batch = batch,
						.result = result,
						.series = malloc(sizeof(PyroscopeSeries)),
						.no_types = malloc(sizeof(SampleTypes)),
						.budget = { .limit_bytes = ARENA_BYTES, .share = request->limits.memory } };
	DecodeEnd end = DECODE_NO_MEMORY;

	*result = (PyroscopeResult){ .has_times = true };
	if (pushing.series != NULL && pushing.no_types != NULL)
	{
		sample_types_read(pushing.no_types, nothing, allocator);
		end = push_read_request(&pushing);
	}
	free(pushing.series);
	free(pushing.no_types);
	return end;
}
