/*
 * test_arrow.c
 *		Records of Parca's agents, in both versions, and malformed ones.
 *
 * The records under arrow/ were made with Arrow's own library from arrow/request.json:
 * receive/parca -records FILE <request.json. v2_zstd has two record batches; v1 has ids of stacks,
 * which arrive in a stream of their own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "arrow/arrow_decode.h"
#include "arrow/stream.h"

#define NODE	  "host1"
#define SECOND_US INT64_C(1000000)
#define BEGIN_US  (INT64_C(1767225600) * SECOND_US) /* the time at which request.json begins */
#define CPU		  "parca_agent:samples:count:cpu:nanoseconds:delta"
#define WALL	  "parca_agent:wallclock:nanoseconds:samples:count:delta"
#define HEAP	  "memory:inuse_space:bytes:space:bytes"

static const AttributeRule leaves_out = { "thread_id,cpu" };
static const AttributeRule keeps_all = { "" };

/* --- files and batches --- */

static Span
read_record(const char *name)
{
	char path[512];
	uint8_t *bytes = malloc(65536);
	FILE *file;
	size_t length;

	snprintf(path, sizeof(path), RECORDS "/%s", name);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_non_null(bytes);
	length = fread(bytes, 1, 65536, file);
	fclose(file);
	return (Span){ realloc(bytes, length), length };
}

static void
free_record(Span record)
{
	free((void *) (uintptr_t) record.bytes);
}

static DecodeEnd
decode(Span samples, Span stacks, const AttributeRule *rule, bool keep_times, Batch **batch,
	   ArrowResult *result)
{
	const BatchLabel tenant = { "tenant", "" };
	const ArrowRequest request = { .samples = samples,
								   .stacks = stacks,
								   .rule = rule,
								   .fixed = &tenant,
								   .fixed_count = 1,
								   .keep_times = keep_times,
								   .limits.first_us = BEGIN_US,
								   .limits.last_us = BEGIN_US + 3600 * SECOND_US };

	assert_int_equal(batch_create((size_t) 64 * 1024 * 1024, batch), 0);
	return arrow_decode(&request, *batch, result);
}

static const char *
label(const BatchSeries *series, const char *name)
{
	for (uint32_t i = 0; i < series->label_count; i++)
		if (strcmp(series->labels[i].name, name) == 0)
			return series->labels[i].value;
	return "";
}

/* Appends the frames of a stack, root first, "file+address" for frames without a name. */
static void
print_stack(const Batch *batch, uint32_t index, char *text, size_t room)
{
	const BatchStack *stacks;
	const BatchLocation *locations;
	const BatchMapping *mappings;
	const BatchFunction *functions;
	const BatchStack *stack;
	size_t at = 0;

	batch_stacks(batch, &stacks);
	batch_locations(batch, &locations);
	batch_mappings(batch, &mappings);
	batch_functions(batch, &functions);
	stack = &stacks[index];
	at += (size_t) snprintf(text, room, "%s:", stack->partition);
	for (uint32_t i = stack->depth; i-- > 0;)
	{
		const BatchLocation *location = &locations[stack->locations[i]];
		const BatchMapping none = { "", "" };
		const BatchMapping *mapping =
			location->mapping == BATCH_NO_MAPPING ? &none : &mappings[location->mapping];

		at += (size_t) snprintf(text + at, room - at, " %s(%s)+%llx", mapping->file,
								mapping->build_id, (unsigned long long) location->address);
		for (uint32_t j = 0; j < location->line_count; j++)
			at += (size_t) snprintf(text + at, room - at, "=%s@%s:%d",
									functions[location->lines[j].function].name,
									functions[location->lines[j].function].filename,
									(int) location->lines[j].line);
	}
}

/* Returns the sum of the matching samples, and their number of rows in *rows. */
static int64_t
sum_of(const Batch *batch, const char *type, const char *comm, const char *stack, size_t *rows)
{
	const BatchSample *samples;
	const BatchSeries *series;
	size_t count = batch_samples(batch, &samples);
	int64_t sum = 0;

	batch_series(batch, &series);
	*rows = 0;
	for (size_t i = 0; i < count; i++)
	{
		char text[1024];

		print_stack(batch, samples[i].stack, text, sizeof(text));
		if (strcmp(series[samples[i].series].profile_type, type) != 0 ||
			strcmp(label(&series[samples[i].series], "comm"), comm) != 0 ||
			strcmp(text, stack) != 0)
			continue;
		assert_string_equal(label(&series[samples[i].series], "node"), NODE);
		assert_string_equal(label(&series[samples[i].series], "empty"), "");
		sum += samples[i].value;
		(*rows)++;
	}
	return sum;
}

