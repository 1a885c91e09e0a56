/*
 * test_write_raw.c
 *		Requests of Parca's WriteRaw: labels and profiles in a batch, and requests that are refused
 *		whole.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "otlp/write_raw.h"
#include "proto_builder.h"

#define SECOND_US INT64_C(1000000)
#define NOW_US	  (INT64_C(1767225600) * SECOND_US)
#define CPU		  "process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta"

/* --- requests --- */

/* Returns a profile with one function and one sample; time 0: without a time. */
static Proto
pprof(const char *function, int value, uint64_t time_ns)
{
	static const char *const texts[] = { "", "cpu", "nanoseconds" };
	Proto profile = { .length = 0 };
	Proto item = { .length = 0 };
	Proto line = { .length = 0 };

	proto_number(&item, 1, 1); /* a type, of the texts 1 and 2 */
	proto_number(&item, 2, 2);
	proto_message(&profile, 1, &item);
	proto_message(&profile, 11, &item);
	item.length = 0;
	proto_list(&item, 1, 1, 1);
	proto_list(&item, 2, 1, value);
	proto_message(&profile, 2, &item);
	item.length = 0;
	proto_number(&line, 1, 1);
	proto_number(&line, 2, 12);
	proto_number(&item, 1, 1);
	proto_message(&item, 4, &line);
	proto_message(&profile, 4, &item);
	item.length = 0;
	proto_number(&item, 1, 1);
	proto_number(&item, 2, 3);
	proto_message(&profile, 5, &item);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		proto_text(&profile, 6, texts[i]);
	proto_text(&profile, 6, function);
	if (time_ns > 0)
		proto_number(&profile, 9, time_ns);
	proto_number(&profile, 10, 1000000000);
	proto_number(&profile, 12, 10000000);
	return profile;
}

static void
add_series(Proto *request, const Proto *labels, const Proto *profile)
{
	Proto series = { .length = 0 };
	Proto sample = { .length = 0 };

	proto_message(&sample, 1, profile);
	proto_message(&series, 1, labels);
	proto_message(&series, 2, &sample);
	proto_message(request, 2, &series);
}

static Proto
request_of(const Proto *labels, const Proto *profile)
{
	Proto request = { .length = 0 };

	add_series(&request, labels, profile);
	return request;
}

static Proto
usual_labels(void)
{
	Proto labels = { .length = 0 };

	proto_pair(&labels, 1, "__name__", "process_cpu");
	proto_pair(&labels, 1, "job", "shop");
	return labels;
}

static DecodeEnd
decode(Span body, const char *tenant, size_t batch_bytes, Batch **batch, WriteRawResult *result)
{
	const WriteRawRequest request = { .body = body,
									  .tenant = tenant,
									  .limits.now_us = NOW_US,
									  .limits.first_us = NOW_US - 3600 * SECOND_US,
									  .limits.last_us = NOW_US + 3600 * SECOND_US };

	assert_int_equal(batch_create(batch_bytes, batch), 0);
	return write_raw_decode(&request, *batch, result);
}

static const char *
label(const BatchSeries *series, const char *name)
{
	for (uint32_t i = 0; i < series->label_count; i++)
		if (strcmp(series->labels[i].name, name) == 0)
			return series->labels[i].value;
	return "";
}

/* --- what is taken --- */

static void
test_values(void **state)
{
	const Proto first = pprof("work", 70, (uint64_t) (NOW_US - SECOND_US) * 1000);
	const Proto second = pprof("rest", 5, (uint64_t) (NOW_US - SECOND_US) * 1000);
	Proto labels = usual_labels();
	Proto request = request_of(&labels, &first);
	const BatchSample *samples;
	const BatchSeries *series;
	WriteRawResult result;
	Batch *batch;

	proto_pair(&labels, 1, "tenant", "me");
	proto_pair(&labels, 1, "__own", "x");
	add_series(&request, &labels, &second);
	assert_int_equal(decode(proto_span(&request), "north", 1 << 20, &batch, &result), DECODE_OK);
	assert_int_equal(result.samples, 2);
	assert_true(result.has_times);
	assert_int_equal(batch_samples(batch, &samples), 2);
	assert_int_equal(batch_series(batch, &series), 2);
	assert_int_equal(samples[0].value, 70);
	assert_int_equal(samples[1].value, 5);
	assert_int_equal(samples[0].time_us, NOW_US - SECOND_US);
	assert_string_equal(series[0].profile_type, CPU);
	assert_string_equal(label(&series[0], "job"), "shop");
	assert_string_equal(label(&series[1], "tenant"), "north");
	assert_string_equal(label(&series[1], "exported_tenant"), "me");
	assert_string_equal(label(&series[1], "exported___own"), "x");
	batch_free(batch);
}

/* Adds a sample with two labels, whose values are their names. */
static void
add_labelled_sample(Proto *profile, const char *first, const char *second)
{
	Proto item = { .length = 0 };

	proto_list(&item, 1, 1, 1);
	proto_list(&item, 2, 1, 5);
	for (unsigned i = 0; i < 2; i++)
	{
		Proto label = { .length = 0 };

		proto_number(&label, 1, 4 + i);
		proto_number(&label, 2, 4 + i);
		proto_message(&item, 3, &label);
	}
	proto_message(profile, 2, &item);
	proto_text(profile, 6, first);
	proto_text(profile, 6, second);
}

