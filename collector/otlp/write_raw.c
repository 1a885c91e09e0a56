/*
 * write_raw.c
 *		Reads the labels of a series, then its profiles with the reader of pprof files.
 */
#include "otlp/write_raw.h"

#include <stdio.h>
#include <stdlib.h>

#include "decode/decode.h"

/* The labels of a series, with copies of their texts. */
typedef struct RawLabels
{
	BatchLabel labels[BATCH_MAX_LABELS];
	size_t count;
	char *texts; /* owned; contains all texts */
	size_t used;
} RawLabels;

typedef struct Writing
{
	const WriteRawRequest *request;
	WriteRawResult *result;
	DecodeEnd end; /* reason of a refusal */
	Batch *batch;
} Writing;

static bool
ends(Writing *writing, DecodeEnd end)
{
	writing->end = end;
	return false;
}

static bool
invalid(Writing *writing, const char *text)
{
	snprintf(writing->result->message, sizeof(writing->result->message), "%s", text);
	return ends(writing, DECODE_INVALID);
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
raw_is_name(Span name)
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

/*
 * Adds a label. The label tenant is set only by the receiver; names that begin with "__" are
 * reserved, except __name__.
 */
static bool
raw_add_label(Writing *writing, RawLabels *labels, Span name, Span value)
{
	bool is_taken =
		span_equals(name, "tenant") ||
		(name.length >= 2 && memcmp(name.bytes, "__", 2) == 0 && !span_equals(name, "__name__"));
	BatchLabel *label;

	/*
	 * Labels come from Parca's agent, which has valid ones. Unlike attributes of OTLP, invalid
	 * names are refused instead of rewritten.
	 */
	if (!raw_is_name(name))
		return invalid(writing, "the name of a label is not valid");
	if (name.length > WRITE_RAW_LABEL_MAX || value.length > WRITE_RAW_LABEL_MAX ||
		memchr(value.bytes, '\0', value.length) != NULL)
		return invalid(writing, "a label is too long, or has a zero byte");
	if (labels->count == BATCH_MAX_LABELS)
		return invalid(writing, "a series has too many labels");
	label = &labels->labels[labels->count];
	/*
	 * texts has room for BATCH_MAX_LABELS names with prefix and values, each of at most
	 * WRITE_RAW_LABEL_MAX bytes
	 */
	label->name = keep_text(labels, is_taken ? "exported_" : "", name);
	label->value = keep_text(labels, "", value);
	/* after the prefix was added: exported_tenant may also be a label that the client has */
	for (size_t i = 0; i < labels->count; i++)
		if (strcmp(labels->labels[i].name, label->name) == 0)
			return invalid(writing, "a series has a label twice");
	labels->count++;
	return true;
}

static bool
raw_read_label(Writing *writing, RawLabels *labels, Span span)
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
	return raw_add_label(writing, labels, name, value);
}

/* Reads the labels of a series; the receiver's label tenant is the first one. */
static bool
raw_read_labels(Writing *writing, RawLabels *labels, Span series)
{
	Message message = message_of(series);

	labels->count = 0;
	/* the texts of the series before are not needed, because the batch has copies */
	labels->used = 0;
	labels->labels[labels->count++] = (BatchLabel){ "tenant", writing->request->tenant };
	while (message_next(&message))
	{
		Message set;

		if (!field_is_message(&message.field, 1))
			continue;
		set = message_of(field_span(&message.field));
		while (message_next(&set))
			if (field_is_message(&set.field, 1) &&
				!raw_read_label(writing, labels, field_span(&set.field)))
				return false;
		if (set.error != NULL)
			return invalid(writing, set.error);
	}
	return message.error == NULL || invalid(writing, message.error);
}

/* --- profiles --- */

