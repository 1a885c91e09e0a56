/*
 * otlp_decode.c
 *		Decodes resources, scopes, profiles and samples.
 *
 * 1. The layout is determined from the whole request, see dialect.h.
 * 2. Only the positions of table items are stored; an item is read when a sample refers to it.
 * 3. A profile is read twice: first the parts that all of its samples share, then sample by sample
 *    into rows, with separate rows for the values of traces and spans. The rows are added to the
 *    batch if the whole profile is valid.
 *
 * Every step is charged in proportion to the bytes that it reads, so that a request that refers to
 * one large item again and again is refused. WORK_PER_BYTE and WORK_FREE allow some seconds for the
 * largest request.
 */
#include "otlp/otlp_decode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "base/clock.h"
#include "base/grow.h"
#include "base/hash.h"
#include "formats/series_names.h"
#include "otlp/dialect.h"
#include "otlp/dictionary.h"
#include "otlp/fields.h"

#define WORK_PER_BYTE 24
#define WORK_FREE	  (INT64_C(64) * 1024 * 1024)

#define PROFILE_ID_BYTES 16
#define PARTITION_MAX	 255
#define SERIES_MEMO		 1024 /* a power of two */
#define SERVICE_LABEL	 "service_name"
#define EXECUTABLE_NAME	 "process_executable_name"

/* Labels and ids from the attributes of a sample. */
typedef struct RowLabels
{
	uint32_t series;
	PfsTraceIds ids; /* from the attributes, or from the sample's link */
} RowLabels;

/* The series of samples with these attributes, cached for the current profile. */
typedef struct SeriesMemo
{
	Span attributes;
	uint32_t profile; /* number of the profile, from 1; an entry of another profile is free */
	RowLabels labels;
} SeriesMemo;

typedef struct Decoding
{
	const OtlpRequest *request;
	OtlpResult *result;
	const Layout *layout;
	Batch *batch;
	Budget budget;
	Arena arena;
	OtlpDictionary dictionary;
	const char *error; /* reason for refusing the profile or the request */

	AttributeLabels of_resource;
	const char *partition; /* partition of the current resource's stacks; the batch owns the text */
	AttributeLabels of_scope;
	AttributeLabels of_profile;
	AttributeLabels of_sample;

	uint64_t seed;
	uint32_t profile_number;
	Fingerprint fingerprint;
	bool is_identified; /* the current profile and all before it have an id */
	SeriesMemo memo[SERIES_MEMO];

	BatchSample *rows; /* rows of the current profile */
	size_t row_count;
	size_t row_capacity;
	BatchTrace *traces; /* values of traces in these rows */
	size_t trace_count;
	size_t trace_capacity;
} Decoding;

/* Data that all samples of a profile have in common. */
typedef struct ProfileParts
{
	Span sample_type;
	Span period_type;
	int64_t time_ns;
	int64_t period;
	bool has_payload;
	Span id;
	int64_t time_us; /* time of rows that have no time of their own */
	char type[PFS_PROFILE_TYPE_MAX];
} ProfileParts;

typedef struct SampleParts
{
	uint64_t stack;
	uint64_t link;
	PfsWireField attributes;  /* the last field of indexes of attributes */
	uint32_t attribute_count; /* number of these fields */
	size_t value_count;
	size_t time_count;
	uint64_t sum; /* sum of values, as two's complement */
	bool overflows;
} SampleParts;

/* --- attributes --- */

static PfsText
otlp_text(const char *string)
{
	return (PfsText){ string, (uint32_t) strlen(string) };
}

static OtlpFault
otlp_put_label(Decoding *decoding, AttributeLabels *set, const OtlpAttribute *attribute)
{
	const bool is_note = attribute->note != NOTE_NONE;

	/* notes belong to profiles, so notes of a sample are skipped */
	decoding->result->skipped_attributes +=
		attribute->is_unfit || (is_note && set == &decoding->of_sample);
	if (is_note)
		note_put(&set->note, attribute->note, attribute->texts, attribute->text_count);
	if (attribute->is_kept && !attribute_labels_put(set, &decoding->arena, attribute->key,
													attribute->name, attribute->value))
		decoding->result->skipped_attributes++;
	/* Adding a label compares it with those in the set, and each sample copies the set. */
	return dictionary_work(&decoding->dictionary, set->bytes / 4);
}

/* Adds the attributes of a resource or a scope to the set. */
static OtlpFault
put_attributes(Decoding *decoding, Span span, unsigned number, AttributeLabels *set)
{
	Message message = message_of(span);
	OtlpFault fault = FAULT_NONE;

	while (fault == FAULT_NONE && message_next(&message))
	{
		/* attributes of resources and scopes stand in the message itself, not in the dictionary */
		OtlpAttribute attribute;

		if (!field_is_message(&message.field, number))
			continue;
		fault = dictionary_key_value(&decoding->dictionary, field_span(&message.field), &attribute,
									 &decoding->error);
		if (fault == FAULT_NONE)
			fault = otlp_put_label(decoding, set, &attribute);
	}
	if (fault != FAULT_NONE || message.error == NULL)
		return fault;
	decoding->error = message.error;
	return FAULT_PROFILE;
}