static void
assert_sum(const Batch *batch, const char *type, const char *comm, const char *stack, int64_t sum,
		   size_t rows)
{
	size_t found;

	assert_int_equal(sum_of(batch, type, comm, stack, &found), sum);
	assert_int_equal(found, rows);
}

/* --- what is in it --- */

#define MAIN   " program(bb22)+2000"
#define LEAF   MAIN " libwork.so.1(aa11)+1000"
#define KERNEL " [kernel.kallsyms]()+0=do_work@vmlinux:0"

static void
assert_all(const Batch *batch, const ArrowResult *result)
{
	assert_int_equal(result->samples, 27);
	assert_int_equal(result->skipped_labels, 0);
	assert_sum(batch, CPU, "one", "bb22:" LEAF, 12, 1);
	assert_sum(batch, CPU, "one", "bb22:" LEAF KERNEL, 5, 1);
	assert_sum(batch, CPU, "two", "bb22:" MAIN " [python]()+0=handler@app.py:12", 2, 1);
	assert_sum(batch, CPU, "kworker", "kernel:" KERNEL, 1, 1);
	assert_sum(batch, CPU, "", "parca:", 1, 1);
	assert_sum(batch, CPU, "one", "bb22:" MAIN " UNKNOWN()+40", 1, 1);
	assert_sum(batch, CPU, "", "parca: agent-internal-error-frame()+0=aborted@:0", 1, 1);
	assert_sum(batch, WALL, "one", "bb22:" LEAF KERNEL, 12000, 1);
	/* each sample has a time of its own */
	assert_sum(batch, HEAP, "one", "bb22:" LEAF, 3145728, 2);
}

static void
check_version(const char *samples_name, const char *stacks_name)
{
	Span samples = read_record(samples_name);
	Span stacks = { NULL, 0 };
	ArrowResult result;
	Batch *batch;

	if (stacks_name != NULL)
		stacks = read_record(stacks_name);
	assert_int_equal(decode(samples, stacks, &leaves_out, false, &batch, &result), DECODE_OK);
	assert_all(batch, &result);
	batch_free(batch);
	free_record(samples);
	free_record(stacks);
}

static void
test_second_version(void **state)
{
	check_version("v2_lz4.samples", NULL);
	check_version("v2_zstd.samples", NULL);
}

static void
test_first_version(void **state)
{
	check_version("v1.samples", "v1.stacks");
}

static void
test_labels_and_times(void **state)
{
	Span samples = read_record("v2_lz4.samples");
	const BatchSample *rows;
	const BatchSeries *series;
	ArrowResult result;
	Batch *batch;
	size_t count;
	size_t threads = 0;

	assert_int_equal(decode(samples, (Span){ NULL, 0 }, &keeps_all, true, &batch, &result),
					 DECODE_OK);
	/* each sample has a time, or a label, of its own */
	assert_int_equal(batch_samples(batch, &rows), 27);
	count = batch_series(batch, &series);
	for (size_t i = 0; i < count; i++)
		threads += label(&series[i], "thread_id")[0] != '\0';
	assert_int_equal(threads, 13);
	assert_int_equal(rows[1].time_us, BEGIN_US + SECOND_US / 2);
	assert_int_equal(series[0].period, 52631578);
	batch_free(batch);
	free_record(samples);
}

/* A window is ten seconds from the oldest sample; these samples are six seconds apart. */
static void
test_window(void **state)
{
	Span samples = read_record("v2_lz4.samples");
	const BatchSample *rows;
	ArrowResult result;
	Batch *batch;
	size_t count;

	assert_int_equal(decode(samples, (Span){ NULL, 0 }, &leaves_out, false, &batch, &result),
					 DECODE_OK);
	count = batch_samples(batch, &rows);
	for (size_t i = 0; i < count; i++)
		assert_true(rows[i].time_us == BEGIN_US || rows[i].value > 1000000);
	batch_free(batch);
	free_record(samples);
}

/* --- stacks that are asked for --- */