/* A reserved name is not changed to the name of another label of the sample. */
static void
test_guarded_names_differ(void **state)
{
	static const char *const names[][2] = { { "__a", "exported___a" }, { "exported___a", "__a" } };

	for (size_t i = 0; i < 2; i++)
	{
		const Proto labels = usual_labels();
		Proto profile = pprof("work", 70, 0);
		Proto request;
		const BatchSeries *series;
		WriteRawResult result;
		Batch *batch;

		add_labelled_sample(&profile, names[i][0], names[i][1]);
		request = request_of(&labels, &profile);
		assert_int_equal(decode(proto_span(&request), "", 1 << 20, &batch, &result), DECODE_OK);
		assert_int_equal(batch_series(batch, &series), 2);
		series += *label(&series[0], "exported___a") == '\0';
		assert_string_equal(label(series, "exported___a"), "exported___a");
		assert_string_equal(label(series, "exported___a_2"), "__a");
		batch_free(batch);
	}
}

static void
test_without_time(void **state)
{
	const Proto profile = pprof("work", 70, 0);
	const Proto labels = usual_labels();
	const Proto request = request_of(&labels, &profile);
	const BatchSample *samples;
	WriteRawResult result;
	Batch *batch;

	assert_int_equal(decode(proto_span(&request), "", 1 << 20, &batch, &result), DECODE_OK);
	assert_false(result.has_times);
	assert_int_equal(batch_samples(batch, &samples), 1);
	batch_free(batch);
}

static void
test_nothing(void **state)
{
	WriteRawResult result;
	Batch *batch;

	assert_int_equal(decode((Span){ NULL, 0 }, "", 1 << 20, &batch, &result), DECODE_OK);
	assert_int_equal(result.samples, 0);
	batch_free(batch);
}

/* --- what is refused --- */

static void
assert_refused(const Proto *request, const char *message)
{
	WriteRawResult result;
	Batch *batch;

	assert_int_equal(decode(proto_span(request), "", 1 << 20, &batch, &result), DECODE_INVALID);
	assert_non_null(strstr(result.message, message));
	batch_free(batch);
}

static void
assert_label_refused(const char *name, const char *value, const char *message)
{
	const Proto profile = pprof("work", 70, 0);
	Proto labels = usual_labels();
	Proto request;

	proto_pair(&labels, 1, name, value);
	request = request_of(&labels, &profile);
	assert_refused(&request, message);
}

static void
test_labels_refused(void **state)
{
	const Proto profile = pprof("work", 70, 0);
	char text[WRITE_RAW_LABEL_MAX + 2];
	Proto labels = { .length = 0 };
	Proto request;

	assert_label_refused("", "x", "the name of a label is not valid");
	assert_label_refused("a b", "x", "the name of a label is not valid");
	assert_label_refused("1a", "x", "the name of a label is not valid");
	assert_label_refused("job", "x", "a series has a label twice");
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_label_refused("long", text, "a label is too long");
	assert_label_refused(text, "long", "a label is too long");
	text[WRITE_RAW_LABEL_MAX] = '\0';
	proto_pair(&labels, 1, "long", text);
	request = request_of(&labels, &profile);
	for (unsigned i = 0; i < BATCH_MAX_LABELS; i++)
	{
		snprintf(text, sizeof(text), "l%u", i);
		proto_pair(&labels, 1, text, "x");
	}
	request = request_of(&labels, &profile);
	assert_refused(&request, "a series has too many labels");
}

static void
test_profiles_refused(void **state)
{
	const Proto labels = usual_labels();
	Proto profile = pprof("work", 70, (uint64_t) (NOW_US - SECOND_US) * 1000);
	Proto request = request_of(&labels, &profile);
	WriteRawResult result;
	Batch *batch;

	assert_int_equal(decode(proto_span(&request), "", 2048, &batch, &result), DECODE_NO_ROOM);
	batch_free(batch);
	profile = (Proto){ .length = 0 };
	proto_text(&profile, 3, "\xFF\xFF\xFF");
	add_series(&request, &labels, &profile);
	assert_refused(&request, "invalid profile: ");
	profile = pprof("work", 70, (uint64_t) (NOW_US - 7200 * SECOND_US) * 1000);
	request = request_of(&labels, &profile);
	assert_refused(&request, "the time of a profile is too far from now");
	profile = pprof("work", 70, 0);
	proto_number(&profile, 7, 3); /* frames to drop: a pattern that matches the function */
	request = request_of(&labels, &profile);
	assert_refused(&request, "the profile cannot be received: ");
}

/* A request that is cut at any byte, or has any byte changed, is never read beyond its end. */
static void
test_changed(void **state)
{
	const Proto profile = pprof("work", 70, (uint64_t) (NOW_US - SECOND_US) * 1000);
	const Proto labels = usual_labels();
	const Proto whole = request_of(&labels, &profile);
	WriteRawResult result;
	Batch *batch;

	for (size_t i = 1; i < whole.length; i++)
	{
		uint8_t *bytes = malloc(whole.length);

		assert_non_null(bytes);
		memcpy(bytes, whole.bytes, whole.length);
		bytes = realloc(bytes, i); /* memory of exactly that size, for sanitizers */
		assert_non_null(bytes);
		assert_int_equal(decode((Span){ bytes, i }, "", 1 << 20, &batch, &result), DECODE_INVALID);
		batch_free(batch);
		free(bytes);
		for (unsigned change = 0; change < 3; change++)
		{
			Proto copy = whole;

			copy.bytes[i] = (uint8_t[]){ 0xFF, 0, (uint8_t) (whole.bytes[i] ^ 1) }[change];
			decode(proto_span(&copy), "", 1 << 20, &batch, &result);
			batch_free(batch);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_without_time),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_labels_refused),
		cmocka_unit_test(test_profiles_refused),
		cmocka_unit_test(test_changed),
		cmocka_unit_test(test_guarded_names_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