static OtlpFault
put_indexed(Decoding *decoding, uint64_t index, AttributeLabels *set)
{
	const OtlpAttribute *attribute;
	OtlpFault fault =
		dictionary_attribute(&decoding->dictionary, index, &attribute, &decoding->error);

	return fault == FAULT_NONE ? otlp_put_label(decoding, set, attribute) : fault;
}

/* Adds the attributes of the table whose indexes are in a list. */
static OtlpFault
put_all_indexed(Decoding *decoding, const PfsWireField *indexes, AttributeLabels *set)
{
	size_t at = 0;
	uint64_t index;
	OtlpFault fault = FAULT_NONE;
	const char *error = NULL;

	if (indexes->wire_type == PFS_WIRE_VARINT)
		return put_indexed(decoding, indexes->value, set);
	while (fault == FAULT_NONE && packed_next(indexes, false, &at, &index, &error))
		fault = put_indexed(decoding, index, set);
	if (fault != FAULT_NONE || error == NULL)
		return fault;
	decoding->error = error;
	return FAULT_PROFILE;
}

/* --- series --- */

static OtlpFault
value_type_part(Decoding *decoding, Span value_type, unsigned number, PfsText *text)
{
	Message message = message_of(value_type);
	OtlpFault fault = FAULT_NONE;

	/* an absent field means index 0, the empty text */
	*text = (PfsText){ "", 0 };
	while (fault == FAULT_NONE && message_next(&message))
		if (field_is_number(&message.field, number))
			fault = dictionary_string(&decoding->dictionary, message.field.value, text,
									  &decoding->error);
	if (fault != FAULT_NONE || message.error == NULL)
		return fault;
	decoding->error = message.error;
	return FAULT_PROFILE;
}

/*
 * Returns true for sample types that are states at one time, by the names that Go uses for them.
 * The protocol requires all other types to be sums.
 */
static bool
is_instant(PfsText sample_type)
{
	return pfs_text_equals(sample_type, "goroutine") ||
		   (sample_type.length >= 6 && memcmp(sample_type.data, "inuse_", 6) == 0);
}

/* Returns true if the request marks values as counted since the start of the process (OTLP 1.8). */
static bool
is_cumulative(Span value_type)
{
	Message message = message_of(value_type);
	/* 0 is "unspecified" in OTLP 1.8, which counts as delta */
	uint64_t temporality = 0;

	while (message_next(&message))
		if (field_is_number(&message.field, VALUE_TYPE_TEMPORALITY))
			temporality = message.field.value;
	return temporality == TEMPORALITY_CUMULATIVE;
}

/*
 * Names the profile type after the period type, as for pprof files; without a period type, after
 * the sample type.
 */
static OtlpFault
otlp_name_type(Decoding *decoding, ProfileParts *parts)
{
	PfsProfile like = { .period = parts->period };
	PfsTypeParts type = { .name = { NULL, 0 } };
	const char *known;
	OtlpFault fault =
		value_type_part(decoding, parts->sample_type, VALUE_TYPE_TYPE, &type.sample_type);

	if (fault == FAULT_NONE)
		fault = value_type_part(decoding, parts->sample_type, VALUE_TYPE_UNIT, &type.sample_unit);
	if (fault == FAULT_NONE)
		fault = value_type_part(decoding, parts->period_type, VALUE_TYPE_TYPE, &type.period_type);
	if (fault == FAULT_NONE)
		fault = value_type_part(decoding, parts->period_type, VALUE_TYPE_UNIT, &type.period_unit);
	if (fault != FAULT_NONE)
		return fault;
	/*
	 * "cpu" becomes process_cpu, "space" memory: the names that Pyroscope and Parca give pprof
	 * files
	 */
	like.period_type = (PfsValueType){ type.period_type, type.period_unit };
	known = pfs_pprof_default_name(&like);
	type.name = known != NULL ? otlp_text(known) : type.sample_type;
	type.delta = !is_instant(type.sample_type) && !is_cumulative(parts->sample_type);
	pfs_profile_type_name(&type, parts->type);
	return FAULT_NONE;
}

/* Adds a series with the profile's type and these labels. */
static OtlpFault
otlp_add_series(Decoding *decoding, const ProfileParts *parts, const AttributeLabels *labels,
				uint32_t *index)
{
	const BatchSeries series = { .profile_type = parts->type,
								 .label_count = labels->count,
								 .labels = labels->labels,
								 .period = parts->period };
	OtlpFault fault = dictionary_work(&decoding->dictionary, 256 + 2 * labels->bytes);
	int err;

	if (fault != FAULT_NONE)
		return fault;
	/* The batch refuses labels that the database could not store, which is the profile's fault. */
	err = batch_add_series(decoding->batch, &series, index);
	if (err == 0)
		return FAULT_NONE;
	decoding->error = "labels cannot be stored";
	return err == -ENOMEM ? FAULT_ROOM : FAULT_PROFILE;
}