static void
test_wanted(void **state)
{
	Span samples = read_record("v1.samples");
	Budget budget = { 0, (size_t) 1024 * 1024 };
	ArrowStream stream;
	ArrowResult result;
	ArrowArray *ids;
	uint8_t *bytes;
	size_t length;
	Arena arena;

	assert_int_equal(arrow_wanted_stacks(samples, NULL, &bytes, &length, &result), DECODE_OK);
	arena_init(&arena, &budget);
	arrow_stream_open(&stream, (Span){ bytes, length }, &arena);
	assert_true(arrow_stream_next(&stream));
	ids = arrow_column(&stream, "stacktrace_id");
	assert_non_null(ids);
	assert_int_equal(ids->field->type, ARROW_BINARY);
	assert_int_equal(stream.rows, 7); /* each stack occurs once */
	for (uint32_t i = 0; i < stream.rows; i++)
	{
		ArrowPlace place;
		Span id;

		assert_true(arrow_place(ids, i, &place) && arrow_text(&place, &id));
		assert_int_equal(id.length, 16);
	}
	assert_false(arrow_stream_next(&stream));
	assert_null(stream.error);
	arena_fini(&arena);
	free(bytes);
	free_record(samples);

	samples = read_record("v2_lz4.samples");
	assert_int_equal(arrow_wanted_stacks(samples, NULL, &bytes, &length, &result), DECODE_OK);
	assert_null(bytes);
	free_record(samples);
}

static void
test_missing_stacks(void **state)
{
	Span samples = read_record("v1.samples");
	Span other = read_record("v2_lz4.samples");
	ArrowResult result;
	Batch *batch;

	assert_int_equal(decode(samples, (Span){ NULL, 0 }, &leaves_out, false, &batch, &result),
					 DECODE_INVALID);
	assert_string_equal(result.message, "a sample's stack was not sent");
	batch_free(batch);
	assert_int_equal(decode(samples, other, &leaves_out, false, &batch, &result), DECODE_INVALID);
	assert_string_equal(result.message,
						"stacks lack column stacktrace_id or the column of locations");
	batch_free(batch);
	free_record(samples);
	free_record(other);
}

/* --- bytes at fault --- */

static void
assert_refused(Span samples, const char *message)
{
	ArrowResult result;
	Batch *batch;

	assert_int_equal(decode(samples, (Span){ NULL, 0 }, &leaves_out, false, &batch, &result),
					 DECODE_INVALID);
	if (message != NULL)
		assert_string_equal(result.message, message);
	batch_free(batch);
}

static void
test_no_records(void **state)
{
	assert_refused((Span){ (const uint8_t *) "", 0 }, "the request has no records");
	assert_refused((Span){ (const uint8_t *) "\xFF\xFF\xFF\xFF\0\0\0\0", 8 },
				   "the request has no records");
	assert_refused((Span){ (const uint8_t *) "not a stream", 12 },
				   "the bytes are not an Arrow stream");
}

/*
 * A record that is cut anywhere, except between its messages, is refused. The end mark may be
 * missing.
 */
