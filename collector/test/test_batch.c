/*
 * test_batch.c
 *		A batch holds each item once, sums samples, and stays whole when its budget is used up.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "batch/batch.h"

#define BUDGET_BYTES (8 * 1024 * 1024)

/*
 * Allocation n from here on fails, once; -1: none fails. These functions replace the library's own
 * ones, which glibc offers under another name as well.
 */
static long fail_countdown = -1;

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);

static bool
must_fail(void)
{
	return fail_countdown >= 0 && fail_countdown-- == 0;
}

void *
malloc(size_t size)
{
	return must_fail() ? NULL : __libc_malloc(size);
}

void *
calloc(size_t count, size_t size)
{
	return must_fail() ? NULL : __libc_calloc(count, size);
}

void *
realloc(void *old, size_t size)
{
	return must_fail() ? NULL : __libc_realloc(old, size);
}

static Batch *
new_batch(size_t budget_bytes)
{
	Batch *batch = NULL;

	assert_int_equal(batch_create(budget_bytes, &batch), 0);
	assert_non_null(batch);
	return batch;
}

static uint32_t
add_mapping(Batch *batch, const char *build_id, const char *file)
{
	uint32_t index = 99;

	assert_int_equal(batch_add_mapping(batch, &(BatchMapping){ .build_id = build_id, .file = file },
									   &index),
					 0);
	return index;
}

static uint32_t
add_function(Batch *batch, const char *name, int32_t start_line)
{
	BatchFunction function = { name, name, "file.c", start_line };
	uint32_t index = 99;

	assert_int_equal(batch_add_function(batch, &function, &index), 0);
	return index;
}

/* Names that are equal once they are valid text are one function, whichever came first. */
static void
test_functions_by_bytes(void **state)
{
	static const char *const names[] = { "f\xff", "f\xfe", "f\xEF\xBF\xBD", "f" };
	Batch *batch = new_batch(BUDGET_BYTES);
	const BatchFunction *functions;

	for (int round = 0; round < 2; round++)
		for (uint32_t i = 0; i < 4; i++)
			assert_int_equal(add_function(batch, names[i], 1), i / 3);
	assert_int_equal(add_function(batch, "f", 2), 2);
	assert_int_equal(batch_functions(batch, &functions), 3);
	assert_string_equal(functions[0].name, "f\xEF\xBF\xBD");
	batch_free(batch);
}

static uint32_t
add_series(Batch *batch, uint32_t label_count, const BatchLabel *labels)
{
	BatchSeries series = { "process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta", label_count, labels,
						   52631578 };
	uint32_t index = 99;

	assert_int_equal(batch_add_series(batch, &series, &index), 0);
	return index;
}

static void
test_strings_are_copied(void **state)
{
	Batch *batch = new_batch(BUDGET_BYTES);
	const BatchMapping *mappings;
	char build_id[] = "aa";
	char file[] = "/bin/x";

	assert_int_equal(add_mapping(batch, build_id, file), 0);
	build_id[0] = 'b';
	file[1] = 'c';
	assert_int_equal(add_mapping(batch, "aa", "/bin/x"), 0);
	assert_int_equal(add_mapping(batch, "", "/bin/x"), 1);
	assert_int_equal(add_mapping(batch, "/bin/x", ""), 2);
	assert_int_equal(batch_mappings(batch, &mappings), 3);
	assert_string_equal(mappings[0].build_id, "aa");
	assert_string_equal(mappings[0].file, "/bin/x");
	assert_string_equal(mappings[1].build_id, "");
	assert_ptr_equal(mappings[1].file, mappings[0].file);
	batch_free(batch);
}

/* Bytes after the length do not count: a character that the length cuts in two is dropped. */
static void
test_bytes_are_utf8(void **state)
{
	static const char text[] = "caf\u00e9 \U0001F600!";
	static const size_t whole[] = { 0, 1, 2, 3, 5, 6, 10, 11 };
	size_t next = 0;

	for (size_t length = 0; length < sizeof(text); length++)
	{
		bool is_whole = next < sizeof(whole) / sizeof(whole[0]) && whole[next] == length;

		assert_int_equal(utf8_valid_bytes(text, length), is_whole);
		next += is_whole;
	}
	assert_int_equal(next, sizeof(whole) / sizeof(whole[0]));
}