/* Sets the labels that the receiver defines. A label with an empty value only reserves its name. */
static void
fix_labels(Decoding *decoding, AttributeLabels *set)
{
	*set = (AttributeLabels){ 0 };
	for (size_t i = 0; i < decoding->request->fixed_count; i++)
		attribute_labels_fix(set, &decoding->request->fixed[i]);
}

/* Adds the series of a sample with all of its attributes; an empty sample has none. */
static OtlpFault
series_of(Decoding *decoding, const ProfileParts *parts, Span sample, RowLabels *row)
{
	Message message = message_of(sample);
	AttributeLabels labels;
	OtlpFault fault = FAULT_NONE;

	/* Each level starts from a copy of the outer one, whose attributes it replaces or completes. */
	decoding->of_sample = decoding->of_profile;
	while (fault == FAULT_NONE && message_next(&message))
		if (field_has_indexes(&message.field, decoding->layout->sample_attributes))
			fault = put_all_indexed(decoding, &message.field, &decoding->of_sample);
	if (fault != FAULT_NONE)
		return fault;
	decoding->result->skipped_attributes +=
		attribute_labels_settle(&labels, &decoding->of_sample, &decoding->arena, &row->ids);
	return otlp_add_series(decoding, parts, &labels, &row->series);
}

/*
 * Finds the series of a sample in the cache, by the bytes of its list of attributes, or adds it.
 * Only a sample whose attributes are one packed list, or none, is looked up: indexes in fields of
 * their own are not adjacent bytes.
 */
static OtlpFault
known_series_of(Decoding *decoding, const ProfileParts *parts, Span sample,
				const SampleParts *sample_parts, RowLabels *row)
{
	const PfsWireField *attributes = &sample_parts->attributes;
	const Span span = field_span(attributes);
	uint64_t hash = hash_bytes(decoding->seed, span.bytes, span.length);
	/*
	 * The cache has one entry per slot, which a collision replaces. The seed is random, so a client
	 * cannot make its samples collide.
	 */
	SeriesMemo *memo = &decoding->memo[hash & (SERIES_MEMO - 1)];
	OtlpFault fault;

	if (sample_parts->attribute_count > 1 ||
		(sample_parts->attribute_count == 1 && attributes->wire_type != PFS_WIRE_BYTES))
		return series_of(decoding, parts, sample, row);
	/* labels depend on the profile's own attributes, so entries of other profiles do not count */
	if (memo->profile == decoding->profile_number && memo->attributes.length == span.length &&
		(span.length == 0 || memcmp(memo->attributes.bytes, span.bytes, span.length) == 0))
	{
		*row = memo->labels;
		return FAULT_NONE;
	}
	fault = series_of(decoding, parts, sample, row);
	if (fault == FAULT_NONE)
		*memo = (SeriesMemo){ span, decoding->profile_number, *row };
	return fault;
}

/* --- samples --- */

/* Adds a value to the known trace and span; a value of 0 is skipped. */
static OtlpFault
otlp_add_trace(Decoding *decoding, const BatchSample *row, const PfsTraceIds *ids)
{
	BatchTrace *trace;

	/* a row without a value would add nothing to the trace's sums */
	if (row->value == 0 || (!pfs_trace_is_known(ids) && !pfs_span_is_known(ids)))
		return FAULT_NONE;
	if (grow_array_within(&decoding->budget, &decoding->traces, &decoding->trace_capacity,
						  decoding->trace_count, sizeof(decoding->traces[0])) != 0)
		return FAULT_ROOM;
	trace = &decoding->traces[decoding->trace_count++];
	trace->sample = *row;
	memcpy(trace->trace, ids->trace, sizeof(trace->trace));
	memcpy(trace->span, ids->span, sizeof(trace->span));
	return FAULT_NONE;
}

static OtlpFault
add_row(Decoding *decoding, int64_t time_us, const RowLabels *labels, uint32_t stack, int64_t value)
{
	const BatchSample row = { time_us, labels->series, stack, value };

	/* A wrong clock or a hostile client would otherwise create partitions for any day. */
	if (time_us < decoding->request->limits.first_us || time_us > decoding->request->limits.last_us)
	{
		decoding->error = "the time of a sample is too far from now";
		return FAULT_PROFILE;
	}
	if (grow_array_within(&decoding->budget, &decoding->rows, &decoding->row_capacity,
						  decoding->row_count, sizeof(decoding->rows[0])) != 0)
		return FAULT_ROOM;
	decoding->rows[decoding->row_count++] = row;
	return otlp_add_trace(decoding, &row, &labels->ids);
}

