/*
 * test_otlp.c
 *		Requests of OTLP profiles, in the layouts of 1.9 and 1.10, and as JSON: their content in a
 *		batch, profiles that are rejected alone, and requests that are refused whole.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "otlp/dialect.h"
#include "otlp/fields.h"
#include "otlp/json.h"
#include "otlp/labels.h"
#include "otlp/otlp_decode.h"
#include "otlp_request.h"
#include "proto_builder.h"

#define CPU "process_cpu:samples:count:cpu:nanoseconds:delta"

static const AttributeRule rule = { "thread.id" };

/* Memory of the decoded requests; NULL: not counted. */
static MemoryShare *memory; /* NULL: not counted */
static bool is_json;

static DecodeEnd
decode(Span body, bool keep_times, Batch **batch, OtlpResult *result)
{
	const BatchLabel tenant = { "tenant", "" };
	const OtlpRequest request = { .body = body,
								  .rule = &rule,
								  .fixed = &tenant,
								  .fixed_count = 1,
								  .keep_times = keep_times,
								  .limits.now_us = NOW_US,
								  .limits.first_us = NOW_US - 3600 * SECOND_US,
								  .limits.last_us = NOW_US + 3600 * SECOND_US,
								  .is_json = is_json,
								  .limits.memory = memory };

	assert_int_equal(batch_create((size_t) 16 * 1024 * 1024, batch), 0);
	return otlp_decode(&request, *batch, result);
}

/* --- what becomes of it --- */

static const char *
label(const BatchSeries *series, const char *name)
{
	for (uint32_t i = 0; i < series->label_count; i++)
		if (strcmp(series->labels[i].name, name) == 0)
			return series->labels[i].value;
	return "";
}

/* Returns the sum over all rows of samples with or without a thread's name, and of this depth. */
static int64_t
sum_of(const Batch *batch, const char *thread, uint32_t depth)
{
	const BatchSample *samples;
	const BatchSeries *series;
	const BatchStack *stacks;
	size_t count = batch_samples(batch, &samples);
	int64_t sum = 0;

	batch_series(batch, &series);
	batch_stacks(batch, &stacks);
	for (size_t i = 0; i < count; i++)
	{
		const BatchSeries *of = &series[samples[i].series];

		assert_string_equal(of->profile_type, CPU);
		assert_string_equal(label(of, "service_name"), "shop");
		assert_string_equal(label(of, "exported_tenant"), "somebody");
		assert_string_equal(label(of, "tenant"), "");
		assert_string_equal(label(of, "thread_id"), "");
		assert_int_equal(of->period, 50000000);
		if (strcmp(label(of, "thread_name"), thread) == 0 &&
			stacks[samples[i].stack].depth == depth)
			sum += samples[i].value;
	}
	return sum;
}

static void
assert_stack(const Batch *batch)
{
	const BatchStack *stacks;
	const BatchLocation *locations;
	const BatchMapping *mappings;
	const BatchFunction *functions;
	const BatchLocation *leaf;
	const BatchLocation *root;

	batch_stacks(batch, &stacks);
	batch_locations(batch, &locations);
	batch_mappings(batch, &mappings);
	batch_functions(batch, &functions);
	assert_int_equal(stacks[0].depth, 2);
	assert_string_equal(stacks[0].partition, "abcd"); /* the program's build ID */
	leaf = &locations[stacks[0].locations[0]];
	root = &locations[stacks[0].locations[1]];
	assert_int_equal(leaf->address, 0x1000);
	assert_int_equal(leaf->line_count, 0);
	assert_string_equal(mappings[leaf->mapping].build_id, "abcd");
	assert_int_equal(root->address, 0); /* a line without a number */
	assert_string_equal(mappings[root->mapping].file, "[cpython]");
	assert_string_equal(functions[root->lines[0].function].name, "main");
	assert_int_equal(root->lines[0].line, 12);
}

static Proto
usual_request(Dialect dialect)
{
	const Proto samples[] = { sample(dialect, 1, 7, 0), sample(dialect, 1, 11, 1),
							  sample(dialect, 2, 13, 4), sample(dialect, 1, 17, 0) };
	Proto one = profile(samples, 4);

	proto_text(&one, dialect_layout(dialect)->profile_id, "sixteen bytes of");
	return request_of(&one, 1);
}

static void
assert_usual(Span body, const char *version)
{
	OtlpResult result;
	Batch *batch;

	assert_int_equal(decode(body, false, &batch, &result), DECODE_OK);
	assert_string_equal(result.version, version);
	assert_int_equal(result.profiles, 1);
	assert_int_equal(result.rejected_profiles, 0);
	assert_int_equal(result.samples, 4);
	assert_true(result.has_times);
	assert_true(result.has_ids);
	assert_int_equal(sum_of(batch, "", 2), 24);
	assert_int_equal(sum_of(batch, "worker", 2), 11);
	assert_int_equal(sum_of(batch, "", 1), 13);
	assert_stack(batch);
	batch_free(batch);
}

static void
test_layouts(void **state)
{
	const Proto newer = usual_request(DIALECT_1_10);
	const Proto older = usual_request(DIALECT_1_9);
	const Proto oldest = usual_request(DIALECT_1_8);

	assert_usual(proto_span(&newer), "1.10");
	assert_usual(proto_span(&older), "1.9");
	assert_usual(proto_span(&oldest), "1.8");
}

/* Returns the fingerprint of a request whose profiles have ids. */
static void
fingerprint_of(Span body, uint8_t fingerprint[FINGERPRINT_BYTES])
{
	OtlpResult result;
	Batch *batch;

	assert_int_equal(decode(body, false, &batch, &result), DECODE_OK);
	assert_true(result.has_ids && result.profiles > 0);
	memcpy(fingerprint, result.fingerprint, FINGERPRINT_BYTES);
	batch_free(batch);
}

