/*
 * test_block.c
 *		Tests that each kind of data gets the encoding meant for it, and that entries which no
 *		encoder writes are refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "codec/block.h"
#include "test/unit/codec_harness.h"
#include "test/unit/values.h"

static PfsBlockDraft draft;

static void
draft_one(const int64_t *values, uint32_t count, PfsPacking packing)
{
	pfs_block_draft(values, NULL, count, NULL, packing == PFS_PACKING_BITS ? &draft : NULL,
					packing == PFS_PACKING_PLANES ? &draft : NULL);
}

/* Drafts a block, restores it and compares the values; leaves the draft for the caller. */
static void
draft_and_restore(const int64_t *values, uint32_t count, PfsPacking packing)
{
	uint64_t symbols[PFS_BLOCK_ROWS];
	int64_t restored[PFS_BLOCK_ROWS];

	draft_one(values, count, packing);
	memcpy(symbols, draft.symbols, sizeof(symbols));
	assert_true(pfs_block_restore(&draft.shape, symbols, draft.lengths, restored));
	assert_memory_equal(restored, values, count * sizeof(values[0]));
}

static void
expect_shape(PfsTransform transform, bool has_runs, unsigned symbol_bits, uint64_t divisor)
{
	assert_int_equal(draft.shape.transform, transform);
	assert_int_equal(pfs_block_has_runs(&draft.shape), has_runs);
	assert_int_equal(draft.shape.symbols.bits, symbol_bits);
	assert_int_equal(draft.shape.divisor, divisor);
}

static void
test_constant(void **state)
{
	int64_t values[PFS_BLOCK_ROWS];

	(void) state;
	for (uint32_t i = 0; i < PFS_BLOCK_ROWS; i++)
		values[i] = INT64_MIN;
	draft_and_restore(values, PFS_BLOCK_ROWS, PFS_PACKING_BITS);
	expect_shape(PFS_TRANSFORM_CONSTANT, false, 0, 1);
}

static void
test_common_divisor_is_taken_out(void **state)
{
	static const uint64_t divisors[] = {
		1, 2, 3, 52631578, 10000000, UINT64_C(1) << 40, UINT64_C(7) << 50
	};
	Random random = { 31 };

	(void) state;
	for (size_t d = 0; d < sizeof(divisors) / sizeof(divisors[0]); d++)
	{
		int64_t values[PFS_BLOCK_ROWS];

		for (uint32_t i = 0; i < PFS_BLOCK_ROWS; i++)
			values[i] = (int64_t) (random_below(&random, 16) * divisors[d] + 12345);
		draft_and_restore(values, PFS_BLOCK_ROWS, PFS_PACKING_BITS);
		expect_shape(PFS_TRANSFORM_PLAIN, false, 4, divisors[d]);
	}
}

static void
test_even_steps_take_no_symbols(void **state)
{
	int64_t values[PFS_BLOCK_ROWS];

	(void) state;
	for (uint32_t i = 0; i < PFS_BLOCK_ROWS; i++)
		values[i] = 900 - 30 * (int64_t) i;
	draft_and_restore(values, PFS_BLOCK_ROWS, PFS_PACKING_BITS);
	expect_shape(PFS_TRANSFORM_DELTA, false, 0, 30);
}

static void
test_growing_steps_are_deltas_of_deltas(void **state)
{
	int64_t values[PFS_BLOCK_ROWS];

	(void) state;
	for (uint32_t i = 0; i < PFS_BLOCK_ROWS; i++)
		values[i] = (int64_t) i * i;
	draft_and_restore(values, PFS_BLOCK_ROWS, PFS_PACKING_BITS);
	expect_shape(PFS_TRANSFORM_DELTA2, false, 0, 1);
}

static void
test_times_that_begin_again_stay_narrow(void **state)
{
	int64_t values[PFS_BLOCK_ROWS];

	(void) state;
	for (uint32_t i = 0; i < PFS_BLOCK_ROWS; i++)
		values[i] = 10 * (int64_t) (i * 3 % 360);
	draft_and_restore(values, PFS_BLOCK_ROWS, PFS_PACKING_BITS);
	/*
	 * steps of 3 from 0 to 357 have units of 7 bits; a fall takes no more bits, and all other steps
	 * are equal
	 */
	expect_shape(PFS_TRANSFORM_DELTA, false, 4, 30);
	assert_int_equal(draft.shape.base, 1);
	assert_int_equal(draft.shape.symbols.kept_bits, 0);
}

static void
test_runs_are_folded(void **state)
{
	Random random = { 32 };
	int64_t values[PFS_BLOCK_ROWS] = { 0 };

	(void) state;
	for (uint32_t i = 0; i < PFS_BLOCK_ROWS; i++)
		values[i] = i % 16 == 0 ? (int64_t) (random_next(&random) >> 1) : values[i - 1];
	draft_and_restore(values, PFS_BLOCK_ROWS, PFS_PACKING_BITS);
	assert_int_equal(draft.shape.transform, PFS_TRANSFORM_PLAIN);
	assert_int_equal(draft.shape.lengths.count, PFS_BLOCK_ROWS / 16);
	assert_int_equal(draft.shape.lengths.bits, 4);
	for (uint32_t i = 0; i < PFS_BLOCK_ROWS; i++)
		values[i] = i / 16 * 5;
	draft_and_restore(values, PFS_BLOCK_ROWS, PFS_PACKING_BITS);
	expect_shape(PFS_TRANSFORM_DELTA, true, 0, 5);
}

