/*
 * parca_service.c
 *		Parca's ProfileStoreService, WriteRaw; and debug information, which is declined.
 *
 *		WriteRawRequest		2 series, 3 normalized
 *		RawProfileSeries	1 labels {1 labels {1 name, 2 value}}, 2 samples {1 raw_profile}
 *
 * A request is stored whole or not at all.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "decode/decode.h"
#include "receive/services.h"
#include "receive/submit.h"

#define NS_PER_US INT64_C(1000)
#define US_PER_MS INT64_C(1000)
#define AHEAD_US  (INT64_C(3600) * 1000000)

#define CPU_MAX_NS	   (INT64_C(10) * 1000000000)
#define LABEL_TEXT_MAX 1024
#define NOT_WANTED	   "debug information is not collected here"

/* The labels of a series, as text of their own. */
typedef struct RawLabels
{
	BatchLabel labels[BATCH_MAX_LABELS];
	size_t count;
	char *texts; /* owned: all of them */
	size_t used;
} RawLabels;

typedef struct Writing
{
	Receiver *receiver;
	Call *call;
	Batch *batch;
	int64_t now_us;
	int64_t end_cpu_ns; /* of this thread: profiles that unpack to much more end there */
	uint64_t samples;
} Writing;

static bool
invalid(Writing *writing, const char *text)
{
	submit_invalid(writing->receiver, writing->call, text);
	return false;
}

/* --- labels --- */

static const char *
keep_text(RawLabels *labels, const char *prefix, Span text)
{
	char *copy = labels->texts + labels->used;
	size_t lead = strlen(prefix);

	memcpy(copy, prefix, lead);
	memcpy(copy + lead, text.bytes, text.length);
	copy[lead + text.length] = '\0';
	labels->used += lead + text.length + 1;
	return copy;
}

static bool
is_name(Span name)
{
	for (size_t i = 0; i < name.length; i++)
	{
		char c = (char) name.bytes[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
			  (i > 0 && c >= '0' && c <= '9')))
			return false;
	}
	return name.length > 0;
}

static bool
span_equals(Span span, const char *text)
{
	return span.length == strlen(text) && memcmp(span.bytes, text, span.length) == 0;
}

/* The tenant is nobody's to say; names with "__" in front are the database's, but for __name__. */
static bool
add_label(Writing *writing, RawLabels *labels, Span name, Span value)
{
	bool is_taken =
		span_equals(name, "tenant") ||
		(name.length >= 2 && memcmp(name.bytes, "__", 2) == 0 && !span_equals(name, "__name__"));
	BatchLabel *label;

	if (!is_name(name))
		return invalid(writing, "the name of a label is not valid");
	if (name.length > LABEL_TEXT_MAX || value.length > LABEL_TEXT_MAX ||
		memchr(value.bytes, '\0', value.length) != NULL)
		return invalid(writing, "a label is too long, or has a zero byte");
	if (labels->count == BATCH_MAX_LABELS)
		return invalid(writing, "a series has too many labels");
	label = &labels->labels[labels->count];
	label->name = keep_text(labels, is_taken ? "exported_" : "", name);
	label->value = keep_text(labels, "", value);
	for (size_t i = 0; i < labels->count; i++)
		if (strcmp(labels->labels[i].name, label->name) == 0)
			return invalid(writing, "a series has a label twice");
	labels->count++;
	return true;
}

static bool
read_label(Writing *writing, RawLabels *labels, Span span)
{
	Message message = message_of(span);
	Span name = { (const uint8_t *) "", 0 };
	Span value = name;

	while (message_next(&message))
	{
		if (field_is_message(&message.field, 1))
			name = field_span(&message.field);
		else if (field_is_message(&message.field, 2))
			value = field_span(&message.field);
	}
	if (message.error != NULL)
		return invalid(writing, message.error);
	return add_label(writing, labels, name, value);
}

static bool
read_labels(Writing *writing, RawLabels *labels, Span series)
{
	Message message = message_of(series);

	labels->count = 0;
	labels->used = 0;
	labels->labels[labels->count++] = (BatchLabel){ "tenant", writing->call->tenant };
	while (message_next(&message))
	{
		Message set;

		if (!field_is_message(&message.field, 1))
			continue;
		set = message_of(field_span(&message.field));
		while (message_next(&set))
			if (field_is_message(&set.field, 1) &&
				!read_label(writing, labels, field_span(&set.field)))
				return false;
		if (set.error != NULL)
			return invalid(writing, set.error);
	}
	return message.error == NULL || invalid(writing, message.error);
}

/* --- profiles --- */