/* Replaces all occurrences of a text by another one of the same length. */
static void
patch(Proto *body, const char *text, const char *by)
{
	uint8_t *at = memmem(body->bytes, body->length, text, strlen(text));

	assert_non_null(at);
	assert_int_equal(strlen(text), strlen(by));
	for (; at != NULL; at = memmem(body->bytes, body->length, text, strlen(text)))
		memcpy(at, by, strlen(by));
}

/* Profiles with one id and equal times, values and depths differ if any of their names differs. */
static void
test_fingerprints(void **state)
{
	static const char *const changes[][2] = {
		{ "main", "mein" },		 { "work.c", "werk.c" },   { "/bin/prog", "/bin/frog" },
		{ "abcd", "abce" },		 { "cpython", "ccython" }, { "worker", "walker" },
		{ "shop", "shot" },		 { "samples", "sampled" }, { "http://notes", "http://motes" },
		{ "sixteen", "sixtees" }
	};
	const Proto samples[] = { sample(DIALECT_1_10, 1, 7, 1), sample(DIALECT_1_10, 1, 0, 0) };
	const Proto swapped[] = { sample(DIALECT_1_10, 1, 0, 1), sample(DIALECT_1_10, 1, 7, 0) };
	Proto one = profile(samples, 2);
	Proto other = profile(swapped, 2);
	Proto pair[2];
	Proto body;
	uint8_t first[FINGERPRINT_BYTES];
	uint8_t second[FINGERPRINT_BYTES];

	proto_list(&one, dialect_layout(DIALECT_1_10)->profile_attributes, 1, 6);
	proto_text(&one, dialect_layout(DIALECT_1_10)->profile_id, "sixteen bytes of");
	body = request_of(&one, 1);
	fingerprint_of(proto_span(&body), first);
	fingerprint_of(proto_span(&body), second);
	assert_memory_equal(first, second, FINGERPRINT_BYTES);
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++)
	{
		Proto changed = body;

		patch(&changed, changes[i][0], changes[i][1]);
		fingerprint_of(proto_span(&changed), second);
		assert_memory_not_equal(first, second, FINGERPRINT_BYTES);
	}

	/* the order of profiles does not matter, series of samples do */
	proto_list(&other, dialect_layout(DIALECT_1_10)->profile_attributes, 1, 6);
	proto_text(&other, dialect_layout(DIALECT_1_10)->profile_id, "sixteen bytes of");
	body = request_of(&other, 1);
	fingerprint_of(proto_span(&body), second);
	assert_memory_not_equal(first, second, FINGERPRINT_BYTES);
	pair[0] = one;
	pair[1] = other;
	body = request_of(pair, 2);
	fingerprint_of(proto_span(&body), first);
	pair[0] = other;
	pair[1] = one;
	body = request_of(pair, 2);
	fingerprint_of(proto_span(&body), second);
	assert_memory_equal(first, second, FINGERPRINT_BYTES);
	pair[1] = other;
	body = request_of(pair, 2);
	fingerprint_of(proto_span(&body), second);
	assert_memory_not_equal(first, second, FINGERPRINT_BYTES);
}

/* A request in another layout has the same content. */
static void
test_fingerprints_of_layouts(void **state)
{
	uint8_t fingerprints[DIALECT_1_10 + 1][FINGERPRINT_BYTES];

	for (Dialect dialect = DIALECT_1_8; dialect <= DIALECT_1_10; dialect++)
	{
		const Proto body = usual_request(dialect);

		fingerprint_of(proto_span(&body), fingerprints[dialect]);
	}
	assert_memory_equal(fingerprints[DIALECT_1_8], fingerprints[DIALECT_1_10], FINGERPRINT_BYTES);
	assert_memory_equal(fingerprints[DIALECT_1_9], fingerprints[DIALECT_1_10], FINGERPRINT_BYTES);
}

static void
assert_type(Span body, const char *version, const char *type)
{
	const BatchSeries *series;
	OtlpResult result;
	Batch *batch;

	assert_int_equal(decode(body, false, &batch, &result), DECODE_OK);
	assert_string_equal(result.version, version);
	assert_int_equal(batch_series(batch, &series), 1);
	assert_string_equal(series[0].profile_type, type);
	batch_free(batch);
}

/* OTLP 1.8 states whether values add up, which identifies this layout. */
static void
test_temporality(void **state)
{
	static const char *const types[] = { CPU, CPU, "process_cpu:samples:count:cpu:nanoseconds" };

	for (unsigned temporality = 0; temporality < 3; temporality++)
	{
		/* a value for each time: without the temporality the values could be attributes of 1.10 */
		const Proto period = value_type(3, 4);
		const uint64_t times[] = { BEGIN_NS };
		Proto type = value_type(1, 2);
		Proto item = { .length = 0 };
		Proto one = { .length = 0 };
		Proto body;

		proto_number(&type, VALUE_TYPE_TEMPORALITY, temporality);
		proto_number(&item, SAMPLE_STACK, 1);
		proto_list(&item, dialect_layout(DIALECT_1_8)->sample_values, 1, 5);
		proto_fixed_list(&item, SAMPLE_TIMES, times, 1);
		proto_message(&one, PROFILE_SAMPLE_TYPE, &type);
		proto_message(&one, PROFILE_SAMPLES, &item);
		proto_fixed(&one, PROFILE_TIME, BEGIN_NS);
		proto_message(&one, PROFILE_PERIOD_TYPE, &period);
		proto_text(&one, dialect_layout(DIALECT_1_8)->profile_id, "sixteen bytes of");
		body = request_of(&one, 1);
		assert_type(proto_span(&body), "1.8", types[temporality]);
	}
}