static void
test_extremes_wrap(void **state)
{
	Random random = { 33 };

	(void) state;
	for (int round = 0; round < 500; round++)
	{
		uint32_t count = 2 + (uint32_t) random_below(&random, PFS_BLOCK_ROWS - 1);
		int64_t values[PFS_BLOCK_ROWS];

		values_fill(&random, round % 2 == 0 ? VALUES_EXTREMES : VALUES_UNIFORM_BITS, 64, values,
					count);
		draft_and_restore(values, count, round % 3 == 0 ? PFS_PACKING_PLANES : PFS_PACKING_BITS);
	}
}

static void
test_runs_must_add_up(void **state)
{
	PfsBlockShape shape = {
		.transform = PFS_TRANSFORM_PLAIN, .row_count = 10, .range = 1, .divisor = 1
	};
	int64_t values[10];

	(void) state;
	shape.symbols = shape.lengths = (PfsArrayShape){ 2, 0, 4, 4, 0 };
	assert_true(pfs_block_restore(&shape, (uint64_t[]){ 0, 1 }, (uint64_t[]){ 4, 4 }, values));
	assert_int_equal(values[4], 0);
	assert_int_equal(values[5], 1);
	assert_false(pfs_block_restore(&shape, (uint64_t[]){ 0, 1 }, (uint64_t[]){ 4, 3 }, values));
	assert_false(pfs_block_restore(&shape, (uint64_t[]){ 0, 1 }, (uint64_t[]){ 4, 5 }, values));
	assert_false(pfs_block_restore(&shape, (uint64_t[]){ 0, 1 }, (uint64_t[]){ 10, 0 }, values));
}

static void
compare_arrays(const PfsArrayShape *array, const PfsArrayShape *expected)
{
	assert_int_equal(array->count, expected->count);
	assert_int_equal(array->bits, expected->bits);
	assert_int_equal(array->kept_bits, expected->kept_bits);
	assert_int_equal(array->patch_count, expected->patch_count);
	assert_int_equal(array->gap_bits, expected->gap_bits);
}

static void
test_entries_come_back(void **state)
{
	Random random = { 34 };

	(void) state;
	for (int round = 0; round < 2000; round++)
	{
		PfsPacking packing = round % 2 == 0 ? PFS_PACKING_BITS : PFS_PACKING_PLANES;
		PfsEntryContext written = { (int64_t) random_next(&random), 1 + random_below(&random, 3) };
		PfsEntryContext read = written;
		uint32_t count = 1 + (uint32_t) random_below(&random, PFS_BLOCK_ROWS);
		int64_t values[PFS_BLOCK_ROWS];
		TestHeap heap = { 0 };
		PfsBuffer buffer;
		PfsCursor cursor;
		PfsBlockShape shape;

		values_fill(&random, (ValueShape) random_below(&random, VALUE_SHAPE_COUNT),
					(unsigned) random_below(&random, 65), values, count);
		draft_one(values, count, packing);
		pfs_buffer_init(&buffer, test_allocator(&heap));
		pfs_entry_write(&buffer, &draft.shape, &written);
		cursor = pfs_cursor(buffer.data, buffer.length);
		assert_int_equal(pfs_entry_read(&cursor, count, &read, &shape), PFS_OK);
		assert_int_equal(cursor.offset, buffer.length);
		compare_arrays(&shape.symbols, &draft.shape.symbols);
		compare_arrays(&shape.lengths, &draft.shape.lengths);
		assert_int_equal(shape.transform, draft.shape.transform);
		assert_int_equal(shape.least, draft.shape.least);
		assert_int_equal(shape.range, draft.shape.range);
		assert_int_equal(shape.first, draft.shape.first);
		assert_int_equal(shape.step, draft.shape.step);
		assert_int_equal(shape.base, draft.shape.base);
		assert_int_equal(read.least, written.least);
		assert_int_equal(read.divisor, written.divisor);
		pfs_buffer_fini(&buffer);
	}
}

static void
expect_bad_entry(PfsStatus expected, const uint8_t *bytes, size_t length, uint32_t row_count)
{
	PfsEntryContext context = PFS_ENTRY_CONTEXT_INIT;
	PfsCursor cursor = pfs_cursor(bytes, length);
	PfsBlockShape shape;

	assert_int_equal(pfs_entry_read(&cursor, row_count, &context, &shape), expected);
}