static void
test_strings_are_utf8(void **state)
{
	Batch *batch = new_batch(BUDGET_BYTES);
	const BatchMapping *mappings;
	size_t bytes;

	assert_int_equal(add_mapping(batch, "",
								 "/tmp/\xff\xc3\xa9\xe0\x80\xed\xa0\x80\xf0\x9f\x98\x80\xc3"),
					 0);
	bytes = batch_bytes(batch);
	for (int i = 0; i < 10000; i++)
		assert_int_equal(add_mapping(batch, "",
									 "/tmp/\xff\xc3\xa9\xe0\x80\xed\xa0\x80\xf0\x9f\x98\x80\xc3"),
						 0);
	assert_int_equal(batch_bytes(batch), bytes);
	assert_int_equal(batch_mappings(batch, &mappings), 1);
	assert_string_equal(mappings[0].file,
						"/tmp/\uFFFD\u00e9\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\U0001F600\uFFFD");
	batch_free(batch);
}

static void
test_locations(void **state)
{
	Batch *batch = new_batch(BUDGET_BYTES);
	BatchLine lines[2];
	BatchLocation location = { 0, 0x1000, 2, lines };
	const BatchLocation *locations;
	uint32_t index = 99;

	lines[0] = (BatchLine){ add_function(batch, "inner", 1), 10 };
	lines[1] = (BatchLine){ add_function(batch, "outer", 5), 20 };
	assert_int_equal(batch_add_location(batch, &location, &index), -EINVAL);
	assert_int_equal(index, 99);
	add_mapping(batch, "aa", "/bin/x");
	assert_int_equal(batch_add_location(batch, &location, &index), 0);
	assert_int_equal(index, 0);
	lines[1].line = 21;
	assert_int_equal(batch_add_location(batch, &location, &index), 0);
	assert_int_equal(index, 1);
	lines[1].line = 20;
	assert_int_equal(batch_add_location(batch, &location, &index), 0);
	assert_int_equal(index, 0);

	location.line_count = 0;
	location.lines = NULL;
	assert_int_equal(batch_add_location(batch, &location, &index), 0);
	assert_int_equal(index, 2);
	assert_int_equal(batch_add_location(batch, &location, &index), 0);
	assert_int_equal(index, 2);
	location.mapping = BATCH_NO_MAPPING;
	assert_int_equal(batch_add_location(batch, &location, &index), 0);
	assert_int_equal(index, 3);
	location.mapping = 1;
	assert_int_equal(batch_add_location(batch, &location, &index), -EINVAL);
	lines[0].function = 2;
	location = (BatchLocation){ 0, 0x1000, 2, lines };
	assert_int_equal(batch_add_location(batch, &location, &index), -EINVAL);

	assert_int_equal(batch_locations(batch, &locations), 4);
	assert_int_equal(locations[1].lines[1].line, 21);
	assert_int_equal(locations[0].lines[1].line, 20);
	assert_int_equal(locations[0].lines[1].function, 1);
	batch_free(batch);
}

static void
test_stacks(void **state)
{
	Batch *batch = new_batch(BUDGET_BYTES);
	BatchLocation location = { BATCH_NO_MAPPING, 1, 0, NULL };
	uint32_t frames[3] = { 0, 1, 0 };
	BatchStack stack = { "aa", 3, frames };
	const BatchStack *stacks;
	uint32_t index;

	assert_int_equal(batch_add_location(batch, &location, &index), 0);
	assert_int_equal(batch_add_stack(batch, &stack, &index), -EINVAL);
	location.address = 2;
	assert_int_equal(batch_add_location(batch, &location, &index), 0);
	assert_int_equal(batch_add_stack(batch, &stack, &index), 0);
	assert_int_equal(index, 0);
	stack.depth = 2;
	assert_int_equal(batch_add_stack(batch, &stack, &index), 0);
	assert_int_equal(index, 1);
	stack.partition = "bb";
	assert_int_equal(batch_add_stack(batch, &stack, &index), 0);
	assert_int_equal(index, 2);
	stack = (BatchStack){ "", 0, NULL };
	assert_int_equal(batch_add_stack(batch, &stack, &index), 0);
	assert_int_equal(index, 3);
	assert_int_equal(batch_add_stack(batch, &stack, &index), 0);
	assert_int_equal(index, 3);
	stack = (BatchStack){ "aa", 3, frames };
	assert_int_equal(batch_add_stack(batch, &stack, &index), 0);
	assert_int_equal(index, 0);
	frames[0] = 1;
	assert_int_equal(batch_stacks(batch, &stacks), 4);
	assert_int_equal(stacks[0].locations[0], 0);
	assert_string_equal(stacks[2].partition, "bb");
	batch_free(batch);
}