static void
test_temporality_in_json(void **state)
{
	static const struct
	{
		const char *text;
		bool is_delta;
	} cases[] = { { "2", false },
				  { "1", true },
				  { "null", true },
				  { "\"AGGREGATION_TEMPORALITY_CUMULATIVE\"", false },
				  { "\"AGGREGATION_TEMPORALITY_DELTA\"", true },
				  { "\"\"", true } };

	is_json = true;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		char text[512];
		const char *error;
		size_t offset;
		size_t length;
		uint8_t *body;
		int bytes = snprintf(text, sizeof(text),
							 "{\"resourceProfiles\":[{\"scopeProfiles\":[{\"profiles\":[{"
							 "\"sampleType\":{\"typeStrindex\":1,\"aggregationTemporality\":%s},"
							 "\"timeUnixNano\":\"%llu\"}]}]}],"
							 "\"dictionary\":{\"stringTable\":[\"\",\"bytes\"]}}",
							 cases[i].text, (unsigned long long) BEGIN_NS);

		body = json_to_protobuf((Span){ (uint8_t *) text, (size_t) bytes }, &json_request, NULL,
								&length, &error, &offset);
		assert_non_null(body);
		assert_type((Span){ body, length }, "1.10",
					cases[i].is_delta ? "bytes:bytes:unknown:::delta" : "bytes:bytes:unknown::");
		free(body);
	}
	is_json = false;
}

/* Returns the note of the only series without a thread's name, or of all series. */
static void
assert_note(const Batch *batch, const char *first, const char *second, const char *doc_url)
{
	const BatchNote *notes;
	const BatchSeries *series;
	const size_t series_count = batch_series(batch, &series);

	assert_int_equal(series_count, 2);
	assert_int_equal(batch_notes(batch, &notes), series_count); /* one note for each series */
	assert_int_not_equal(notes[0].series, notes[1].series);
	for (size_t i = 0; i < series_count; i++)
	{
		assert_int_equal(notes[i].comment_count, 2);
		assert_string_equal(notes[i].comments[0], first);
		assert_string_equal(notes[i].comments[1], second);
		assert_string_equal(notes[i].doc_url, doc_url);
		assert_string_equal(notes[i].default_type, "");
		assert_string_equal(notes[i].drop_frames, "");
		assert_string_equal(notes[i].keep_frames, "");
		assert_string_equal(label(&series[i], "pprof_profile_doc_url"), "");
		assert_string_equal(label(&series[i], "pprof_profile_comment"), "");
	}
}

/*
 * Comments are attributes, in 1.8 a field; they belong to two series, and not to another profile.
 */
static void
test_notes(void **state)
{
	for (Dialect dialect = DIALECT_1_8; dialect <= DIALECT_1_10; dialect++)
	{
		const Layout *layout = dialect_layout(dialect);
		const Proto samples[] = { sample(dialect, 1, 7, 0), sample(dialect, 1, 11, 1),
								  sample(dialect, 2, 13, 0), sample(dialect, 2, 17, 1) };
		Proto noted = profile(samples, 4);
		Proto body;
		OtlpResult result;
		Batch *batch;

		if (dialect == DIALECT_1_8)
		{
			proto_list(&noted, layout->profile_comments, 1, 5);
			proto_number(&noted, layout->profile_comments, 6);
			proto_list(&noted, layout->profile_attributes, 1, 6);
		}
		else
			proto_list(&noted, layout->profile_attributes, 2, 5, 6);
		proto_text(&noted, layout->profile_id, "sixteen bytes of");
		body = request_of(&noted, 1);
		assert_int_equal(decode(proto_span(&body), false, &batch, &result), DECODE_OK);
		assert_string_equal(result.version, layout->name);
		assert_int_equal(result.profiles, 1);
		if (dialect == DIALECT_1_8)
			assert_note(batch, "leaf", "main", "http://notes.example/");
		else
			assert_note(batch, "built by hand", "run at noon", "http://notes.example/");
		/* the empty comment and the comment that is not a text are one attribute */
		assert_int_equal(result.skipped_attributes, dialect == DIALECT_1_8 ? 0 : 1);
		batch_free(batch);
	}
}

/*
 * A sample cannot have comments; an index beyond the table refuses the profile, and leaves no note.
 */
static void
test_notes_that_are_wrong(void **state)
{
	const Proto of_sample = sample(DIALECT_1_10, 1, 7, 5);
	const Proto plain = sample(DIALECT_1_8, 1, 7, 0);
	Proto profiles[] = { profile(&of_sample, 1), profile(&plain, 1) };
	Proto body = request_of(&profiles[0], 1);
	const BatchNote *notes;
	OtlpResult result;
	Batch *batch;

	assert_int_equal(decode(proto_span(&body), false, &batch, &result), DECODE_OK);
	assert_int_equal(result.skipped_attributes, 1);
	assert_int_equal(batch_notes(batch, &notes), 0);
	batch_free(batch);

	proto_list(&profiles[1], dialect_layout(DIALECT_1_8)->profile_comments, 2, 5, 900);
	proto_text(&profiles[1], dialect_layout(DIALECT_1_8)->profile_id, "sixteen bytes of");
	body = request_of(&profiles[1], 1);
	assert_int_equal(decode(proto_span(&body), false, &batch, &result), DECODE_OK);
	assert_string_equal(result.version, "1.8");
	assert_int_equal(result.rejected_profiles, 1);
	assert_string_equal(result.message, "an index is beyond the string table");
	assert_int_equal(batch_notes(batch, &notes), 0);
	batch_free(batch);
}