static void
add_value(SampleParts *parts, uint64_t value)
{
	int64_t sum;

	/*
	 * Values are signed in the protocol. A sum that overflows wraps, and otlp_check_sample()
	 * rejects it.
	 */
	parts->overflows |= __builtin_add_overflow((int64_t) parts->sum, (int64_t) value, &sum);
	parts->sum = (uint64_t) sum;
	parts->value_count++;
}

/*
 * Processes one field of a sample. Values are summed, and times only counted; add_timed_rows()
 * reads both again if each event gets a row.
 */
static OtlpFault
take_sample_field(Decoding *decoding, const PfsWireField *field, SampleParts *parts)
{
	const Layout *layout = decoding->layout;
	const char *error = NULL;
	size_t at = 0;
	uint64_t value;

	if (field_is_number(field, SAMPLE_STACK))
		parts->stack = field->value;
	else if (field_is_number(field, layout->sample_link))
		parts->link = field->value;
	else if (field_has_indexes(field, layout->sample_attributes))
	{
		parts->attributes = *field;
		parts->attribute_count++;
	}
	else if (field_is_number(field, layout->sample_values))
		add_value(parts, field->value);
	else if (field_is_message(field, layout->sample_values))
		while (packed_next(field, false, &at, &value, &error))
			add_value(parts, value);
	else if (field_is_message(field, SAMPLE_TIMES))
	{
		parts->time_count += packed_count(field, true);
		if (decoding->is_identified)
			fingerprint_times(&decoding->fingerprint, field->bytes, field->length);
		/* packed_count() rounds down, so half a time at the end would go unnoticed */
		if (field->length % sizeof(uint64_t) != 0)
			error = "a list of times is cut off within a time";
	}
	else if (field->number == SAMPLE_TIMES && field->wire_type == PFS_WIRE_64_BITS)
	{
		parts->time_count++;
		if (decoding->is_identified)
			fingerprint_times(&decoding->fingerprint, field->bytes, sizeof(uint64_t));
	}
	if (error == NULL)
		return FAULT_NONE;
	decoding->error = error;
	return FAULT_PROFILE;
}

/* Adds a row for each value and its time. Values and times must each be one packed list. */
static OtlpFault
add_timed_rows(Decoding *decoding, Span span, const SampleParts *parts, const RowLabels *labels,
			   uint32_t stack)
{
	Message message = message_of(span);
	PfsWireField values = { 0 };
	PfsWireField times = { 0 };
	const char *error = NULL;
	size_t value_at = 0;
	size_t time_at = 0;
	/* nanoseconds in the protocol, microseconds in the database */
	uint64_t value = 1;
	uint64_t time_ns;
	OtlpFault fault = FAULT_NONE;

	while (message_next(&message))
	{
		if (field_is_message(&message.field, decoding->layout->sample_values))
			values = message.field;
		else if (field_is_message(&message.field, SAMPLE_TIMES))
			times = message.field;
	}
	/*
	 * The loop below steps through one list of each. Exporters write packed lists; a list that is
	 * divided into several fields is refused, because its order would be lost here.
	 */
	if (packed_count(&times, true) != parts->time_count)
		error = "times of a sample are not in one list";
	while (fault == FAULT_NONE && error == NULL &&
		   packed_next(&times, true, &time_at, &time_ns, &error))
	{
		/* without values each time counts 1, the initial value */
		if (parts->value_count > 0 && !packed_next(&values, false, &value_at, &value, &error))
			error = "values of a sample are not in one list";
		else
			fault =
				add_row(decoding, (int64_t) (time_ns / NS_PER_US), labels, stack, (int64_t) value);
	}
	if (error == NULL)
		return fault;
	decoding->error = error;
	return FAULT_PROFILE;
}

static OtlpFault
otlp_check_sample(Decoding *decoding, const SampleParts *parts)
{
	if (parts->overflows)
		decoding->error = "the sum of a sample's values exceeds 64 bits";
	else if (parts->value_count == 0 && parts->time_count == 0)
		decoding->error = "a sample has neither values nor times";
	else if (parts->time_count == 0 && parts->value_count > 1)
		decoding->error = "a sample has several values, but no times";
	else if (parts->time_count > 0 && parts->value_count > 0 &&
			 parts->value_count != parts->time_count)
		decoding->error = "a sample has different numbers of values and times";
	else
		return FAULT_NONE;
	return FAULT_PROFILE;
}

/* Stores the ids of a link, which replace ids from attributes. */
static OtlpFault
take_link(Decoding *decoding, uint64_t index, PfsTraceIds *ids)
{
	PfsTraceIds link;
	OtlpFault fault = dictionary_link(&decoding->dictionary, index, &link, &decoding->error);

	if (fault == FAULT_NONE && pfs_trace_is_known(&link))
		memcpy(ids->trace, link.trace, sizeof(ids->trace));
	if (fault == FAULT_NONE && pfs_span_is_known(&link))
		memcpy(ids->span, link.span, sizeof(ids->span));
	return fault;
}