static void
test_series_labels_are_sorted(void **state)
{
	Batch *batch = new_batch(BUDGET_BYTES);
	BatchLabel labels[] = { { "node", "a" }, { "comm", "b" }, { "exe", "c" } };
	BatchLabel other_order[] = { { "exe", "c" }, { "node", "a" }, { "comm", "b" } };
	BatchLabel twice[] = { { "exe", "c" }, { "node", "a" }, { "exe", "b" } };
	BatchLabel many[BATCH_MAX_LABELS + 1];
	BatchSeries series = { "p", 3, twice, 1 };
	char names[BATCH_MAX_LABELS + 1][8];
	const BatchSeries *items;
	uint32_t index;

	assert_int_equal(add_series(batch, 3, labels), 0);
	assert_int_equal(add_series(batch, 3, other_order), 0);
	assert_int_equal(add_series(batch, 2, labels), 1);
	assert_int_equal(add_series(batch, 0, NULL), 2);
	assert_int_equal(batch_add_series(batch, &series, &index), -EINVAL);
	for (int i = 0; i <= BATCH_MAX_LABELS; i++)
	{
		snprintf(names[i], sizeof(names[i]), "l%d", i);
		many[i] = (BatchLabel){ names[i], "v" };
	}
	assert_int_equal(add_series(batch, BATCH_MAX_LABELS, many), 3);
	series = (BatchSeries){ "p", BATCH_MAX_LABELS + 1, many, 1 };
	assert_int_equal(batch_add_series(batch, &series, &index), -EINVAL);

	assert_int_equal(batch_series(batch, &items), 4);
	assert_string_equal(items[0].labels[0].name, "comm");
	assert_string_equal(items[0].labels[1].name, "exe");
	assert_string_equal(items[0].labels[2].value, "a");
	batch_free(batch);
}

/* Compares random samples with a dense array, the oracle. */
static void
test_samples_are_summed(void **state)
{
	static int64_t sums[5][40][300];
	Batch *batch = new_batch(BUDGET_BYTES);
	BatchLocation location = { BATCH_NO_MAPPING, 0, 0, NULL };
	const BatchSample *samples;
	size_t distinct = 0;
	size_t count;
	uint32_t index;
	unsigned int seed = 42;

	for (uint32_t i = 0; i < 300; i++)
	{
		location.address = i;
		assert_int_equal(batch_add_location(batch, &location, &index), 0);
		assert_int_equal(batch_add_stack(batch, &(BatchStack){ "p", 1, &i }, &index), 0);
		assert_int_equal(index, i);
	}
	for (uint32_t i = 0; i < 40; i++)
	{
		char value[16];

		snprintf(value, sizeof(value), "%u", i);
		assert_int_equal(add_series(batch, 1, &(BatchLabel){ "comm", value }), i);
	}
	for (int i = 0; i < 200000; i++)
	{
		BatchSample sample = { .time_us = rand_r(&seed) % 5,
							   .series = (uint32_t) rand_r(&seed) % 40,
							   .stack = (uint32_t) rand_r(&seed) % 300,
							   .value = 1 + rand_r(&seed) % 1000 };
		int64_t *sum = &sums[sample.time_us][sample.series][sample.stack];

		distinct += *sum == 0;
		*sum += sample.value;
		assert_int_equal(batch_add_sample(batch, &sample), 0);
	}
	count = batch_samples(batch, &samples);
	assert_int_equal(count, distinct);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(samples[i].value,
						 sums[samples[i].time_us][samples[i].series][samples[i].stack]);
	assert_int_equal(batch_add_sample(batch, &(BatchSample){ 0, 40, 0, 1 }), -EINVAL);
	assert_int_equal(batch_add_sample(batch, &(BatchSample){ 0, 0, 300, 1 }), -EINVAL);
	batch_free(batch);
}