/* Checks a profile with this attribute: the number of skipped ones, and the note, if any. */
static void
assert_skipped(uint64_t attribute_index, uint64_t skipped, const char *doc_url)
{
	const Proto plain = sample(DIALECT_1_10, 1, 7, 0);
	Proto noted = profile(&plain, 1);
	const BatchNote *notes;
	OtlpResult result;
	Batch *batch;
	Proto body;

	proto_list(&noted, dialect_layout(DIALECT_1_10)->profile_attributes, 1, attribute_index);
	body = request_of(&noted, 1);
	assert_int_equal(decode(proto_span(&body), false, &batch, &result), DECODE_OK);
	assert_int_equal(result.profiles, 1);
	assert_int_equal(result.skipped_attributes, skipped);
	assert_int_equal(batch_notes(batch, &notes), doc_url != NULL);
	if (doc_url != NULL)
	{
		assert_string_equal(notes[0].doc_url, doc_url);
		assert_int_equal(notes[0].comment_count, 0);
	}
	batch_free(batch);
}

/* One URL of a list is kept, and no order of types: the rest is counted. */
static void
test_notes_in_part(void **state)
{
	assert_skipped(6, 0, "http://notes.example/");
	assert_skipped(7, 0, "leaf");
	assert_skipped(8, 1, "leaf");
	assert_skipped(9, 1, NULL);
	assert_skipped(10, 1, NULL);
}

/*
 * A client may write each index of an attribute as a field of its own. All of them count, and the
 * labels of one sample are not those of another.
 */
static void
test_unpacked_attributes(void **state)
{
	const unsigned attributes = dialect_layout(DIALECT_1_10)->sample_attributes;
	Proto samples[] = { sample(DIALECT_1_10, 1, 7, 0), sample(DIALECT_1_10, 1, 11, 0),
						sample(DIALECT_1_10, 1, 13, 0), sample(DIALECT_1_10, 1, 17, 0) };
	const BatchSeries *series;
	const BatchSample *rows;
	OtlpResult result;
	Batch *batch;
	Proto one;
	Proto request;

	proto_number(&samples[1], attributes, 1);
	proto_number(&samples[2], attributes, 2);
	proto_number(&samples[3], attributes, 1);
	proto_number(&samples[3], attributes, 2);
	one = profile(samples, 4);
	request = request_of(&one, 1);
	assert_int_equal(decode(proto_span(&request), false, &batch, &result), DECODE_OK);
	assert_int_equal(result.samples, 4);
	assert_int_equal(batch_samples(batch, &rows), 4);
	batch_series(batch, &series);
	for (size_t i = 0; i < 4; i++)
	{
		const BatchSeries *of = &series[rows[i].series];
		const bool is_worker = rows[i].value == 11 || rows[i].value == 17;
		const bool has_build_id = rows[i].value == 13 || rows[i].value == 17;

		assert_string_equal(label(of, "thread_name"), is_worker ? "worker" : "");
		assert_string_equal(label(of, "process_executable_build_id_gnu"),
							has_build_id ? "abcd" : "");
	}
	batch_free(batch);
}

static void
test_times(void **state)
{
	const Proto samples[] = { sample(DIALECT_1_10, 1, 0, 1), sample(DIALECT_1_10, 2, 0, 1) };
	const Proto one = profile(samples, 2);
	const Proto request = request_of(&one, 1);
	const BatchSample *rows;
	OtlpResult result;
	Batch *batch;

	assert_int_equal(decode(proto_span(&request), false, &batch, &result), DECODE_OK);
	assert_int_equal(batch_samples(batch, &rows), 2);
	assert_int_equal(rows[0].time_us, NOW_US - 10 * SECOND_US);
	assert_int_equal(sum_of(batch, "worker", 2), 2);
	batch_free(batch);
	assert_int_equal(decode(proto_span(&request), true, &batch, &result), DECODE_OK);
	assert_int_equal(batch_samples(batch, &rows), 4);
	assert_int_equal(rows[1].time_us, NOW_US - 10 * SECOND_US + 2000);
	batch_free(batch);
}

/* Converts a request in JSON to protobuf; NULL: the JSON is malformed. */
static uint8_t *
json_bytes(const char *text, size_t length, Span *body)
{
	const char *error;
	size_t offset;
	uint8_t *bytes = json_to_protobuf((Span){ (const uint8_t *) text, length }, &json_request, NULL,
									  &body->length, &error, &offset);

	body->bytes = bytes;
	return bytes;
}

static void
test_json(void **state)
{
	static const char text[] =
		"{\"resourceProfiles\":[{\"resource\":{\"attributes\":[{\"key\":\"service.name\",\"value\":"
		"{\"stringValue\":\"shop\"}},{\"key\":\"tenant\",\"value\":{\"stringValue\":\"somebody\"}}]},"
		"\"scope_profiles\":[{\"profiles\":[{\"sampleType\":{\"typeStrindex\":1,\"unitStrindex\":2},"
		"\"samples\":[{\"stackIndex\":1,\"values\":[\"7\"]},{\"stackIndex\":1,\"values\":[3e0]}],"
		"\"timeUnixNano\":\"1767225590000000000\",\"periodType\":{\"typeStrindex\":3,"
		"\"unitStrindex\":4},\"period\":50000000}]}]}],\"dictionary\":{\"stringTable\":[\"\","
		"\"samples\",\"count\",\"cpu\",\"nanoseconds\",\"f\"],\"functionTable\":[{},"
		"{\"nameStrindex\":5}],\"locationTable\":[{},{\"lines\":[{\"functionIndex\":1}]}],"
		"\"mappingTable\":[{}],\"stackTable\":[{},{\"locationIndices\":[1]}]}}";
	OtlpResult result;
	Batch *batch;
	Span body;
	uint8_t *bytes = json_bytes(text, sizeof(text) - 1, &body);

	assert_non_null(bytes);
	assert_int_equal(decode(body, false, &batch, &result), DECODE_OK);
	assert_int_equal(sum_of(batch, "", 1), 10);
	batch_free(batch);
	free(bytes);
	for (size_t cut = 0; cut + 1 < sizeof(text) - 1; cut++)
		assert_null(json_bytes(text, cut, &body));
}