static bool
read_profile(Writing *writing, const RawLabels *labels, Span bytes)
{
	const DecodeRequest request = { .format = PROFILE_PPROF,
									.labels = labels->labels,
									.label_count = labels->count,
									.now_us = writing->now_us };
	DecodeResult result;

	if (clock_ns(CLOCK_THREAD_CPUTIME_ID) > writing->end_cpu_ns)
		return invalid(writing, "the request takes too long to read");
	switch (decode_profile(&request, bytes.bytes, bytes.length, writing->batch, &result))
	{
		case DECODE_OK:
			writing->samples += result.sample_count;
			return true;
		case DECODE_INVALID:
			call_fail_with(writing->call, GRPC_INVALID_ARGUMENT,
						   "invalid profile: %s, seen at byte %zu", result.message, result.offset);
			break;
		case DECODE_SERVER:
			call_fail_with(writing->call, GRPC_INVALID_ARGUMENT,
						   "the profile cannot be received: %s", result.message);
			break;
		case DECODE_NO_ROOM:
			submit_too_large(writing->receiver, writing->call,
							 "the request is larger than what is held in memory at once");
			return false;
		case DECODE_NO_MEMORY:
			call_retry(writing->call, "out of memory", 1);
			return false;
	}
	metric_add(&writing->receiver->metrics.requests_invalid_total, 1);
	return false;
}

static bool
read_sample(Writing *writing, const RawLabels *labels, Span span)
{
	Message message = message_of(span);

	while (message_next(&message))
		if (field_is_message(&message.field, 1) &&
			!read_profile(writing, labels, field_span(&message.field)))
			return false;
	return message.error == NULL || invalid(writing, message.error);
}

static bool
read_series(Writing *writing, RawLabels *labels, Span span)
{
	Message message = message_of(span);

	if (!read_labels(writing, labels, span))
		return false;
	while (message_next(&message))
		if (field_is_message(&message.field, 2) &&
			!read_sample(writing, labels, field_span(&message.field)))
			return false;
	return message.error == NULL || invalid(writing, message.error);
}

static bool
read_request(Writing *writing, RawLabels *labels)
{
	Message message = message_of((Span){ writing->call->body, writing->call->body_length });

	while (message_next(&message))
		if (field_is_message(&message.field, 2) &&
			!read_series(writing, labels, field_span(&message.field)))
			return false;
	return message.error == NULL || invalid(writing, message.error);
}

/* Times that are taken. *is_same: none is of this moment, which stands where a profile has none. */
static bool
check_times(Writing *writing, bool *is_same)
{
	int64_t first_us = writing->now_us - writing->receiver->options->max_age_ms * US_PER_MS;
	int64_t last_us = writing->now_us + AHEAD_US;
	const BatchSample *samples;
	size_t count = batch_samples(writing->batch, &samples);

	*is_same = true;
	for (size_t i = 0; i < count; i++)
	{
		if (samples[i].time_us < first_us || samples[i].time_us > last_us)
			return invalid(writing, "the time of a profile is too far from now");
		*is_same &= samples[i].time_us != writing->now_us;
	}
	return true;
}

static bool
write_raw(Writing *writing, bool *is_same)
{
	RawLabels *labels;
	bool good;

	if (writing->call->content == CONTENT_JSON &&
		!submit_read_json(writing->receiver, writing->call, &json_write_raw))
		return false;
	if (batch_create(SUBMIT_BATCH_BYTES, &writing->batch) != 0)
	{
		call_retry(writing->call, "out of memory", 1);
		return false;
	}

	/* names and values are parts of the body, each at most once, but for what is put in front */
	labels = calloc(1, sizeof(RawLabels));
	if (labels != NULL)
		labels->texts = malloc(BATCH_MAX_LABELS * 2 * (LABEL_TEXT_MAX + sizeof("exported_")));
	good = labels != NULL && labels->texts != NULL;
	if (!good)
		call_retry(writing->call, "out of memory", 1);
	good = good && read_request(writing, labels) && check_times(writing, is_same);
	if (labels != NULL)
		free(labels->texts);
	free(labels);
	return good;
}

void
parca_write_raw(Receiver *receiver, Call *call)
{
	Writing writing = { .receiver = receiver,
						.call = call,
						.now_us = clock_ns(CLOCK_REALTIME) / NS_PER_US,
						.end_cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) + CPU_MAX_NS };
	bool is_same;

	if (submit_unpack(receiver, call) && write_raw(&writing, &is_same))
	{
		if (call->content == CONTENT_JSON)
			buffer_put_bytes(&call->answer.body, "{}", 2);
		metric_add(&receiver->metrics.samples_total, writing.samples);
		submit_batch(receiver, call, writing.batch, is_same);
		return;
	}
	batch_free(writing.batch);
	receiver_give_back(receiver, call);
}

/* should_initiate_upload is false by being absent; agents do not ask for this file again. */
void
parca_decline_upload(Receiver *receiver, Call *call)
{
	static const char reason[] = NOT_WANTED;
	char head[2] = { 2 << PFS_WIRE_TAG_SHIFT | PFS_WIRE_BYTES, sizeof(reason) - 1 };

	buffer_put_bytes(&call->answer.body, head, sizeof(head));
	buffer_put_bytes(&call->answer.body, reason, sizeof(reason) - 1);
}