static OtlpFault
fingerprint_parts(Decoding *decoding, const SampleParts *parts, const RowLabels *labels,
				  uint32_t stack)
{
	const FingerprintSample sample = { .series = labels->series,
									   .stack = stack,
									   .value_count = parts->value_count,
									   .sum = parts->sum,
									   .time_count = parts->time_count,
									   .ids = &labels->ids };

	return decoding->is_identified ? fingerprint_sample(&decoding->fingerprint, &sample)
								   : FAULT_NONE;
}

/* Converts one sample to a row, or to a row for each of its times. */
static OtlpFault
add_sample(Decoding *decoding, const ProfileParts *profile, Span span)
{
	Message message = message_of(span);
	SampleParts parts = { 0 };
	OtlpFault fault = FAULT_NONE;
	RowLabels labels;
	uint32_t stack;
	int64_t value;

	/* 1. Read the sample's fields, in any order. */
	while (fault == FAULT_NONE && message_next(&message))
		fault = take_sample_field(decoding, &message.field, &parts);
	if (fault == FAULT_NONE)
		fault = dictionary_work(&decoding->dictionary, 64 + 2 * span.length);
	if (fault == FAULT_NONE)
		fault = otlp_check_sample(decoding, &parts);
	/*
	 * 2. Find its series and its stack, which may add items to the batch. They stay there, unused,
	 * if the profile is rejected.
	 */
	if (fault == FAULT_NONE)
		fault = known_series_of(decoding, profile, span, &parts, &labels);
	if (fault == FAULT_NONE && parts.link != 0)
		fault = take_link(decoding, parts.link, &labels.ids);
	if (fault == FAULT_NONE)
		fault = dictionary_stack(&decoding->dictionary, parts.stack, decoding->partition, &stack,
								 &decoding->error);
	if (fault == FAULT_NONE)
		fault = fingerprint_parts(decoding, &parts, &labels, stack);
	if (fault != FAULT_NONE)
		return fault;
	/* 3. Add its rows. A value of 0 gets no row, but the sample is counted. */
	decoding->result->samples += MAX(parts.time_count, 1);
	if (decoding->request->keep_times && parts.time_count > 0)
		return add_timed_rows(decoding, span, &parts, &labels, stack);
	value = parts.value_count > 0 ? (int64_t) parts.sum : (int64_t) parts.time_count;
	return value == 0 ? FAULT_NONE : add_row(decoding, profile->time_us, &labels, stack, value);
}

/* --- profiles --- */

/* Finds the oldest time of a sample, for a profile that has no time; INT64_MAX if there is none. */
static void
oldest_time(Span sample, uint64_t *oldest_ns)
{
	Message message = message_of(sample);

	while (message_next(&message))
	{
		const char *error = NULL;
		size_t at = 0;
		uint64_t time_ns;

		if (field_is_message(&message.field, SAMPLE_TIMES))
			while (packed_next(&message.field, true, &at, &time_ns, &error))
				*oldest_ns = MIN(*oldest_ns, time_ns);
	}
}

/* Chooses the time of rows that have no time of their own. */
static void
otlp_choose_time(Decoding *decoding, Span profile, ProfileParts *parts)
{
	Message message = message_of(profile);
	uint64_t oldest_ns = INT64_MAX;

	/* In order: the profile's time, its oldest sample's, the current time. */
	parts->time_us = parts->time_ns / NS_PER_US;
	if (parts->time_ns != 0)
		return;
	while (message_next(&message))
		if (field_is_message(&message.field, PROFILE_SAMPLES))
			oldest_time(field_span(&message.field), &oldest_ns);
	parts->time_us = (int64_t) (oldest_ns / NS_PER_US);
	if (oldest_ns != INT64_MAX)
		return;
	parts->time_us = decoding->request->limits.now_us;
	decoding->result->has_times = false;
}

/* Reads the fields of a profile except its samples. */
static OtlpFault
read_profile_parts(Decoding *decoding, Span profile, ProfileParts *parts)
{
	const Layout *layout = decoding->layout;
	Message message = message_of(profile);
	OtlpFault fault = FAULT_NONE;

	decoding->of_profile = decoding->of_scope;
	fault = dictionary_work(&decoding->dictionary, sizeof(AttributeLabels) / 2);
	while (fault == FAULT_NONE && message_next(&message))
	{
		const PfsWireField *field = &message.field;

		/* if a field is repeated the last one counts, as protobuf requires */
		if (field_is_message(field, PROFILE_SAMPLE_TYPE))
			parts->sample_type = field_span(field);
		else if (field->number == PROFILE_TIME && field->wire_type == PFS_WIRE_64_BITS)
			parts->time_ns = (int64_t) little_endian_64(field->bytes);
		else if (field_is_message(field, PROFILE_PERIOD_TYPE))
			parts->period_type = field_span(field);
		else if (field_is_number(field, PROFILE_PERIOD))
			parts->period = (int64_t) field->value;
		else if (field_is_message(field, layout->profile_id))
			parts->id = field_span(field);
		else if (field_is_message(field, layout->profile_payload))
			parts->has_payload = true;
		else if (field_has_indexes(field, layout->profile_attributes))
			fault = put_all_indexed(decoding, field, &decoding->of_profile);
		else if (layout->profile_comments != 0 &&
				 field_has_indexes(field, layout->profile_comments))
			fault = dictionary_add_comments(&decoding->dictionary, field,
											&decoding->of_profile.note, &decoding->error);
	}
	if (fault != FAULT_NONE || message.error == NULL)
		return fault;
	decoding->error = message.error;
	return FAULT_PROFILE;
}