/*
 * A sample with attributes and without values. OTLP 1.9 has the values in the field that has the
 * attributes in later versions.
 */
static void
test_json_names(void **state)
{
	static const char text[] =
		"{\"resourceProfiles\":[{\"scopeProfiles\":[{\"profiles\":[{\"sampleType\":"
		"{\"typeStrindex\":1},\"samples\":[{\"stackIndex\":0,\"attributeIndices\":[1]}],"
		"\"timeUnixNano\":\"1767225590000000000\"}]}]}],\"dictionary\":{\"stringTable\":[\"\","
		"\"samples\",\"key\"],\"stackTable\":[{}],\"attributeTable\":[{},{\"keyStrindex\":2,"
		"\"value\":{\"stringValue\":\"text\"}}]}}";
	OtlpResult result;
	Batch *batch;
	Span body;
	uint8_t *bytes = json_bytes(text, sizeof(text) - 1, &body);

	assert_non_null(bytes);
	is_json = true;
	assert_int_equal(decode(body, false, &batch, &result), DECODE_OK);
	is_json = false;
	assert_int_equal(result.rejected_profiles, 1);
	assert_string_equal(result.message, "a sample has neither values nor times");
	batch_free(batch);
	free(bytes);
}

/* --- memory --- */

/* With memory limits from none to enough: a request that is refused halfway releases its memory. */
static void
test_memory(void **state)
{
	const Proto samples[] = { sample(DIALECT_1_10, 1, 0, 1), sample(DIALECT_1_10, 2, 0, 1) };
	const Proto one = profile(samples, 2);
	const Proto request = request_of(&one, 1);
	MemoryPool pool = { .limit_bytes = 0 };
	MemoryShare share = { .pool = &pool };
	DecodeEnd end = DECODE_NO_ROOM;

	memory = &share;
	for (; end != DECODE_OK; pool.limit_bytes += 97)
	{
		OtlpResult result;
		Batch *batch;

		share.is_beyond = false;
		end = decode(proto_span(&request), true, &batch, &result);
		assert_true(end == DECODE_OK || (end == DECODE_NO_ROOM && share.is_beyond));
		assert_int_equal(pool.used_bytes, 0); /* except the batch, which is not charged here */
		batch_free(batch);
	}
	assert_in_range(pool.limit_bytes, 32768, 1 << 20);
	memory = NULL;
}

/*
 * Converts a request with times of one digit, whose protobuf is four times as long: the room that
 * is charged for it stays within JSON_GROWTH times the text.
 */
static void
test_memory_of_json(void **state)
{
	static const char head[] = "{\"resourceProfiles\":[{\"scopeProfiles\":[{\"profiles\":[{"
							   "\"samples\":[{\"timestampsUnixNano\":[1";
	static const char tail[] = "]}]}]}]}]}";
	char text[20000];
	size_t length = sizeof(head) - 1;
	MemoryPool pool = { .limit_bytes = 1 << 20 };
	MemoryShare share = { .pool = &pool };
	const char *error;
	size_t offset;
	size_t bytes;
	uint8_t *body;

	memcpy(text, head, length);
	for (int i = 0; i < 8200; i++)
	{
		text[length++] = ',';
		text[length++] = '1';
	}
	memcpy(text + length, tail, sizeof(tail) - 1);
	length += sizeof(tail) - 1;
	body = json_to_protobuf((Span){ (const uint8_t *) text, length }, &json_request, &share, &bytes,
							&error, &offset);
	assert_non_null(body);
	assert_in_range(bytes, 8200 * sizeof(uint64_t), length * JSON_GROWTH);
	assert_in_range(pool.used_bytes, bytes, length * JSON_GROWTH + 4096 + 64);
	share_realloc(&share, body, 0);
	assert_int_equal(pool.used_bytes, 0);
}

/* --- traces --- */

#define TRACE_HEX "00112233445566778899aabbccddeeff"
#define SPAN_HEX  "0123456789abcdef"

/* Returns a request of one sample with this link, and with ids as attributes of its resource. */
static Proto
linked_request(const Proto *link)
{
	const Proto trace = key_value("trace_id", TRACE_HEX);
	const Proto span = key_value("span.id", SPAN_HEX);
	const Proto none = { .length = 0 };
	Proto tables = dictionary();
	Proto one_sample = sample(DIALECT_1_10, 1, 7, 0);
	Proto resource = { .length = 0 };
	Proto scope = { .length = 0 };
	Proto of_resource = { .length = 0 };
	Proto request = { .length = 0 };
	Proto one;

	proto_number(&one_sample, dialect_layout(DIALECT_1_10)->sample_link, 1);
	one = profile(&one_sample, 1);
	proto_message(&tables, DICTIONARY_LINKS, &none);
	proto_message(&tables, DICTIONARY_LINKS, link);
	proto_message(&resource, RESOURCE_ATTRIBUTES, &trace);
	proto_message(&resource, RESOURCE_ATTRIBUTES, &span);
	proto_message(&scope, SCOPE_PROFILES_PROFILES, &one);
	proto_message(&of_resource, RESOURCE_PROFILES_RESOURCE, &resource);
	proto_message(&of_resource, RESOURCE_PROFILES_SCOPES, &scope);
	proto_message(&request, REQUEST_RESOURCE_PROFILES, &of_resource);
	proto_message(&request, REQUEST_DICTIONARY, &tables);
	return request;
}

