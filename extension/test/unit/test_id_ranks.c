/*
 * test_id_ranks.c
 *		Compares places of ids with those that a search of the list finds, for lists that are dense,
 *		sparse, and both, at the ends of the range of int64.
 */
#include "postgres.h"

#include <setjmp.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/id_ranks.h"
#include "test/unit/values.h"

#define MOST_IDS 3000

/* Memory of the list that is tested. */
static void *blocks[2];
static int block_count;

void *
palloc_extended(Size size, int flags)
{
	assert_true(block_count < 2);
	return blocks[block_count++] = calloc(1, size);
}

static uint32
place_by_search(const int64 *ids, uint32 count, int64 id)
{
	for (uint32 i = 0; i < count; i++)
		if (ids[i] == id)
			return i;
	return PFS_NO_RANK;
}

/* Looks for each id and its neighbours, forwards and backwards. */
static void
check_list(const int64 *ids, uint32 count)
{
	PfsIdRanks ranks = pfs_id_ranks(ids, count);

	for (uint32 i = 0; i < 2 * count; i++)
	{
		uint32 place = i < count ? i : 2 * count - 1 - i;
		int64 id = ids[place];

		assert_int_equal(pfs_id_rank(&ranks, id), place);
		for (int64 step = 1; step <= 1024; step *= 4)
		{
			if (id <= INT64_MAX - step)
				assert_int_equal(pfs_id_rank(&ranks, id + step),
								 place_by_search(ids, count, id + step));
			if (id >= INT64_MIN + step)
				assert_int_equal(pfs_id_rank(&ranks, id - step),
								 place_by_search(ids, count, id - step));
		}
	}
	assert_int_equal(pfs_id_rank(&ranks, INT64_MAX), place_by_search(ids, count, INT64_MAX));
	assert_int_equal(pfs_id_rank(&ranks, INT64_MIN), place_by_search(ids, count, INT64_MIN));
	while (block_count > 0)
		free(blocks[--block_count]);
}

static void
test_few(void **state)
{
	const int64 ends[] = { INT64_MIN, INT64_MIN + 1, -65,	   -64, -1, 0, 63,
						   64,		  INT64_MAX - 1, INT64_MAX };

	for (uint32 count = 0; count <= lengthof(ends); count++)
		check_list(ends, count);
}

/* Ids ascend by steps of a random size, most of them small if the list is dense. */
static void
test_random(void **state)
{
	static int64 ids[MOST_IDS];
	Random random = { 1 };

	for (int list = 0; list < 60; list++)
	{
		uint32 count = (uint32) random_below(&random, list < 50 ? 200 : MOST_IDS);
		int most_bits = 1 + list % 40;
		int64 id = (int64) (random_next(&random) >> 20) * (list % 2 == 0 ? 1 : -1);

		for (uint32 i = 0; i < count; i++)
		{
			int bits = random_below(&random, 8) == 0 ? most_bits : 1 + list % 5;

			id += 1 + (int64) random_below(&random, UINT64CONST(1) << bits);
			ids[i] = id;
		}
		check_list(ids, count);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_few),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
