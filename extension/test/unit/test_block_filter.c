/*
 * test_block_filter.c
 *		Compares filters with a naive implementation, on random values, ranges and keys.
 */
#include "store/scan/block_filter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "codec/segment.h"
#include "test/unit/values.h"

#define ROUNDS	 2000
#define MAX_KEYS 50

/*
 * Returns small numbers, which are often equal, and sometimes a number from the ends of the type.
 */
static int64
random_value(Random *random)
{
	switch (random_below(random, 50))
	{
		case 0:
			return PG_INT64_MIN;
		case 1:
			return PG_INT64_MAX;
		default:
			return (int64) random_below(random, 100) - 50;
	}
}

static uint32
random_keys(Random *random, int64 *keys)
{
	uint32 wanted = (uint32) random_below(random, MAX_KEYS);
	uint32 count = 0;
	int64 key = -60;

	for (uint32 i = 0; i < wanted; i++)
	{
		key += 1 + (int64) random_below(random, 4);
		keys[count++] = key;
	}
	return count;
}

static PfsBlockFilter
random_filter(Random *random, int64 *keys)
{
	PfsBlockFilter filter = { 1, random_value(random), random_value(random), NULL, 0, 0, false };

	if (random_below(random, 2) == 0)
	{
		filter.keys = keys;
		filter.key_count = random_keys(random, keys);
		filter.key_shift = (uint8) random_below(random, 4);
	}
	return filter;
}

/* The oracle: returns true if a value passes the filter. */
static bool
passes(const PfsBlockFilter *filter, int64 value)
{
	bool is_key = filter->keys == NULL;

	for (uint32 i = 0; i < filter->key_count; i++)
		is_key |= filter->keys[i] == value >> filter->key_shift;
	return value >= filter->low && value <= filter->high && is_key;
}

static void
test_single_values(void **state)
{
	Random random = { 1 };
	int64 keys[MAX_KEYS];

	(void) state;
	for (int round = 0; round < ROUNDS; round++)
	{
		PfsBlockFilter filter = random_filter(&random, keys);
		int64 value = random_value(&random);

		assert_int_equal(pfs_filter_passes(&filter, value), passes(&filter, value));
	}
}

static void
test_ranges(void **state)
{
	Random random = { 2 };
	int64 keys[MAX_KEYS];

	(void) state;
	for (int round = 0; round < ROUNDS; round++)
	{
		PfsBlockFilter filter = random_filter(&random, keys);
		int64 min = (int64) random_below(&random, 200) - 100;
		int64 max = min + (int64) random_below(&random, 20);
		bool expected = false;

		for (int64 value = min; value <= max; value++)
			expected |= passes(&filter, value);
		assert_int_equal(pfs_filter_overlaps(&filter, min, max), expected);
	}
}

static void
test_blocks(void **state)
{
	Random random = { 3 };
	int64 keys[MAX_KEYS];
	int64 values[PFS_BLOCK_ROWS];
	bool nulls[PFS_BLOCK_ROWS];
	uint16 selection[PFS_BLOCK_ROWS];
	uint16 before[PFS_BLOCK_ROWS];

	(void) state;
	for (int round = 0; round < ROUNDS; round++)
	{
		PfsBlockFilter filter = random_filter(&random, keys);
		bool has_nulls = random_below(&random, 2) == 0;
		uint32 row_count = (uint32) random_below(&random, PFS_BLOCK_ROWS) + 1;
		uint32 selected = 0;
		uint32 kept;
		uint32 expected = 0;

		filter.keeps_nulls = random_below(&random, 4) == 0;
		for (uint32 row = 0; row < row_count; row++)
		{
			/* values come in runs, as in sorted segments */
			values[row] =
				row > 0 && random_below(&random, 3) > 0 ? values[row - 1] : random_value(&random);
			nulls[row] = random_below(&random, 10) == 0;
			if (round % 2 == 0 || random_below(&random, 5) > 0)
				selection[selected++] = (uint16) row;
		}

		memcpy(before, selection, sizeof(selection));
		if (selected == row_count)
		{
			memset(selection, 0xff, sizeof(selection));
			kept = pfs_filter_select_of_all(&filter, values, has_nulls ? nulls : NULL, selection,
											row_count);
		}
		else
			kept =
				pfs_filter_select(&filter, values, has_nulls ? nulls : NULL, selection, selected);
		for (uint32 i = 0; i < selected; i++)
		{
			uint16 row = before[i];

			bool is_null = has_nulls && nulls[row];

			if (filter.keeps_nulls ? !is_null : is_null || !passes(&filter, values[row]))
				continue;
			assert_true(expected < kept);
			assert_int_equal(selection[expected], row);
			expected++;
		}
		assert_int_equal(kept, expected);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_single_values),
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