/* Returns the first bytes of the only trace's ids. */
static void
assert_ids(const Proto *link, uint8_t trace, uint8_t span)
{
	const Proto request = linked_request(link);
	const BatchTrace *traces;
	OtlpResult result;
	Batch *batch;

	assert_int_equal(decode(proto_span(&request), false, &batch, &result), DECODE_OK);
	assert_int_equal(batch_traces(batch, &traces), 1);
	assert_int_equal(traces[0].sample.value, 7);
	assert_int_equal(traces[0].trace[1], trace);
	assert_int_equal(traces[0].span[1], span);
	batch_free(batch);
}

/* A link's ids are preferred to those of attributes, which supply the missing ones. */
static void
test_links(void **state)
{
	static const uint8_t ids[16] = { 0, 0x77 };
	static const uint8_t zeros[16] = { 0 };
	Proto link = { .length = 0 };

	assert_ids(&link, 0x11, 0x23);
	proto_bytes(&link, LINK_TRACE, zeros, 16);
	proto_bytes(&link, LINK_SPAN, zeros, 8);
	assert_ids(&link, 0x11, 0x23);
	proto_bytes(&link, LINK_SPAN, ids, 8);
	assert_ids(&link, 0x11, 0x77);
	proto_bytes(&link, LINK_TRACE, ids, 16);
	assert_ids(&link, 0x77, 0x77);
}

/* --- at fault --- */

static void
assert_rejected(const Proto *bad, const char *message)
{
	const Proto good_sample = sample(DIALECT_1_10, 1, 5, 1);
	const Proto bad_samples[] = { good_sample, *bad };
	const Proto profiles[] = { profile(&good_sample, 1), profile(bad_samples, 2),
							   profile(&good_sample, 1) };
	const Proto request = request_of(profiles, 3);
	OtlpResult result;
	Batch *batch;

	assert_int_equal(decode(proto_span(&request), false, &batch, &result), DECODE_OK);
	assert_int_equal(result.profiles, 2);
	assert_int_equal(result.rejected_profiles, 1);
	assert_int_equal(result.samples, 2);
	assert_string_equal(result.message, message);
	assert_int_equal(sum_of(batch, "worker", 2), 10);
	batch_free(batch);
}

static void
test_rejected(void **state)
{
	Proto bad = sample(DIALECT_1_10, 99, 5, 0);

	assert_rejected(&bad, "an index is beyond the stack table");
	bad = sample(DIALECT_1_10, (unsigned) -1, 5, 0);
	assert_rejected(&bad, "an index is beyond the stack table");
	bad = sample(DIALECT_1_10, 1, 5, 99);
	assert_rejected(&bad, "an index is beyond the attribute table");
	bad = (Proto){ .length = 0 };
	proto_number(&bad, SAMPLE_STACK, 1);
	assert_rejected(&bad, "a sample has neither values nor times");
	bad = (Proto){ .length = 0 };
	proto_list(&bad, dialect_layout(DIALECT_1_10)->sample_values, 2, 1, 2);
	assert_rejected(&bad, "a sample has several values, but no times");
	bad = sample(DIALECT_1_10, 1, 0, 0);
	proto_list(&bad, dialect_layout(DIALECT_1_10)->sample_values, 3, 1, 2, 3);
	assert_rejected(&bad, "a sample has different numbers of values and times");
}

/* The kinds of items of which one is cut off. */
enum
{
	CUT_NOTHING,
	CUT_FUNCTION,
	CUT_LINE,
	CUT_LOCATION,
	CUT_LOCATION_ATTRIBUTES,
	CUT_MAPPING,
	CUT_MAPPING_ATTRIBUTES,
	CUT_STACK,
	CUT_ATTRIBUTE,
	CUT_VALUE,
	CUT_COUNT
};

/* Appends a field whose length exceeds the message if the item is the one to cut. */
static void
proto_cut(Proto *item, int kind, int cut)
{
	if (kind != cut)
		return;
	proto_byte(item, 15 << 3 | PFS_WIRE_BYTES);
	proto_byte(item, 100);
}

/* Returns a list of one index, or, if it is to be cut, of half an index. */
static void
proto_index(Proto *item, unsigned field, uint8_t index, bool is_cut)
{
	const uint8_t bytes[] = { index, 0x80 };

	proto_bytes(item, field, bytes, is_cut ? 2 : 1);
}

