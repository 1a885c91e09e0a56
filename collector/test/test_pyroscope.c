/*
 * test_pyroscope.c
 *		Requests of Pyroscope's clients: query strings, multipart bodies, names of types, labels,
 *		and profiles in a batch.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto_builder.h"
#include "pyroscope/ingest.h"
#include "pyroscope/ingest_query.h"
#include "pyroscope/multipart.h"
#include "pyroscope/push.h"

#define SECOND_US INT64_C(1000000)
#define NOW_US	  (INT64_C(1767225600) * SECOND_US)

static PfsText
text(const char *string)
{
	return (PfsText){ string, (uint32_t) strlen(string) };
}

/* --- query strings --- */

typedef struct Parsed
{
	Budget budget;
	Arena arena;
	IngestQuery query;
	const char *error;
} Parsed;

static void
parse(Parsed *parsed, const char *query)
{
	parsed->budget = (Budget){ .limit_bytes = 1 << 20 };
	arena_init(&parsed->arena, &parsed->budget);
	parsed->error = ingest_query_read(&parsed->query, text(query), NOW_US, &parsed->arena);
}

/* Checks the labels that are made of a name, as "key=value|key=value|". */
static void
labels_of(const char *query, char result[256])
{
	Parsed parsed;
	PfsText key;
	PfsText value;

	parse(&parsed, query);
	assert_null(parsed.error);
	result[0] = '\0';
	while (ingest_next_label(&parsed.query.labels, &key, &value))
		sprintf(result + strlen(result), "%.*s=%.*s|", (int) key.length, key.data,
				(int) value.length, value.data);
	arena_fini(&parsed.arena);
}

static void
test_names(void **state)
{
	static const struct
	{
		const char *query;
		const char *labels;
	} cases[] = {
		{ "name=shop", "" },
		{ "name=shop%7B%7D", "" },
		{ "name=shop{a=b}", "a=b|" },
		{ "name=shop%7Ba%3Db%2Cc%3Dd%7D&spyName=gospy", "a=b|c=d|" },
		{ "name=shop{ a = b , c=d }", "a=b|c=d|" },
		{ "name=shop{a=x,y,z,c=d}", "a=x,y,z|c=d|" },
		{ "name=shop{a=,c=}", "a=|c=|" },
		{ "name=shop{a=b=c}", "a=b=c|" },
		{ "name=shop{a={x}}", "a={x}|" },
		{ "name=shop{x,y,a=b}", "a=b|" },
		{ "name=shop{=b,c=d}", "c=d|" },
		{ "name=shop{a=b,a=c}", "a=b|a=c|" },
		{ "name=shop{a=1+2%2B3}", "a=1 2+3|" },
	};
	char labels[256];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		labels_of(cases[i].query, labels);
		assert_string_equal(labels, cases[i].labels);
	}
}

static void
test_bad_queries(void **state)
{
	static const char *const queries[] = { "",
										   "from=1767225600",
										   "name=",
										   "name={a=b}",
										   "name=shop{a=b",
										   "name=shop%4",
										   "name=shop%zz",
										   "name=shop%00",
										   "name=shop&from=tomorrow",
										   "name=shop&from=-5",
										   "name=shop&from=%20",
										   "name=shop&from=123456789012",
										   "name=shop&until=now-1y",
										   "name=shop&from=9999999999999",
										   "name=shop&from=9223372036854776",
										   "name=shop&until=9999999999999999",
										   "name=shop&from=now-99999999h" };

	for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++)
	{
		Parsed parsed;

		parse(&parsed, queries[i]);
		assert_non_null(parsed.error);
		arena_fini(&parsed.arena);
	}
}

