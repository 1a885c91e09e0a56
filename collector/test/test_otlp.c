/*
 * test_otlp.c
 *		Requests of OTLP profiles, in the layouts of 1.9 and 1.10, and as JSON, and their
 *		content in a batch.
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
#include "otlp_decoding.h"
#include "proto_builder.h"

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
		cmocka_unit_test(test_keys_meet),	  cmocka_unit_test(test_layouts),
		cmocka_unit_test(test_fingerprints),  cmocka_unit_test(test_fingerprints_of_layouts),
		cmocka_unit_test(test_temporality),	  cmocka_unit_test(test_temporality_in_json),
		cmocka_unit_test(test_notes),		  cmocka_unit_test(test_notes_that_are_wrong),
		cmocka_unit_test(test_notes_in_part), cmocka_unit_test(test_unpacked_attributes),
		cmocka_unit_test(test_times),		  cmocka_unit_test(test_json),
		cmocka_unit_test(test_json_names),	  cmocka_unit_test(test_links),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