static void
test_sums_do_not_overflow(void **state)
{
	Batch *batch = new_batch(BUDGET_BYTES);
	BatchSample sample = { .value = INT64_MAX };
	const BatchSample *samples;
	const BatchLoss *losses;
	const BatchUnwound *unwound;
	uint32_t index;

	add_series(batch, 0, NULL);
	assert_int_equal(batch_add_stack(batch, &(BatchStack){ "", 0, NULL }, &index), 0);
	assert_int_equal(batch_add_sample(batch, &sample), 0);
	sample.value = 1;
	assert_int_equal(batch_add_sample(batch, &sample), -EOVERFLOW);
	assert_int_equal(batch_samples(batch, &samples), 1);
	assert_int_equal(samples[0].value, INT64_MAX);

	assert_int_equal(batch_add_loss(batch, "ring_full", 3), 0);
	assert_int_equal(batch_add_loss(batch, "process_gone", 1), 0);
	assert_int_equal(batch_add_loss(batch, "ring_full", 4), 0);
	assert_int_equal(batch_add_loss(batch, "ring_full", INT64_MAX), -EOVERFLOW);
	assert_int_equal(batch_add_loss(batch, "huge", UINT64_MAX), -EOVERFLOW);
	assert_int_equal(batch_losses(batch, &losses), 2);
	assert_string_equal(losses[0].reason, "ring_full");
	assert_int_equal(losses[0].count, 7);

	assert_int_equal(batch_add_unwound(batch, &(BatchUnwound){ "/bin/a", 5, 4 }), 0);
	assert_int_equal(batch_add_unwound(batch, &(BatchUnwound){ "", 1, 0 }), 0);
	assert_int_equal(batch_add_unwound(batch, &(BatchUnwound){ "/bin/a", 2, 2 }), 0);
	assert_int_equal(batch_add_unwound(batch, &(BatchUnwound){ "/bin/a", 2, 3 }), -EINVAL);
	assert_int_equal(batch_add_unwound(batch, &(BatchUnwound){ "/bin/a", INT64_MAX, 0 }),
					 -EOVERFLOW);
	assert_int_equal(batch_unwound(batch, &unwound), 2);
	assert_string_equal(unwound[0].exe, "/bin/a");
	assert_int_equal(unwound[0].stacks, 7);
	assert_int_equal(unwound[0].complete, 6);
	batch_free(batch);
}

/* Fills a batch up to its budget, for many budgets, so that each kind of growth fails once. */
static void
test_budget(void **state)
{
	assert_int_equal(batch_create(10, &(Batch *){ NULL }), -ENOMEM);
	for (size_t budget = 1500; budget < 40000; budget += 97)
	{
		Batch *batch = new_batch(budget);
		const BatchLocation *locations;
		const BatchStack *stacks;
		uint32_t added = 0;
		int err = 0;

		for (uint32_t i = 0; err == 0; i++)
		{
			BatchLine line = { 0, (int32_t) i };
			BatchLocation location = { BATCH_NO_MAPPING, i, 1, &line };
			BatchFunction function = { "f", "f", "", 0 };
			BatchStack stack = { "p", 1, &i };
			char reason[16];
			uint32_t index;

			snprintf(reason, sizeof(reason), "r%u", i);
			err = batch_add_function(batch, &function, &index);
			err = err ? err : batch_add_location(batch, &location, &index);
			err = err ? err : batch_add_stack(batch, &stack, &index);
			err = err ? err : batch_add_loss(batch, reason, 1);
			added += err == 0;
		}
		assert_int_equal(err, -ENOMEM);
		assert_true(batch_bytes(batch) <= budget);
		assert_in_range(batch_locations(batch, &locations), added, added + 1);
		assert_in_range(batch_stacks(batch, &stacks), added, added + 1);
		for (uint32_t i = 0; i < added; i++)
		{
			assert_int_equal(locations[i].lines[0].line, i);
			assert_int_equal(stacks[i].locations[0], i);
		}
		batch_free(batch);
	}
	batch_free(NULL);
}