static void
test_times(void **state)
{
	static const struct
	{
		const char *from;
		int64_t us;
	} cases[] = {
		{ "1767225600", NOW_US },
		{ "1767225600123", NOW_US + 123000 },
		{ "1767225600123456", NOW_US + 123456 },
		{ "1767225600123456789", NOW_US + 123456 },
		{ "20260101", NOW_US },
		{ "20261301", INT64_C(20261301) * SECOND_US }, /* not a valid date, so seconds */
		{ "now", NOW_US },
		{ "now-10s", NOW_US - 10 * SECOND_US },
		{ "now-1h", NOW_US - 3600 * SECOND_US },
	};
	char query[64];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		Parsed parsed;

		sprintf(query, "name=x&from=%s", cases[i].from);
		parse(&parsed, query);
		assert_null(parsed.error);
		assert_true(parsed.query.has_from);
		assert_int_equal(parsed.query.from_us, cases[i].us);
		arena_fini(&parsed.arena);
	}
}

/* --- multipart --- */

#define TYPE "multipart/form-data; boundary=abc"

static unsigned
count_parts(const char *body, const char *type, const char **error)
{
	Multipart walk;
	MultipartPart part;
	unsigned count = 0;

	multipart_begin(&walk, (Span){ (const uint8_t *) body, strlen(body) }, type);
	while (multipart_next(&walk, &part))
		count++;
	*error = walk.error;
	return count;
}

static void
test_parts(void **state)
{
	static const char body[] =
		"--abc\r\nContent-Disposition: form-data; name=\"profile\"; "
		"filename=\"p.pprof\"\r\nContent-Type: x/y\r\n\r\nfirst\r\n--abcd\r\n"
		"--abc\r\ncontent-disposition: form-data; name=second\r\n\r\n"
		"\r\n--abc--\r\n";
	Multipart walk;
	MultipartPart part;

	assert_true(is_multipart("Multipart/Form-Data; boundary=abc"));
	assert_false(is_multipart("application/octet-stream"));
	multipart_begin(&walk, (Span){ (const uint8_t *) body, sizeof(body) - 1 },
					"multipart/form-data; charset=x; BOUNDARY=\"abc\"");
	assert_true(multipart_next(&walk, &part));
	assert_int_equal(part.name.length, 7);
	assert_memory_equal(part.name.bytes, "profile", 7);

	/* a longer boundary that begins like this one ends the part, as in other servers */
	assert_int_equal(part.content.length, 5);
	assert_memory_equal(part.content.bytes, "first", 5);
}

static void
test_bad_parts(void **state)
{
	const char *error;

	assert_int_equal(count_parts("--abc\r\nA: b\r\n\r\nx\r\n--abc--", TYPE, &error), 1);
	assert_null(error);
	assert_int_equal(count_parts("--abc--", TYPE, &error), 0);
	assert_null(error);
	assert_int_equal(count_parts("before\r\n--abc\r\nA: b\r\n\r\n\r\n--abc--", TYPE, &error), 1);
	assert_null(error);
	assert_int_equal(count_parts("--abc\r\nA: b\r\n\r\nx", TYPE, &error), 0);
	assert_non_null(error);
	assert_int_equal(count_parts("--abc\r\nno head\r\n--abc--", TYPE, &error), 0);
	assert_non_null(error);
	assert_int_equal(count_parts("--other\r\n", TYPE, &error), 0);
	assert_non_null(error);
	assert_int_equal(count_parts("", TYPE, &error), 0);
	assert_non_null(error);
	assert_int_equal(count_parts("x", "multipart/form-data", &error), 0);
	assert_non_null(error);
	assert_int_equal(count_parts("x", "multipart/form-data; boundary=", &error), 0);
	assert_non_null(error);
}

/* --- profiles --- */

/* A profile with up to four sample types of the unit count, one function and one sample. */
typedef struct Made
{
	const char *types[4];
	const char *period;
	uint64_t time_ns;
	uint64_t duration_ns;
	const char *key; /* key of a label; NULL: no label */
	const char *value;
	int64_t number; /* value of a second label "bytes"; 0: none */
} Made;

static uint64_t
add_text(Proto *texts, uint64_t *count, const char *string)
{
	proto_text(texts, 6, string);
	return (*count)++;
}