static void
test_truncated(void **state)
{
	static const char *const names[] = { "v2_lz4.samples", "v2_zstd.samples", "v1.samples" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
	{
		Span whole = read_record(names[i]);

		for (size_t length = 0; length + 8 < whole.length; length += 1 + length / 64)
		{
			Span part = { malloc(length + 1), length };
			ArrowResult result;
			Batch *batch;

			memcpy((void *) (uintptr_t) part.bytes, whole.bytes, length);
			part.bytes = realloc((void *) (uintptr_t) part.bytes, length > 0 ? length : 1);
			if (decode(part, (Span){ NULL, 0 }, &leaves_out, false, &batch, &result) == DECODE_OK)
				assert_true(result.samples < 27);
			batch_free(batch);
			free_record(part);
		}
		free_record(whole);
	}
}

/* Changes one byte after the other: whatever the result, no sum may be read beyond a buffer. */
static void
test_changed(void **state)
{
	Span whole = read_record("v1.samples");
	Span stacks = read_record("v1.stacks");
	uint8_t *copy = malloc(whole.length);

	for (size_t at = 0; at < whole.length; at += 3)
		for (unsigned change = 0; change < 3; change++)
		{
			ArrowResult result;
			Batch *batch;

			memcpy(copy, whole.bytes, whole.length);
			copy[at] = (uint8_t[]){ 0xFF, 0x80, (uint8_t) (copy[at] + 1) }[change];
			decode((Span){ copy, whole.length }, stacks, &leaves_out, false, &batch, &result);
			batch_free(batch);
		}
	free(copy);
	free_record(whole);
	free_record(stacks);
}

/* Returns the first occurrence of these bytes, which each record contains once. */
static uint8_t *
find_bytes(Span span, const void *wanted, size_t length)
{
	uint8_t *found = memmem(span.bytes, span.length, wanted, length);

	assert_non_null(found);
	return found;
}

/* A buffer whose header claims two gigabytes of unpacked bytes is refused. */
static void
test_bomb(void **state)
{
	static const uint8_t lz4[] = { 0x04, 0x22, 0x4D, 0x18 };
	Span samples = read_record("v2_lz4.samples");
	int64_t length = INT32_MAX;
	ArrowResult result;
	Batch *batch;

	memcpy(find_bytes(samples, lz4, sizeof(lz4)) - sizeof(length), &length, sizeof(length));
	assert_int_equal(decode(samples, (Span){ NULL, 0 }, &leaves_out, false, &batch, &result),
					 DECODE_NO_ROOM);
	batch_free(batch);
	length = -2;
	memcpy(find_bytes(samples, lz4, sizeof(lz4)) - sizeof(length), &length, sizeof(length));
	assert_refused(samples, "a compressed buffer has an impossible length");
	length = 3;
	memcpy(find_bytes(samples, lz4, sizeof(lz4)) - sizeof(length), &length, sizeof(length));
	assert_refused(samples, "a buffer cannot be unpacked");
	free_record(samples);
}

/* Buffers that all refer to the same bytes would be unpacked again and again. */
static void
test_same_bytes(void **state)
{
	static const uint8_t text[100] = { 'a' };
	Budget budget = { 0, (size_t) 1024 * 1024 };
	uint8_t body[256] = { sizeof(text) };
	size_t length = 8 + ZSTD_compress(body + 8, sizeof(body) - 8, text, sizeof(text), 1);
	const uint64_t places[] = { htole64(0), htole64(length), htole64(0), htole64(length) };
	const FlatVector buffers = { { (const uint8_t *) places, sizeof(places) }, 0, 2 };
	Arena arena;
	Span buffer;

	arena_init(&arena, &budget);
	for (int codec = ARROW_PLAIN; codec <= ARROW_ZSTD; codec += ARROW_ZSTD - ARROW_PLAIN)
	{
		ArrowBatch batch = {
			.arena = &arena, .body = { body, length }, .buffers = buffers, .codec = codec
		};

		assert_true(arrow_buffer_next(&batch, &buffer));
		assert_int_equal(buffer.length, codec == ARROW_ZSTD ? sizeof(text) : length);
		assert_false(arrow_buffer_next(&batch, &buffer));
		assert_string_equal(batch.error, "buffers of a record batch overlap");
	}
	arena_fini(&arena);
}

static void
test_column_missing(void **state)
{
	Span samples = read_record("v1.samples");

	find_bytes(samples, "\5\0\0\0value", 10)[4] = 'V';
	assert_refused(samples, "samples lack the column of values or of times");
	free_record(samples);
}

static void
test_out_of_range(void **state)
{
	Span samples = read_record("v1.samples");
	Span stacks = read_record("v1.stacks");
	const ArrowRequest request = { .samples = samples,
								   .stacks = stacks,
								   .rule = &leaves_out,
								   .limits.first_us = BEGIN_US + SECOND_US,
								   .limits.last_us = INT64_MAX };
	ArrowResult result;
	Batch *batch;

	assert_int_equal(batch_create((size_t) 1024 * 1024, &batch), 0);
	assert_int_equal(arrow_decode(&request, batch, &result), DECODE_INVALID);
	assert_string_equal(result.message, "the time of a sample is too far from now");
	batch_free(batch);
	assert_int_equal(batch_create((size_t) 4096, &batch), 0);
	assert_int_equal(arrow_decode(&(ArrowRequest){ .samples = samples,
												   .stacks = stacks,
												   .rule = &leaves_out,
												   .limits.last_us = INT64_MAX },
								  batch, &result),
					 DECODE_NO_ROOM);
	batch_free(batch);
	free_record(samples);
	free_record(stacks);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_second_version),	 cmocka_unit_test(test_first_version),
		cmocka_unit_test(test_labels_and_times), cmocka_unit_test(test_window),
		cmocka_unit_test(test_wanted),			 cmocka_unit_test(test_missing_stacks),
		cmocka_unit_test(test_no_records),		 cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_changed),			 cmocka_unit_test(test_bomb),
		cmocka_unit_test(test_same_bytes),		 cmocka_unit_test(test_column_missing),
		cmocka_unit_test(test_out_of_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