/* Adds a row of value 0, so that the series shows the time of a scrape without samples. */
static OtlpFault
add_empty_row(Decoding *decoding, const ProfileParts *parts)
{
	const SampleParts nothing = { 0 };
	RowLabels labels;
	uint32_t stack;
	OtlpFault fault = series_of(decoding, parts, (Span){ NULL, 0 }, &labels);

	if (fault == FAULT_NONE)
		fault = dictionary_stack(&decoding->dictionary, 0, decoding->partition, &stack,
								 &decoding->error);
	if (fault == FAULT_NONE)
		fault = fingerprint_parts(decoding, &nothing, &labels, stack);
	return fault == FAULT_NONE ? add_row(decoding, parts->time_us, &labels, stack, 0) : fault;
}

static bool
has_id(Span id)
{
	static const uint8_t none[PROFILE_ID_BYTES];

	return id.length == sizeof(none) && memcmp(id.bytes, none, sizeof(none)) != 0;
}

/*
 * Begins the profile's digest. The profile's id does not suffice, because a client may use one id
 * for all of its profiles, or for the parts of a divided one.
 */
static OtlpFault
begin_fingerprint(Decoding *decoding, const ProfileParts *parts)
{
	const FingerprintProfile profile = { .id = parts->id,
										 .type = parts->type,
										 .time_us = parts->time_us,
										 .period = parts->period,
										 .note = &decoding->of_profile.note };

	/*
	 * One profile without an id makes the request unrecognizable, and saves digesting the profiles
	 * after it.
	 */
	decoding->result->has_ids &= has_id(parts->id);
	decoding->is_identified = decoding->result->has_ids;
	return decoding->is_identified ? fingerprint_begin(&decoding->fingerprint, &profile)
								   : FAULT_NONE;
}

/*
 * Converts a profile to rows. They are kept in decoding and not added to the batch, because a fault
 * may still reject the profile.
 */
static OtlpFault
otlp_read_rows(Decoding *decoding, Span profile)
{
	ProfileParts parts = { .period = 0 };
	Message message = message_of(profile);
	OtlpFault fault;

	/* invalidates the entries of the cache of series */
	decoding->profile_number++;
	decoding->row_count = 0;
	decoding->trace_count = 0;
	/*
	 * 1. Read the fields that all samples share: type and time may follow the samples in the
	 * message.
	 */
	fault = read_profile_parts(decoding, profile, &parts);
	if (fault == FAULT_NONE)
		fault = otlp_name_type(decoding, &parts);
	if (fault != FAULT_NONE)
		return fault;
	otlp_choose_time(decoding, profile, &parts);
	/* 2. Convert the samples. */
	fault = begin_fingerprint(decoding, &parts);
	while (fault == FAULT_NONE && message_next(&message))
		if (field_is_message(&message.field, PROFILE_SAMPLES))
			fault = add_sample(decoding, &parts, field_span(&message.field));
	if (fault == FAULT_NONE && decoding->row_count == 0)
		fault = add_empty_row(decoding, &parts);
	if (fault == FAULT_NONE && decoding->is_identified)
		fault = fingerprint_end(&decoding->fingerprint);
	decoding->result->original_payloads += fault == FAULT_NONE && parts.has_payload;
	return fault;
}

static int
compare_link_numbers(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *) a;
	uint32_t right = *(const uint32_t *) b;

	return (left > right) - (left < right);
}

/* Lists the distinct series of the rows, in the arena; NULL if out of memory. */
static uint32_t *
list_series(Decoding *decoding, size_t *count)
{
	uint32_t *series = arena_alloc(&decoding->arena, sizeof(uint32_t) * decoding->row_count);
	size_t all = 0;

	*count = 0;
	if (series == NULL)
		return NULL;
	for (size_t i = 0; i < decoding->row_count; i++)
		/* Neighbouring rows mostly have one series, so this leaves little to sort. */
		if (i == 0 || decoding->rows[i].series != series[all - 1])
			series[all++] = decoding->rows[i].series;
	qsort(series, all, sizeof(uint32_t), compare_link_numbers);
	for (size_t i = 0; i < all; i++)
		if (*count == 0 || series[i] != series[*count - 1])
			series[(*count)++] = series[i];
	return series;
}