static Proto
make_profile(const Made *made)
{
	Proto profile = { .length = 0 };
	Proto texts = { .length = 0 };
	Proto sample = { .length = 0 };
	Proto item = { .length = 0 };
	uint64_t count = 0;

	add_text(&texts, &count, "");
	proto_list(&sample, 1, 1, 1);
	for (int i = 0; i < 4 && made->types[i] != NULL; i++)
	{
		item.length = 0;
		proto_number(&item, 1, add_text(&texts, &count, made->types[i]));
		proto_number(&item, 2, add_text(&texts, &count, "count"));
		proto_message(&profile, 1, &item);
		proto_list(&sample, 2, 1, 10 + i);
	}
	if (made->key != NULL)
	{
		item.length = 0;
		proto_number(&item, 1, add_text(&texts, &count, made->key));
		proto_number(&item, 2, add_text(&texts, &count, made->value));
		proto_message(&sample, 3, &item);
	}
	if (made->number != 0)
	{
		item.length = 0;
		proto_number(&item, 1, add_text(&texts, &count, "bytes"));
		proto_number(&item, 3, (uint64_t) made->number);
		proto_message(&sample, 3, &item);
	}
	proto_message(&profile, 2, &sample);
	item.length = 0;
	proto_number(&item, 1, 1);
	proto_message(&item, 4, &(Proto){ .bytes = { 1 << 3, 1 }, .length = 2 });
	proto_message(&profile, 4, &item);
	item.length = 0;
	proto_number(&item, 1, 1);
	proto_number(&item, 2, add_text(&texts, &count, "work"));
	proto_message(&profile, 5, &item);
	if (made->period != NULL)
	{
		item.length = 0;
		proto_number(&item, 1, add_text(&texts, &count, made->period));
		proto_number(&item, 2, add_text(&texts, &count, "nanoseconds"));
		proto_message(&profile, 11, &item);
	}
	if (made->time_ns > 0)
		proto_number(&profile, 9, made->time_ns);
	if (made->duration_ns > 0)
		proto_number(&profile, 10, made->duration_ns);
	memcpy(profile.bytes + profile.length, texts.bytes, texts.length);
	profile.length += texts.length;
	return profile;
}

static const AttributeRule rule = { "thread_id" };

static PyroscopeRequest
request_of(Span body, const char *query, const char *type)
{
	return (PyroscopeRequest){ .body = body,
							   .query = text(query),
							   .content_type = type,
							   .tenant = "",
							   .sender = "",
							   .scope = "",
							   .rule = &rule,
							   .limits = { .now_us = NOW_US,
										   .first_us = NOW_US - 3600 * SECOND_US,
										   .last_us = NOW_US + 3600 * SECOND_US } };
}

static DecodeEnd
ingest(Span body, const char *query, const char *type, Batch **batch, PyroscopeResult *result)
{
	const PyroscopeRequest request = request_of(body, query, type);

	assert_int_equal(batch_create(1 << 20, batch), 0);
	return ingest_decode(&request, *batch, result);
}

static const char *
label(const BatchSeries *series, const char *name)
{
	for (uint32_t i = 0; i < series->label_count; i++)
		if (strcmp(series->labels[i].name, name) == 0)
			return series->labels[i].value;
	return "";
}

/* Sends a made profile without a multipart body, and returns its batch. */
static Batch *
ingest_made(const Made *made, const char *query)
{
	const Proto profile = make_profile(made);
	PyroscopeResult result;
	Batch *batch;

	assert_int_equal(ingest(proto_span(&profile), query, "", &batch, &result), DECODE_OK);
	assert_int_equal(result.profiles, 1);
	return batch;
}

static void
assert_types(const Batch *batch, const char *const *types, size_t count)
{
	const BatchSeries *series;

	assert_int_equal(batch_series(batch, &series), count);
	for (size_t i = 0; i < count; i++)
		assert_string_equal(series[i].profile_type, types[i]);
}