/* Adds one item of each kind; adding it a second time changes nothing. */
static int
add_one_of_each(Batch *batch, uint32_t n)
{
	char name[32];
	BatchLine line;
	BatchLocation location = { .address = n, .line_count = 1, .lines = &line };
	BatchLabel label = { "comm", name };
	BatchSeries series = { "p", 1, &label, 1 };
	BatchSample sample = { .value = n };
	uint32_t frame;
	int err;

	snprintf(name, sizeof(name), "name \xff %u", n);
	line.line = 1;
	err = batch_add_mapping(batch, &(BatchMapping){ "", name }, &location.mapping);
	if (err == 0)
		err = batch_add_function(batch, &(BatchFunction){ name, name, "", 1 }, &line.function);
	if (err == 0)
		err = batch_add_location(batch, &location, &frame);
	if (err == 0)
		err = batch_add_stack(batch, &(BatchStack){ name, 1, &frame }, &sample.stack);
	if (err == 0)
		err = batch_add_series(batch, &series, &sample.series);
	if (err == 0)
		err = batch_add_sample(batch, &sample);
	if (err == 0)
		err = batch_add_loss(batch, name, 0);
	return err;
}

/* Fails each allocation once: the call that met it reports it, and succeeds when it is repeated. */
static void
test_out_of_memory(void **state)
{
	bool failed = true;

	for (long n = 0; failed; n++)
	{
		Batch *batch = NULL;
		const BatchSample *samples;
		int err;

		failed = false;
		fail_countdown = n;
		err = batch_create(BUDGET_BYTES, &batch);
		if (err != 0)
		{
			assert_int_equal(err, -ENOMEM);
			assert_null(batch);
			failed = true;
			continue;
		}
		for (uint32_t i = 0; i < 200; i++)
		{
			err = add_one_of_each(batch, i);
			if (err != 0)
			{
				assert_int_equal(err, -ENOMEM);
				assert_false(failed);
				failed = true;
				assert_int_equal(add_one_of_each(batch, i), 0);
			}
		}
		failed = failed || fail_countdown < 0;
		fail_countdown = -1;
		assert_int_equal(batch_samples(batch, &samples), 200);
		batch_free(batch);
	}
}

