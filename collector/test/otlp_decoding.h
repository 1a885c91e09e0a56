/*
 * otlp_decoding.h
 *		Decodes requests of OTLP profiles for tests, and looks at the batches.
 */
#ifndef COLLECTOR_TEST_OTLP_DECODING_H
#define COLLECTOR_TEST_OTLP_DECODING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "otlp/otlp_decode.h"
#include "otlp_request.h"

#define CPU "process_cpu:samples:count:cpu:nanoseconds:delta"

static const AttributeRule rule = { "thread.id" };

static MemoryShare *memory; /* memory of the decoded requests; NULL: not counted */
static bool is_json;		/* the requests are JSON */

static inline DecodeEnd
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

static inline const char *
label(const BatchSeries *series, const char *name)
{
	for (uint32_t i = 0; i < series->label_count; i++)
		if (strcmp(series->labels[i].name, name) == 0)
			return series->labels[i].value;
	return "";
}

/* Returns the sum over all rows of samples with or without a thread's name, and of this depth. */
static inline int64_t
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

static inline Proto
usual_request(Dialect dialect)
{
	const Proto samples[] = { sample(dialect, 1, 7, 0), sample(dialect, 1, 11, 1),
							  sample(dialect, 2, 13, 4), sample(dialect, 1, 17, 0) };
	Proto one = profile(samples, 4);

	proto_text(&one, dialect_layout(dialect)->profile_id, "sixteen bytes of");
	return request_of(&one, 1);
}

#endif