/* Names follow the sample types; gauges are not deltas, with or without a duration. */
static void
test_type_names(void **state)
{
	static const struct
	{
		Made made;
		const char *expected[4];
		size_t count;
	} cases[] = {
		{ { .types = { "samples", "cpu" }, .period = "cpu" },
		  { "process_cpu:samples:count:cpu:nanoseconds:delta",
			"process_cpu:cpu:count:cpu:nanoseconds:delta" },
		  2 },
		{ { .types = { "samples", "wall" }, .period = "wall" },
		  { "wall:samples:count:wall:nanoseconds:delta", "wall:wall:count:wall:nanoseconds:delta" },
		  2 },
		{ { .types = { "alloc_objects", "alloc_space", "inuse_objects", "inuse_space" } },
		  { "memory:alloc_objects:count:::delta", "memory:alloc_space:count:::delta",
			"memory:inuse_objects:count::", "memory:inuse_space:count::" },
		  4 },
		{ { .types = { "inuse_space" }, .period = "cpu", .duration_ns = 15000000000 },
		  { "memory:inuse_space:count:cpu:nanoseconds" },
		  1 },
		{ { .types = { "contentions", "delay" } },
		  { "mutex:contentions:count:::delta", "mutex:delay:count:::delta" },
		  2 },
		{ { .types = { "goroutine" }, .duration_ns = 1 }, { "goroutines:goroutine:count::" }, 1 },
		{ { .types = { "own", "other" } },
		  { "other:own:count:::delta", "other:other:count:::delta" },
		  2 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		Batch *batch = ingest_made(&cases[i].made, "name=shop.backend&format=pprof&sampleRate=17");
		const BatchSeries *series;

		assert_types(batch, cases[i].expected, cases[i].count);
		batch_series(batch, &series);
		assert_string_equal(label(&series[0], "service_name"), "shop.backend");
		batch_free(batch);
	}
}

/* The configuration in a multipart body names types; their kind follows from the names. */
static void
test_display_names(void **state)
{
	static const char config[] =
		"{\"contentions\":{\"units\":\"lock_samples\",\"display-name\":"
		"\"block_count\"},\"delay\":{\"display-name\":\"block_duration\"}}";
	static const char *const expected[] = { "block:contentions:count:::delta",
											"block:delay:count:::delta" };
	const Made made = { .types = { "contentions", "delay" } };
	const Proto profile = make_profile(&made);
	char body[4096];
	PyroscopeResult result;
	Batch *batch;
	size_t length;

	length =
		(size_t) sprintf(body, "--abc\r\nContent-Disposition: form-data; name=\"profile\"\r\n\r\n");
	memcpy(body + length, profile.bytes, profile.length);
	length += profile.length;
	length += (size_t) sprintf(body + length,
							   "\r\n--abc\r\nContent-Disposition: form-data; "
							   "name=\"sample_type_config\"\r\n\r\n%s\r\n--abc--\r\n",
							   config);
	assert_int_equal(ingest((Span){ (uint8_t *) body, length }, "name=shop{a=b}", TYPE, &batch,
							&result),
					 DECODE_OK);
	assert_types(batch, expected, 2);
	batch_free(batch);
	assert_int_equal(ingest((Span){ (uint8_t *) body, length - 20 }, "name=shop", TYPE, &batch,
							&result),
					 DECODE_INVALID);
	assert_true(result.message[0] != '\0');
	batch_free(batch);
}

/* Labels of samples: ids become rows of traces; numbers and the series' own labels are omitted. */
static void
test_sample_labels(void **state)
{
	static const char span[] = "00f067aa0ba902b7";
	static const struct
	{
		const char *key;
		const char *value;
		const char *name; /* name of the label in the series; NULL: none */
		size_t traces;
	} cases[] = {
		{ "span_name", "GET /", "span_name", 0 },
		{ "otel.scope.name", "x", "otel_scope_name", 0 },
		{ "thread id", "7", NULL, 0 },
		{ "9lives", "x", "_9lives", 0 },
		{ "zone", "other", NULL, 0 },
		{ "__own__", "x", NULL, 0 },
		{ "profile_id", span, NULL, 1 },
		{ "span_id", span, NULL, 1 },
		{ "profile_id", "none", "profile_id", 0 },
		{ "tenant", "me", "exported_tenant", 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		const Made made = {
			.types = { "samples" }, .key = cases[i].key, .value = cases[i].value, .number = 4096
		};
		Batch *batch = ingest_made(&made, "name=shop{zone=eu,x-y=1}&format=pprof");
		const BatchSeries *series;
		const BatchTrace *traces;
		uint32_t others = 0;

		assert_int_equal(batch_series(batch, &series), 1);
		assert_string_equal(label(series, "zone"), "eu");
		assert_string_equal(label(series, "x_y"), "1");
		assert_string_equal(label(series, "bytes"), "");
		for (uint32_t j = 0; j < series->label_count; j++)
			others += strcmp(series->labels[j].name, "service_name") != 0 &&
					  strcmp(series->labels[j].name, "zone") != 0 &&
					  strcmp(series->labels[j].name, "x_y") != 0 &&
					  strcmp(series->labels[j].name, "__pprof__") != 0;
		assert_int_equal(others, cases[i].name != NULL);
		if (cases[i].name != NULL)
			assert_string_equal(label(series, cases[i].name), cases[i].value);
		assert_int_equal(batch_traces(batch, &traces), cases[i].traces);
		batch_free(batch);
	}
}

/* A label of the application's name that is an id applies to all samples. */
static void
test_series_ids(void **state)
{
	const Made made = { .types = { "samples" }, .key = "user", .value = "ann" };
	Batch *batch = ingest_made(&made, "name=shop{profile_id=00f067aa0ba902b7}&format=pprof");
	const BatchSeries *series;
	const BatchTrace *traces;

	assert_int_equal(batch_traces(batch, &traces), 1);
	assert_int_equal(traces[0].sample.value, 10);
	assert_int_equal(traces[0].span[1], 0xf0);
	assert_int_equal(batch_series(batch, &series), 1);
	assert_int_equal(series->label_count, 2); /* the labels service_name and user */
	batch_free(batch);
}

static void
test_times_of_profiles(void **state)
{
	static const struct
	{
		uint64_t time_ns;
		const char *query;
		int64_t expected_us;
		bool has_times;
	} cases[] = {
		{ (uint64_t) NOW_US * 1000, "name=x&format=pprof&from=1767225000", NOW_US, true },
		{ 0, "name=x&format=pprof&from=1767225000", NOW_US - 600 * SECOND_US, true },
		{ (uint64_t) NOW_US, "name=x&format=pprof&from=1767225000", NOW_US - 600 * SECOND_US,
		  true },
		{ 0, "name=x&format=pprof", NOW_US, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		const Made made = { .types = { "samples" }, .time_ns = cases[i].time_ns };
		const Proto profile = make_profile(&made);
		const BatchSample *samples;
		PyroscopeResult result;
		Batch *batch;

		assert_int_equal(ingest(proto_span(&profile), cases[i].query, "", &batch, &result),
						 DECODE_OK);
		assert_int_equal(batch_samples(batch, &samples), 1);
		assert_int_equal(samples[0].time_us, cases[i].expected_us);
		assert_int_equal(result.has_times, cases[i].has_times);
		batch_free(batch);
	}
}

/* --- text --- */

static void
test_text(void **state)
{
	static const struct
	{
		const char *query;
		const char *body;
		const char *type;
		const char *service;
		int64_t value;
	} cases[] = {
		{ "name=shop", "main;work 3\n", "process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta", "shop",
		  30000000 },
		{ "name=shop.wall&sampleRate=50", "main;work 3\n",
		  "wall:wall:nanoseconds:cpu:nanoseconds:delta", "shop", 60000000 },
		{ "name=shop.cpu&sampleRate=0", "main;work 3\n", "process_cpu:samples:count:::delta",
		  "shop", 3 },
		{ "name=a.b.alloc_space&sampleRate=50", "main;work 3\n", "memory:alloc_space:bytes:::delta",
		  "a.b", 3 },
		{ "name=shop.inuse_objects", "main;work 3\n", "memory:inuse_objects:count::", "shop", 3 },
		{ "name=shop.mutex_duration", "main;work 3\n", "mutex:delay:nanoseconds:::delta", "shop",
		  3 },
		{ "name=shop.itimer&format=lines", "main;work\n\nmain;work\r\n",
		  "process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta", "shop", 20000000 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		const Span body = { (const uint8_t *) cases[i].body, strlen(cases[i].body) };
		const BatchSeries *series;
		const BatchSample *samples;
		PyroscopeResult result;
		Batch *batch;

		assert_int_equal(ingest(body, cases[i].query, "", &batch, &result), DECODE_OK);
		assert_int_equal(batch_series(batch, &series), 1);
		assert_string_equal(series->profile_type, cases[i].type);
		assert_string_equal(label(series, "service_name"), cases[i].service);
		assert_int_equal(batch_samples(batch, &samples), 1);
		assert_int_equal(samples[0].value, cases[i].value);
		batch_free(batch);
	}
}

static void
test_refused(void **state)
{
	static const struct
	{
		const char *query;
		const char *body;
		const char *type;
		const char *message; /* a part of the expected message */
	} cases[] = {
		{ "name=shop.backend", "main 1\n", "", "known profile type" },
		{ "name=shop&format=trie", "x", "", "trie" },
		{ "name=shop&format=tree", "x", "", "tree" },
		{ "name=shop", "x", "binary/octet-stream+trie", "trie" },
		{ "format=pprof", "x", "", "name" },
		{ "name=shop&format=pprof", "\x0a", "", "invalid profile" },
		{ "name=shop", "main one\n", "", "invalid profile" },
		{ "name=shop", "main 9223372036854775807\n", "", "out of range" },
		{ "name=shop&from=1000", "main 1\n", "", "old" },
		{ "name=shop&from=1767243600", "main 1\n", "", "future" },
		{ "name=shop", "--abc\r\nContent-Disposition: form-data; name=x\r\n\r\n\r\n--abc--", TYPE,
		  "no part profile" },
		{ "name=shop",
		  "--abc\r\nContent-Disposition: form-data; name=prev_profile\r\n\r\nx\r\n--abc--", TYPE,
		  "prev_profile" },
		{ "name=shop",
		  "--abc\r\nContent-Disposition: form-data; name=profile\r\n\r\nx\r\n--abc\r\n"
		  "Content-Disposition: form-data; name=sample_type_config\r\n\r\n[1\r\n--abc--",
		  TYPE, "sample_type_config" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		const Span body = { (const uint8_t *) cases[i].body, strlen(cases[i].body) };
		const BatchSample *samples;
		PyroscopeResult result;
		Batch *batch;

		assert_int_equal(ingest(body, cases[i].query, cases[i].type, &batch, &result),
						 DECODE_INVALID);
		assert_non_null(strstr(result.message, cases[i].message));
		assert_int_equal(batch_samples(batch, &samples), 0);
		batch_free(batch);
	}
}

/* A client without samples sends an empty body, which is accepted. */
static void
test_empty_text(void **state)
{
	const BatchSample *samples;
	PyroscopeResult result;
	Batch *batch;

	assert_int_equal(ingest((Span){ (const uint8_t *) "", 0 }, "name=shop", "", &batch, &result),
					 DECODE_OK);
	assert_int_equal(batch_samples(batch, &samples), 0);
	batch_free(batch);
}

/* --- push --- */

static void
add_profile(Proto *series, const Proto *profile)
{
	Proto sample = { .length = 0 };

	proto_message(&sample, 1, profile);
	proto_text(&sample, 2, "9f2a");
	proto_message(series, 2, &sample);
}

static void
test_push(void **state)
{
	const Made made = { .types = { "samples" },
						.period = "cpu",
						.time_ns = (uint64_t) NOW_US * 1000 };
	const Made old = { .types = { "samples" }, .time_ns = 1000000000000000000 };
	const Proto profile = make_profile(&made);
	const Proto too_old = make_profile(&old);
	const Proto bad = { .bytes = { 0 }, .length = 1 };
	Proto series = { .length = 0 };
	Proto request = { .length = 0 };
	const BatchSeries *stored;
	const BatchSample *samples;
	PyroscopeRequest pushed;
	PyroscopeResult result;
	Batch *batch;

	proto_pair(&series, 1, "__name__", "offcpu");
	proto_pair(&series, 1, "service_name", "shop");
	proto_pair(&series, 1, "__delta__", "false");
	proto_pair(&series, 1, "__session_id__", "1234");
	proto_pair(&series, 1, "zone", "eu");
	proto_pair(&series, 1, "zone", "eu");
	proto_pair(&series, 1, "twice", "one");
	proto_pair(&series, 1, "twice", "two");
	proto_pair(&series, 1, "a.b", "1");
	proto_pair(&series, 1, "a-b", "2");
	proto_pair(&series, 1, "tenant", "me");
	proto_pair(&series, 1, "empty", "");
	add_profile(&series, &profile);
	add_profile(&series, &bad);
	add_profile(&series, &too_old);
	proto_message(&request, 1, &series);
	pushed = request_of(proto_span(&request), "", "");
	pushed.tenant = "north";
	pushed.scope = "claimed";
	assert_int_equal(batch_create(1 << 20, &batch), 0);
	assert_int_equal(push_decode(&pushed, batch, &result), DECODE_OK);
	assert_int_equal(result.profiles, 1);
	assert_int_equal(result.rejected_profiles, 2);
	assert_non_null(strstr(result.message, "invalid profile"));
	assert_true(result.has_times);
	assert_int_equal(batch_samples(batch, &samples), 1);
	assert_int_equal(batch_series(batch, &stored) > 0, true);
	assert_string_equal(stored[0].profile_type, "offcpu:samples:count:cpu:nanoseconds:delta");
	assert_string_equal(label(stored, "tenant"), "north");
	assert_string_equal(label(stored, "exported_tenant_2"), "me");
	assert_string_equal(label(stored, "exported_tenant"), "claimed");
	assert_string_equal(label(stored, "zone"), "eu");
	assert_string_equal(label(stored, "twice"), "two");
	assert_string_equal(label(stored, "a_b"), "2"); /* "-" sorts before "." */
	assert_string_equal(label(stored, "a_b_2"), "1");
	assert_int_equal(stored->label_count, 8);
	batch_free(batch);
}

static void
test_bad_push(void **state)
{
	static const uint8_t bodies[][4] = { { 0x0a, 0x05, 0x0a },
										 { 0x0a, 0x02, 0x0a, 0x05 },
										 { 0xff } };

	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++)
	{
		const PyroscopeRequest request = request_of((Span){ bodies[i], 4 - (i == 0) }, "", "");
		PyroscopeResult result;
		Batch *batch;

		assert_int_equal(batch_create(1 << 20, &batch), 0);
		assert_int_equal(push_decode(&request, batch, &result), DECODE_INVALID);
		assert_true(result.message[0] != '\0');
		batch_free(batch);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),		  cmocka_unit_test(test_bad_queries),
		cmocka_unit_test(test_times),		  cmocka_unit_test(test_parts),
		cmocka_unit_test(test_bad_parts),	  cmocka_unit_test(test_type_names),
		cmocka_unit_test(test_display_names), cmocka_unit_test(test_sample_labels),
		cmocka_unit_test(test_series_ids),	  cmocka_unit_test(test_times_of_profiles),
		cmocka_unit_test(test_text),		  cmocka_unit_test(test_refused),
		cmocka_unit_test(test_empty_text),	  cmocka_unit_test(test_push),
		cmocka_unit_test(test_bad_push),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