/* Batches with common items, and with different indexes, become one that holds each item once. */
static void
test_batches_are_merged(void **state)
{
	Batch *parts[2] = { new_batch(BUDGET_BYTES), new_batch(BUDGET_BYTES) };
	Batch *whole = new_batch(BUDGET_BYTES);
	Batch *merged = new_batch(BUDGET_BYTES);
	const BatchSample *samples;
	const BatchStack *stacks;
	const BatchLocation *locations;
	const BatchMapping *mappings;
	const BatchLoss *losses;

	/* the second batch has the items of the first in reverse order, and five more */
	for (int i = 0; i < 10; i++)
		assert_int_equal(add_one_of_each(parts[0], i), 0);
	for (int i = 14; i >= 0; i--)
		assert_int_equal(add_one_of_each(parts[1], i), 0);
	for (int i = 0; i < 15; i++)
		for (int times = i < 10 ? 2 : 1; times > 0; times--)
			assert_int_equal(add_one_of_each(whole, i), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(batch_add_batch(merged, parts[i]), 0);
	assert_int_equal(batch_samples(merged, &samples), 15);
	for (int i = 0; i < 15; i++)
		assert_int_equal(samples[i].value, i < 10 ? 2 * i : 24 - i);
	assert_int_equal(batch_stacks(merged, &stacks), batch_stacks(whole, &stacks));
	assert_int_equal(batch_locations(merged, &locations), batch_locations(whole, &locations));
	assert_int_equal(batch_mappings(merged, &mappings), batch_mappings(whole, &mappings));
	assert_int_equal(batch_losses(merged, &losses), batch_losses(whole, &losses));

	/* items that the batch has already add only their values */
	assert_int_equal(batch_add_batch(whole, merged), 0);
	assert_int_equal(batch_samples(whole, &samples), 15);
	for (int i = 0; i < 15; i++)
		assert_int_equal(samples[i].value, i < 10 ? 4 * i : 2 * i);
	batch_free(parts[0]);
	batch_free(parts[1]);
	batch_free(merged);
	batch_free(whole);
}

/*
 * Parts by series contain exactly the items that their series need; together they equal the whole.
 */
static void
test_parts_by_series(void **state)
{
	Batch *whole = new_batch(BUDGET_BYTES);
	Batch *together = new_batch(BUDGET_BYTES);
	const BatchSeries *series;
	const BatchSample *samples;
	const BatchStack *stacks;
	const BatchLocation *locations;
	const BatchFunction *functions;
	const BatchMapping *mappings;
	const BatchLoss *losses;
	uint32_t count;
	int64_t sum = 0;

	for (int i = 0; i < 15; i++)
		assert_int_equal(add_one_of_each(whole, i), 0);
	count = (uint32_t) batch_series(whole, &series);
	for (uint32_t i = 0; i < count; i++)
	{
		Batch *part = new_batch(BUDGET_BYTES);
		const BatchSeries *own;

		assert_int_equal(batch_add_series_of(part, whole, i, i + 1), 0);
		assert_int_equal(batch_series(part, &own), 1);
		assert_string_equal(own[0].labels[0].value, series[i].labels[0].value);
		assert_int_equal(batch_losses(part, &losses), 0);
		assert_true(batch_functions(part, &functions) <= batch_functions(whole, &functions));
		for (size_t j = 0, n = batch_samples(part, &samples); j < n; j++)
			sum += samples[j].value;
		assert_true(batch_stacks(part, &stacks) <= batch_samples(part, &samples));
		assert_int_equal(batch_add_batch(together, part), 0);
		batch_free(part);
	}
	assert_int_equal(batch_samples(together, &samples), batch_samples(whole, &samples));
	for (size_t i = 0, n = batch_samples(whole, &samples); i < n; i++)
		sum -= samples[i].value;
	assert_int_equal(sum, 0);
	assert_int_equal(batch_add_counts_of(together, whole), 0);
	assert_int_equal(batch_losses(together, &losses), batch_losses(whole, &losses));
	assert_int_equal(batch_stacks(together, &stacks), batch_stacks(whole, &stacks));
	assert_int_equal(batch_locations(together, &locations), batch_locations(whole, &locations));
	assert_int_equal(batch_mappings(together, &mappings), batch_mappings(whole, &mappings));
	batch_free(whole);
	batch_free(together);
}

/* A part by stacks contains exactly these stacks in order, with their locations. */
static void
test_parts_by_stacks(void **state)
{
	Batch *whole = new_batch(BUDGET_BYTES);
	const BatchStack *stacks;
	const BatchLocation *locations;
	const BatchMapping *mappings;
	uint32_t count;

	for (int i = 0; i < 15; i++)
		assert_int_equal(add_one_of_each(whole, i), 0);
	count = (uint32_t) batch_stacks(whole, &stacks);
	batch_locations(whole, &locations);
	batch_mappings(whole, &mappings);
	assert_true(count >= 6);
	for (uint32_t first = 0; first < count; first += 3)
	{
		uint32_t end = first + 3 < count ? first + 3 : count;
		Batch *part = new_batch(BUDGET_BYTES);
		const BatchStack *own;
		const BatchLocation *own_locations;
		const BatchMapping *own_mappings;
		const BatchSeries *series;
		const BatchSample *samples;
		uint32_t depths = 0;

		assert_int_equal(batch_add_stacks_of(part, whole, first, end), 0);
		assert_int_equal(batch_series(part, &series), 0);
		assert_int_equal(batch_samples(part, &samples), 0);
		assert_int_equal(batch_stacks(part, &own), end - first);
		batch_mappings(part, &own_mappings);
		batch_locations(part, &own_locations);
		for (uint32_t i = first; i < end; i++)
		{
			assert_int_equal(own[i - first].depth, stacks[i].depth);
			depths += stacks[i].depth;
			for (uint32_t j = 0; j < stacks[i].depth; j++)
			{
				const BatchLocation *expected = &locations[stacks[i].locations[j]];
				const BatchLocation *found = &own_locations[own[i - first].locations[j]];

				assert_int_equal(found->address, expected->address);
				assert_int_equal(found->line_count, expected->line_count);
				assert_int_equal(found->mapping == BATCH_NO_MAPPING,
								 expected->mapping == BATCH_NO_MAPPING);
				if (found->mapping != BATCH_NO_MAPPING)
					assert_string_equal(own_mappings[found->mapping].file,
										mappings[expected->mapping].file);
			}
		}
		assert_true(batch_locations(part, &own_locations) <= depths);
		batch_free(part);
	}
	batch_free(whole);
}

/*
 * Traces follow their samples when batches are merged; each needs all parts of a sample and an id.
 */
static void
test_traces(void **state)
{
	Batch *from = new_batch(BUDGET_BYTES);
	Batch *to = new_batch(BUDGET_BYTES);
	BatchTrace trace = { .trace = { 1 } };
	const BatchTrace *traces;
	const BatchSample *samples;

	assert_int_equal(batch_add_trace(from, &trace), -EINVAL);
	for (int i = 0; i < 3; i++)
	{
		assert_int_equal(add_one_of_each(from, i), 0);
		assert_int_equal(add_one_of_each(to, 2 - i), 0);
	}
	(void) batch_samples(from, &samples);
	trace.sample = samples[0];
	assert_int_equal(batch_add_trace(from, &trace), 0);
	trace.trace[0] = 0;
	assert_int_equal(batch_add_trace(from, &trace), -EINVAL);
	trace.span[BATCH_SPAN_BYTES - 1] = 7;
	assert_int_equal(batch_add_trace(from, &trace), 0);
	assert_int_equal(batch_add_batch(to, from), 0);
	assert_int_equal(batch_traces(to, &traces), 2);
	(void) batch_samples(to, &samples);
	for (int i = 0; i < 2; i++)
	{
		assert_int_equal(traces[i].sample.series, samples[2].series);
		assert_int_equal(traces[i].sample.stack, samples[2].stack);
	}
	assert_int_equal(traces[0].trace[0], 1);
	assert_int_equal(traces[1].span[BATCH_SPAN_BYTES - 1], 7);
	batch_free(from);
	batch_free(to);
}

static void
test_merging_without_memory(void **state)
{
	Batch *part = new_batch(BUDGET_BYTES);
	bool failed = true;

	for (int i = 0; i < 20; i++)
		assert_int_equal(add_one_of_each(part, i), 0);
	for (long n = 0; failed; n++)
	{
		Batch *merged = new_batch(BUDGET_BYTES);
		const BatchSample *samples;
		int err;

		fail_countdown = n;
		err = batch_add_batch(merged, part);
		failed = fail_countdown < 0;
		fail_countdown = -1;
		if (err == 0) /* an arena can work with less than it first requests */
			assert_int_equal(batch_samples(merged, &samples), 20);
		else
			assert_int_equal(err, failed ? -ENOMEM : 0);
		batch_free(merged);
	}
	batch_free(part);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_strings_are_copied),
		cmocka_unit_test(test_functions_by_bytes),
		cmocka_unit_test(test_bytes_are_utf8),
		cmocka_unit_test(test_strings_are_utf8),
		cmocka_unit_test(test_locations),
		cmocka_unit_test(test_stacks),
		cmocka_unit_test(test_series_labels_are_sorted),
		cmocka_unit_test(test_samples_are_summed),
		cmocka_unit_test(test_sums_do_not_overflow),
		cmocka_unit_test(test_budget),
		cmocka_unit_test(test_out_of_memory),
		cmocka_unit_test(test_batches_are_merged),
		cmocka_unit_test(test_parts_by_series),
		cmocka_unit_test(test_parts_by_stacks),
		cmocka_unit_test(test_traces),
		cmocka_unit_test(test_merging_without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