/* Returns a dictionary that follows that of request_of(), with one item more in each table. */
static Proto
second_dictionary(int cut)
{
	Proto tables = { .length = 0 };
	Proto any = { .length = 0 };
	Proto item = { .length = 0 };
	Proto line = { .length = 0 };

	proto_text(&any, ANY_STRING, "value");
	proto_cut(&any, CUT_VALUE, cut);
	proto_number(&item, ATTRIBUTE_KEY, 10);
	proto_message(&item, ATTRIBUTE_VALUE, &any);
	proto_cut(&item, CUT_ATTRIBUTE, cut);
	proto_message(&tables, DICTIONARY_ATTRIBUTES, &item); /* number ATTRIBUTES */

	item.length = 0;
	proto_number(&item, MAPPING_FILENAME, 8);
	proto_index(&item, MAPPING_ATTRIBUTES, ATTRIBUTES, cut == CUT_MAPPING_ATTRIBUTES);
	proto_cut(&item, CUT_MAPPING, cut);
	proto_message(&tables, DICTIONARY_MAPPINGS, &item); /* number 2 */

	item.length = 0;
	proto_number(&item, FUNCTION_NAME, 5);
	proto_cut(&item, CUT_FUNCTION, cut);
	proto_message(&tables, DICTIONARY_FUNCTIONS, &item); /* number 3 */

	item.length = 0;
	proto_number(&line, LINE_FUNCTION, 3);
	proto_cut(&line, CUT_LINE, cut);
	proto_number(&item, LOCATION_MAPPING, 2);
	proto_message(&item, LOCATION_LINES, &line);
	proto_index(&item, LOCATION_ATTRIBUTES, 3, cut == CUT_LOCATION_ATTRIBUTES);
	proto_cut(&item, CUT_LOCATION, cut);
	proto_message(&tables, DICTIONARY_LOCATIONS, &item); /* number 3 */

	item.length = 0;
	proto_list(&item, STACK_LOCATIONS, 1, 3);
	proto_cut(&item, CUT_STACK, cut);
	proto_message(&tables, DICTIONARY_STACKS, &item); /* number 3 */
	return tables;
}

/* An item that is cut off rejects every profile that uses it, and no other. */
static void
test_cut_items(void **state)
{
	for (int cut = CUT_NOTHING; cut < CUT_COUNT; cut++)
	{
		const Proto using = sample(DIALECT_1_10, 3, 7, ATTRIBUTES);
		const Proto other = sample(DIALECT_1_10, 1, 11, 0);
		const Proto profiles[] = { profile(&using, 1), profile(&other, 1), profile(&using, 1) };
		const Proto tables = second_dictionary(cut);
		Proto request = request_of(profiles, 3);
		OtlpResult result;
		Batch *batch;

		proto_message(&request, REQUEST_DICTIONARY, &tables);
		assert_int_equal(decode(proto_span(&request), false, &batch, &result), DECODE_OK);
		assert_int_equal(result.profiles, cut == CUT_NOTHING ? 3 : 1);
		assert_int_equal(result.rejected_profiles, cut == CUT_NOTHING ? 0 : 2);
		batch_free(batch);
	}
}

static void
assert_refused(Span body, const char *message)
{
	OtlpResult result;
	Batch *batch;

	assert_int_equal(decode(body, false, &batch, &result), DECODE_INVALID);
	assert_non_null(result.message);
	assert_non_null(strstr(result.message, message));
	batch_free(batch);
}

static void
test_refused(void **state)
{
	const Proto newer = sample(DIALECT_1_10, 1, 5, 1);
	const Proto older = sample(DIALECT_1_9, 1, 5, 1);
	const Proto both[] = { newer, older };
	Proto mixed = profile(both, 2);
	Proto old = { .length = 0 };
	Proto request = request_of(&mixed, 1);

	assert_refused(proto_span(&request), "");
	proto_list(&old, PROFILE_TIME, 2, 1, 2); /* in 1.7 this field contained locations */
	request = request_of(&old, 1);
	assert_refused(proto_span(&request), "1.7");
	assert_refused((Span){ (const uint8_t *) "\x0A\xFF", 2 }, "");
}

/* A resource whose attributes are cut off refuses the request: its series would lack labels. */
static void
test_cut_resource(void **state)
{
	const Proto service = key_value("service.name", "shop");
	const Proto plain = sample(DIALECT_1_10, 1, 7, 0);
	const Proto one = profile(&plain, 1);
	const Proto tables = dictionary();
	Proto resource = { .length = 0 };
	Proto scope = { .length = 0 };
	Proto of_resource = { .length = 0 };
	Proto request = { .length = 0 };

	proto_message(&resource, RESOURCE_ATTRIBUTES, &service);
	proto_cut(&resource, CUT_NOTHING, CUT_NOTHING);
	proto_message(&scope, SCOPE_PROFILES_PROFILES, &one);
	proto_message(&of_resource, RESOURCE_PROFILES_RESOURCE, &resource);
	proto_message(&of_resource, RESOURCE_PROFILES_SCOPES, &scope);
	proto_message(&request, REQUEST_RESOURCE_PROFILES, &of_resource);
	proto_message(&request, REQUEST_DICTIONARY, &tables);
	assert_refused(proto_span(&request), "");
}

/* A mapping that names an attribute of 3,000 fields 5,000 times: each read of it is charged. */
static void
test_expensive_attribute(void **state)
{
	const Proto program = key_value("process.executable.name", "other");
	Proto tables = dictionary();
	Proto large = { .length = 0 };
	Proto indexes = { .length = 0 };
	Proto mapping = { .length = 0 };
	Proto resource = { .length = 0 };
	Proto of_resource = { .length = 0 };
	Proto request = { .length = 0 };

	for (int i = 0; i < 3000; i++)
		proto_number(&large, 15, 1);
	for (int i = 0; i < 5000; i++)
		proto_byte(&indexes, ATTRIBUTES);
	proto_message(&tables, DICTIONARY_ATTRIBUTES, &large);
	proto_message(&mapping, MAPPING_ATTRIBUTES, &indexes);
	proto_message(&tables, DICTIONARY_MAPPINGS, &mapping);
	proto_message(&resource, RESOURCE_ATTRIBUTES, &program);
	proto_message(&of_resource, RESOURCE_PROFILES_RESOURCE, &resource);
	proto_message(&request, REQUEST_RESOURCE_PROFILES, &of_resource);
	proto_message(&request, REQUEST_DICTIONARY, &tables);
	assert_refused(proto_span(&request), "the request refers to large items too often");
}

/*
 * Refuses a comment of 10,000 bytes that occurs 10,000 times in a profile. The reason is not that
 * of the profile before, which is rejected.
 */