static size_t
text_bytes(const char *text)
{
	return text != NULL ? strlen(text) : 0;
}

/* Returns the bytes of a note's texts, which are read again for each series. */
static size_t
note_bytes(const BatchNote *note)
{
	size_t bytes = text_bytes(note->default_type) + text_bytes(note->doc_url) +
				   text_bytes(note->drop_frames) + text_bytes(note->keep_frames);

	for (uint32_t i = 0; i < note->comment_count; i++)
		bytes += sizeof(note->comments[0]) + strlen(note->comments[i]);
	return bytes;
}

/* Adds the profile's note to each of its series. */
static OtlpFault
store_note(Decoding *decoding)
{
	const BatchNote *note = &decoding->of_profile.note;
	uint32_t *series;
	OtlpFault fault;
	size_t count;

	if (note_is_empty(note))
		return FAULT_NONE;
	series = list_series(decoding, &count);
	if (series == NULL)
		return FAULT_ROOM;
	fault = dictionary_work(&decoding->dictionary, decoding->row_count + note_bytes(note) +
													   count * (1 + note->comment_count) * 8);
	if (fault != FAULT_NONE)
		return fault;
	return batch_add_notes(decoding->batch, note, series, count) == 0 ? FAULT_NONE : FAULT_ROOM;
}

/*
 * Adds the rows to the batch. A sum beyond 64 bits fails after some rows were added, so it refuses
 * the whole request.
 */
static OtlpFault
otlp_store_rows(Decoding *decoding)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < decoding->row_count; i++)
		err = batch_add_sample(decoding->batch, &decoding->rows[i]);
	for (size_t i = 0; err == 0 && i < decoding->trace_count; i++)
		err = batch_add_trace(decoding->batch, &decoding->traces[i]);
	/*
	 * FAULT_PROFILE would continue with the next profile, and the rows added so far would be
	 * stored.
	 */
	if (err == -EOVERFLOW)
	{
		decoding->error = "the sum of equal samples exceeds 64 bits";
		return FAULT_WORK;
	}
	return err == 0 ? FAULT_NONE : FAULT_ROOM;
}

/* Decodes a profile. An invalid profile is counted, and the other profiles are decoded. */
static OtlpFault
add_profile(Decoding *decoding, Span profile)
{
	OtlpResult *result = decoding->result;
	const OtlpResult before = *result;
	OtlpFault fault = otlp_read_rows(decoding, profile);

	if (fault == FAULT_NONE)
	{
		result->profiles++;
		fault = store_note(decoding);
		return fault == FAULT_NONE ? otlp_store_rows(decoding) : fault;
	}
	if (fault != FAULT_PROFILE)
		return fault;
	/* samples and attributes of a rejected profile are not counted */
	*result = before;
	result->rejected_profiles++;
	/* the answer has room for one message, that of the first rejected profile */
	if (result->message == NULL)
		result->message = decoding->error;
	decoding->error = NULL;
	return FAULT_NONE;
}

/* --- resources and scopes --- */

/* Reads the scope's attributes, then its profiles, which need the attributes. */
static OtlpFault
otlp_read_scope(Decoding *decoding, Span span)
{
	Message message = message_of(span);
	OtlpFault fault = FAULT_NONE;

	decoding->of_scope = decoding->of_resource;
	fault = dictionary_work(&decoding->dictionary, sizeof(AttributeLabels) / 4);
	/* Two passes, because the scope's attributes may follow its profiles in the message. */
	while (fault == FAULT_NONE && message_next(&message))
		if (field_is_message(&message.field, SCOPE_PROFILES_SCOPE))
			fault = put_attributes(decoding, field_span(&message.field), SCOPE_ATTRIBUTES,
								   &decoding->of_scope);
	message = message_of(span);
	while (fault == FAULT_NONE && message_next(&message))
		if (field_is_message(&message.field, SCOPE_PROFILES_PROFILES))
			fault = add_profile(decoding, field_span(&message.field));
	return fault;
}

/*
 * Chooses the partition: the program's build ID, otherwise the service, otherwise the program's
 * name.
 */
static OtlpFault
otlp_choose_partition(Decoding *decoding)
{
	static const PfsText other = { "otlp", 4 };
	const char *program = attribute_labels_find(&decoding->of_resource, EXECUTABLE_NAME);
	const char *service = attribute_labels_find(&decoding->of_resource, SERVICE_LABEL);
	PfsText partition;
	OtlpFault fault =
		dictionary_build_id(&decoding->dictionary, program, &partition, &decoding->error);

	/* Ignore the fault here: each profile that uses the mapping reports it. */
	if (fault == FAULT_PROFILE)
	{
		partition.length = 0;
		decoding->error = NULL;
	}
	else if (fault != FAULT_NONE)
		return fault;
	/*
	 * The build ID separates the stacks of two builds of a program; a service's name at least those
	 * of two services.
	 */
	if (partition.length == 0)
		partition.data = service[0] != '\0' ? service : program[0] != '\0' ? program : other.data;
	if (partition.length == 0)
		partition.length = (uint32_t) strlen(partition.data);
	fault = dictionary_own(&decoding->dictionary, partition, &decoding->partition);
	/* the text may have grown, because invalid UTF-8 was replaced */
	if (fault == FAULT_NONE && strlen(decoding->partition) > PARTITION_MAX)
		fault = dictionary_own(&decoding->dictionary, other, &decoding->partition);
	return fault;
}