#define EXPECT_BAD_ENTRY(expected, row_count, ...)               \
	expect_bad_entry(expected, (const uint8_t[]){ __VA_ARGS__ }, \
					 sizeof((const uint8_t[]){ __VA_ARGS__ }), row_count)

static void
test_bad_entries_are_refused(void **state)
{
	(void) state;
	EXPECT_BAD_ENTRY(PFS_CORRUPT, 5, 0x27, 0x00, 0x03);				/* patched PARTED */
	EXPECT_BAD_ENTRY(PFS_CORRUPT, 5, 0x0f, 0x00, 0x03);				/* PARTED of runs */
	EXPECT_BAD_ENTRY(PFS_CORRUPT, 5, 0x07, 0x00, 0x80, 0x40, 0x00); /* range too large */
	EXPECT_BAD_ENTRY(PFS_CORRUPT, 5, 0x07, 0x00, 0x03, 0x81, 0x10); /* too many bytes */
	EXPECT_BAD_ENTRY(PFS_CORRUPT, 5, 0x25, 0x00, 0x03);				/* patched RISING */
	EXPECT_BAD_ENTRY(PFS_CORRUPT, 5, 0x0d, 0x00, 0x03);				/* RISING of runs */
	EXPECT_BAD_ENTRY(PFS_CORRUPT, 5, 0x05, 0x00, 0x03, 0x06, 0x01); /* more symbols than rows */
	EXPECT_BAD_ENTRY(PFS_CORRUPT, 5, 0x05, 0x00, 0x80, 0x20, 0x01, 0x01); /* range too large */
	EXPECT_BAD_ENTRY(PFS_CORRUPT, 5, 0x06, 0x00, 0x03, 0x00, 0x00, 0x00, 0x00, 0x81,
					 0x10); /* too many bytes */
	EXPECT_BAD_ENTRY(PFS_CORRUPT, 5, 0x26, 0x00, 0x03, 0x01, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00,
					 0x00);											/* keeps bits */
	EXPECT_BAD_ENTRY(PFS_UNSUPPORTED, 5, 0x82, 0, 1);				/* transform 10 */
	EXPECT_BAD_ENTRY(PFS_CORRUPT, 5, 0x10);							/* NULLS with a divisor */
	EXPECT_BAD_ENTRY(PFS_CORRUPT, 5, 0x09, 0);						/* CONSTANT with runs */
	EXPECT_BAD_ENTRY(PFS_CORRUPT, 5, 0x01);							/* cut off */
	EXPECT_BAD_ENTRY(PFS_CORRUPT, 5, 0x02, 0, 0);					/* range 0 */
	EXPECT_BAD_ENTRY(PFS_CORRUPT, 5, 0x12, 0, 1, 0);				/* divisor 0 */
	EXPECT_BAD_ENTRY(PFS_CORRUPT, 5, 0x0a, 0, 1, 0, 1);				/* no run */
	EXPECT_BAD_ENTRY(PFS_CORRUPT, 5, 0x0a, 0, 1, 6, 1);				/* more runs than rows */
	EXPECT_BAD_ENTRY(PFS_CORRUPT, 5, 0x0a, 0, 1, 2, 11);			/* run lengths too wide */
	EXPECT_BAD_ENTRY(PFS_CORRUPT, 5, 0x0c, 0, 1, 2, 1, 0, 0, 0, 0); /* DELTA2 with runs */
	EXPECT_BAD_ENTRY(PFS_CORRUPT, 5, 0x03, 0, 1, 0, 0, 2);	/* a symbol wider than the range */
	EXPECT_BAD_ENTRY(PFS_CORRUPT, 5, 0x22, 0, 3, 2, 1, 1);	/* kept bits not less than bits */
	EXPECT_BAD_ENTRY(PFS_CORRUPT, 5, 0x22, 0, 3, 1, 0, 1);	/* no patch */
	EXPECT_BAD_ENTRY(PFS_CORRUPT, 5, 0x22, 0, 3, 1, 6, 1);	/* more patches than symbols */
	EXPECT_BAD_ENTRY(PFS_CORRUPT, 5, 0x22, 0, 3, 1, 1, 11); /* gaps too wide */
	EXPECT_BAD_ENTRY(PFS_CORRUPT, 5, 0x42, 0, 3, 1, 1, 1);	/* run lengths patched, but no runs */
	/* with least value INT64_MAX and range 1 the greatest value would not be an int64 */
	EXPECT_BAD_ENTRY(PFS_CORRUPT, 5, 0x02, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
					 0x01, 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_constant),
		cmocka_unit_test(test_common_divisor_is_taken_out),
		cmocka_unit_test(test_even_steps_take_no_symbols),
		cmocka_unit_test(test_growing_steps_are_deltas_of_deltas),
		cmocka_unit_test(test_times_that_begin_again_stay_narrow),
		cmocka_unit_test(test_runs_are_folded),
		cmocka_unit_test(test_extremes_wrap),
		cmocka_unit_test(test_runs_must_add_up),
		cmocka_unit_test(test_entries_come_back),
		cmocka_unit_test(test_bad_entries_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