static void
test_expensive_comments(void **state)
{
	const Layout *layout = dialect_layout(DIALECT_1_8);
	const Proto one = sample(DIALECT_1_8, 1, 7, 0);
	Proto tables = dictionary();
	Proto text = { .length = 0 };
	Proto indexes = { .length = 0 };
	const Proto beyond = sample(DIALECT_1_8, 99, 7, 0);
	const Proto rejected = profile(&beyond, 1);
	Proto noted = profile(&one, 1);
	Proto scope = { .length = 0 };
	Proto of_resource = { .length = 0 };
	Proto request = { .length = 0 };

	for (int i = 0; i < 10000; i++)
	{
		proto_byte(&text, 'x');
		proto_byte(&indexes, sizeof(strings) / sizeof(strings[0]));
	}
	proto_message(&tables, DICTIONARY_STRINGS, &text);
	proto_text(&noted, layout->profile_id, "sixteen bytes of");
	proto_message(&noted, layout->profile_comments, &indexes);
	proto_message(&scope, SCOPE_PROFILES_PROFILES, &rejected);
	proto_message(&scope, SCOPE_PROFILES_PROFILES, &noted);
	proto_message(&of_resource, RESOURCE_PROFILES_SCOPES, &scope);
	proto_message(&request, REQUEST_RESOURCE_PROFILES, &of_resource);
	proto_message(&request, REQUEST_DICTIONARY, &tables);
	assert_refused(proto_span(&request), "the request refers to large items too often");
}

/* A request that is cut at any byte, or has any byte changed, is never read beyond its end. */
static void
test_changed(void **state)
{
	const Proto whole = usual_request(DIALECT_1_10);
	OtlpResult result;
	Batch *batch;

	for (size_t i = 0; i < whole.length; i++)
	{
		uint8_t *bytes = malloc(whole.length);

		assert_non_null(bytes);
		memcpy(bytes, whole.bytes, whole.length);
		if (decode((Span){ bytes, i }, false, &batch, &result) == DECODE_OK)
			assert_in_range(result.samples, 0, 4);
		batch_free(batch);
		for (unsigned change = 0; change < 3; change++)
		{
			bytes[i] = (uint8_t[]){ 0xFF, 0, (uint8_t) (whole.bytes[i] ^ 1) }[change];
			decode((Span){ bytes, whole.length }, change == 0, &batch, &result);
			batch_free(batch);
		}
		free(bytes);
	}
}

/* --- keys that meet in a name --- */

static const char *
value_of(const AttributeLabels *set, const char *name)
{
	for (uint32_t i = 0; i < set->count; i++)
		if (strcmp(set->labels[i].name, name) == 0)
			return set->labels[i].value;
	return "";
}

static void
put_key(AttributeLabels *set, Arena *arena, const char *key, const char *value)
{
	const PfsText text = { key, (uint32_t) strlen(key) };

	assert_true(attribute_labels_put(set, arena, text, label_name(arena, text), value));
}

/*
 * The key that is a valid name keeps it, the others are numbered in their order, whatever that is.
 */
static void
test_keys_meet(void **state)
{
	static const char *const keys[] = { "http_route", "http.route", "http-route", "http_route_2" };
	static const int orders[][4] = { { 0, 1, 2, 3 }, { 3, 2, 1, 0 }, { 1, 3, 0, 2 },
									 { 2, 0, 3, 1 }, { 1, 2, 0, 3 }, { 3, 1, 2, 0 } };
	const BatchLabel tenant = { "tenant", "" };

	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++)
	{
		AttributeLabels set = { 0 };
		Budget budget = { .limit_bytes = 1 << 20 };
		Arena of_test;
		Arena *arena = &of_test;
		PfsTraceIds ids;

		arena_init(arena, &budget);
		attribute_labels_fix(&set, &tenant);
		for (int j = 0; j < 4; j++)
			put_key(&set, arena, keys[orders[i][j]], "replaced");
		for (int j = 3; j >= 0; j--)
			put_key(&set, arena, keys[orders[i][j]], keys[orders[i][j]]);
		put_key(&set, arena, "tenant", "somebody");
		put_key(&set, arena, "exported_tenant", "legal");
		assert_int_equal(attribute_labels_settle(&set, &set, arena, &ids), 0);
		assert_int_equal(set.count, 6);
		assert_string_equal(value_of(&set, "http_route"), "http_route");
		assert_string_equal(value_of(&set, "http_route_2"), "http_route_2");
		assert_string_equal(value_of(&set, "http_route_3"), "http-route");
		assert_string_equal(value_of(&set, "http_route_4"), "http.route");
		assert_string_equal(value_of(&set, "exported_tenant"), "legal");
		assert_string_equal(value_of(&set, "exported_tenant_2"), "somebody");
		arena_fini(arena);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys_meet),
		cmocka_unit_test(test_layouts),
		cmocka_unit_test(test_fingerprints),
		cmocka_unit_test(test_fingerprints_of_layouts),
		cmocka_unit_test(test_temporality),
		cmocka_unit_test(test_temporality_in_json),
		cmocka_unit_test(test_notes),
		cmocka_unit_test(test_notes_that_are_wrong),
		cmocka_unit_test(test_notes_in_part),
		cmocka_unit_test(test_unpacked_attributes),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_rejected),
		cmocka_unit_test(test_cut_items),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_cut_resource),
		cmocka_unit_test(test_changed),
		cmocka_unit_test(test_json_names),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_memory_of_json),
		cmocka_unit_test(test_links),
		cmocka_unit_test(test_expensive_attribute),
		cmocka_unit_test(test_expensive_comments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