/* Reads the resource's attributes, then its scopes, whose profiles need the attributes. */
static OtlpFault
read_resource(Decoding *decoding, Span span)
{
	Message message = message_of(span);
	OtlpFault fault = FAULT_NONE;

	fix_labels(decoding, &decoding->of_resource);
	fault = dictionary_work(&decoding->dictionary, sizeof(AttributeLabels) / 4);
	/* Two passes, because the resource may follow its scopes in the message. */
	while (fault == FAULT_NONE && message_next(&message))
		if (field_is_message(&message.field, RESOURCE_PROFILES_RESOURCE))
			fault = put_attributes(decoding, field_span(&message.field), RESOURCE_ATTRIBUTES,
								   &decoding->of_resource);
	if (fault == FAULT_NONE)
		fault = otlp_choose_partition(decoding);
	message = message_of(span);
	while (fault == FAULT_NONE && message_next(&message))
		if (field_is_message(&message.field, RESOURCE_PROFILES_SCOPES))
			fault = otlp_read_scope(decoding, field_span(&message.field));
	return fault;
}

static OtlpFault
otlp_read_request(Decoding *decoding)
{
	const Span body = decoding->request->body;
	Message message = message_of(body);
	OtlpFault fault = dictionary_open(&decoding->dictionary, body, &decoding->error);

	while (fault == FAULT_NONE && message_next(&message))
		if (field_is_message(&message.field, REQUEST_RESOURCE_PROFILES))
			fault = read_resource(decoding, field_span(&message.field));
	return fault;
}

static DecodeEnd
otlp_end_of(Decoding *decoding, OtlpFault fault)
{
	OtlpResult *result = decoding->result;

	if (fault == FAULT_NONE)
		return DECODE_OK;
	result->message = decoding->error;
	/* lack of room and the limit of time have texts of their own */
	if (fault == FAULT_ROOM)
		result->message = DECODE_TOO_LARGE;
	else if (fault == FAULT_WORK && decoding->dictionary.is_late)
		result->message = "the request takes too long to read";
	else if (fault == FAULT_WORK && result->message == NULL)
		result->message = "the request refers to large items too often";
	return fault == FAULT_ROOM ? DECODE_NO_ROOM : DECODE_INVALID;
}

DecodeEnd
otlp_decode(const OtlpRequest *request, Batch *batch, OtlpResult *result)
{
	Decoding *decoding;
	Dialect dialect;
	const char *error;
	DecodeEnd end;

	*result = (OtlpResult){ .has_times = true, .has_ids = true };
	/* names decide in JSON, and json_to_protobuf() writes the layout of 1.10 */
	if (request->is_json)
		dialect = DIALECT_1_10;
	else if (!dialect_of_request(request->body, &dialect, &error))
	{
		result->message = error;
		return DECODE_INVALID;
	}
	/* too large for the stack, mostly because of the sets of labels and the cache of series */
	decoding = calloc(1, sizeof(Decoding));
	if (decoding == NULL)
		return DECODE_NO_MEMORY;
	decoding->request = request;
	decoding->result = result;
	decoding->batch = batch;
	decoding->layout = dialect_layout(dialect);
	decoding->seed = hash_seed();
	decoding->budget =
		(Budget){ .limit_bytes = OTLP_MEMORY_BYTES, .share = request->limits.memory };
	arena_init(&decoding->arena, &decoding->budget);
	decoding->dictionary =
		(OtlpDictionary){ .batch = batch,
						  .arena = &decoding->arena,
						  .rule = request->rule,
						  .limit = request->limits.limit,
						  .work_left = WORK_FREE + WORK_PER_BYTE * (int64_t) request->body.length };
	result->version = decoding->layout->name;
	end = otlp_end_of(decoding, fingerprint_init(&decoding->fingerprint, &decoding->dictionary,
												 &decoding->budget)
									? otlp_read_request(decoding)
									: FAULT_ROOM);
	if (end == DECODE_OK && !fingerprint_of_request(&decoding->fingerprint, result->fingerprint))
		end = DECODE_NO_MEMORY;
	fingerprint_fini(&decoding->fingerprint);
	arena_fini(&decoding->arena);
	free(decoding->rows);
	free(decoding->traces);
	/* releases the rows' share, too; the budget ends with the request */
	budget_release(&decoding->budget, decoding->budget.used_bytes);
	free(decoding);
	return end;
}