/* Decodes one pprof profile of a series into the batch, and sets the message of a failure. */
static bool
raw_read_profile(Writing *writing, const RawLabels *labels, Span bytes)
{
	const DecodeLimits *limits = &writing->request->limits;
	const DecodeRequest request = { .format = PROFILE_PPROF,
									.labels = labels->labels,
									.label_count = labels->count,
									.limits = { .now_us = limits->now_us,
												.memory = limits->memory },
									.guards_names = true };
	char *message = writing->result->message;
	DecodeResult result;

	/* The time is checked between profiles only; the size of the request bounds each profile. */
	if (limits->limit != NULL && work_limit_is_over(limits->limit))
		return invalid(writing, "the request takes too long to read");
	switch (decode_profile(&request, bytes.bytes, bytes.length, writing->batch, &result))
	{
		case DECODE_OK:
			writing->result->samples += result.sample_count;
			return true;
		case DECODE_INVALID:
			snprintf(message, sizeof(writing->result->message),
					 "invalid profile: %s, seen at byte %zu", result.message, result.offset);
			return ends(writing, DECODE_INVALID);
		/*
		 * This cannot occur, because no limits of times were passed; raw_check_times() checks all
		 * profiles.
		 */
		case DECODE_TIME:
		case DECODE_SERVER:
			snprintf(message, sizeof(writing->result->message),
					 "the profile cannot be received: %s", result.message);
			return ends(writing, DECODE_INVALID);
		case DECODE_NO_ROOM:
			snprintf(message, sizeof(writing->result->message), "%s", DECODE_TOO_LARGE);
			return ends(writing, DECODE_NO_ROOM);
		case DECODE_NO_MEMORY:
			break;
	}
	return ends(writing, DECODE_NO_MEMORY);
}

static bool
read_sample(Writing *writing, const RawLabels *labels, Span span)
{
	Message message = message_of(span);

	while (message_next(&message))
		if (field_is_message(&message.field, 1) &&
			!raw_read_profile(writing, labels, field_span(&message.field)))
			return false;
	return message.error == NULL || invalid(writing, message.error);
}

static bool
raw_series_read(Writing *writing, RawLabels *labels, Span span)
{
	Message message = message_of(span);

	if (!raw_read_labels(writing, labels, span))
		return false;
	while (message_next(&message))
		if (field_is_message(&message.field, 2) &&
			!read_sample(writing, labels, field_span(&message.field)))
			return false;
	return message.error == NULL || invalid(writing, message.error);
}

static bool
raw_read_request(Writing *writing, RawLabels *labels)
{
	Message message = message_of(writing->request->body);

	while (message_next(&message))
		if (field_is_message(&message.field, 2) &&
			!raw_series_read(writing, labels, field_span(&message.field)))
			return false;
	return message.error == NULL || invalid(writing, message.error);
}

/* Checks the times of all profiles; a profile without a time gets the current one. */
static bool
raw_check_times(Writing *writing)
{
	const DecodeLimits *limits = &writing->request->limits;
	const BatchSample *samples;
	size_t count = batch_samples(writing->batch, &samples);

	for (size_t i = 0; i < count; i++)
	{
		if (samples[i].time_us < limits->first_us || samples[i].time_us > limits->last_us)
			return invalid(writing, "the time of a profile is too far from now");
		/*
		 * a profile without a time gets exactly now_us; a profile with a time of its own hardly
		 * ever has it
		 */
		writing->result->has_times &= samples[i].time_us != limits->now_us;
	}
	return true;
}

DecodeEnd
write_raw_decode(const WriteRawRequest *request, Batch *batch, WriteRawResult *result)
{
	Writing writing = { .request = request, .result = result, .batch = batch };
	RawLabels *labels = calloc(1, sizeof(RawLabels));

	*result = (WriteRawResult){ .has_times = true };

	/* Room for the longest names and values of one series; each series uses it again. */
	if (labels != NULL)
		labels->texts = malloc(BATCH_MAX_LABELS * 2 * (WRITE_RAW_LABEL_MAX + sizeof("exported_")));
	/* writing.end stays DECODE_OK, which is 0, unless a step refuses the request */
	if (labels == NULL || labels->texts == NULL)
		writing.end = DECODE_NO_MEMORY;
	else if (raw_read_request(&writing, labels))
		raw_check_times(&writing);
	if (labels != NULL)
		free(labels->texts);
	free(labels);
	return writing.end;
}
