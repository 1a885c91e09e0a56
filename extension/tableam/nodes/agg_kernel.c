/*
 * agg_kernel.c
 *		Loops over blocks, written so that the compiler vectorises them.
 *
 * Sorted segments repeat keys, so most work is done per run: comparing neighbours finds run
 * boundaries, a run's sum is a difference of running sums, and each group is accessed once per run.
 */
#include "tableam/nodes/agg_kernel.h"

/* A block of values of a magnitude below this has a sum that fits int64. */
#define SMALL_VALUE (INT64CONST(1) << 52)
/* For runs longer than this, summing each is cheaper than keeping running sums. */
#define LONG_RUN	8

/* Copies a key with 0 for null, and sets its bit in flags. */
static void
copy_key(const int64 *key, const bool *nulls, uint32 row_count, uint32 bit, int64 *copy,
		 uint8 *flags)
{
	for (uint32 row = 0; row < row_count; row++)
	{
		/* Nulls form one group, so all get the same word. */
		copy[row] = nulls[row] ? 0 : key[row];
		flags[row] |= (uint8) ((uint32) nulls[row] << bit);
	}
}

static void
mark_changes(const int64 *key, uint32 row_count, uint8 *changes)
{
	/* Row 0 always begins a run, see pfs_agg_find_runs(). */
	for (uint32 row = 1; row < row_count; row++)
		changes[row] |= key[row] != key[row - 1];
}

/* Lists the rows at which a run starts; changes has 1 for each of them. */
static uint32
starts_of_changes(const uint8 *changes, uint32 row_count, uint16 *starts)
{
	uint32 count = 0;

	for (uint32 row = 0; row < row_count; row += 8)
	{
		uint64 eight;

		/* Eight rows without a change are skipped at once, which is common in sorted segments. */
		memcpy(&eight, changes + row, sizeof(eight));
		if (eight == 0)
			continue;
		for (uint32 i = row; i < row + 8; i++)
		{
			/*
			 * The store is unconditional and count advances by 0 or 1, so no branch depends on the
			 * data.
			 */
			starts[count] = (uint16) i;
			count += changes[i];
		}
	}
	return count;
}

void
pfs_agg_find_runs(PfsGroupTable *table, uint32 row_count, const int64 *const *keys,
				  const bool *const *nulls, PfsAggRuns *runs)
{
	uint32 key_count = table->key_count;
	int64 copies[PFS_AGG_KEYS_MAX][PFS_BLOCK_ROWS];
	const int64 *sources[PFS_AGG_KEYS_MAX];
	uint8 flags[PFS_BLOCK_ROWS];
	uint8 run_flags[PFS_BLOCK_ROWS];
	/* Eight bytes more, because changes are read in words of eight. */
	uint8 changes[PFS_BLOCK_ROWS + 8];
	bool has_nulls = false;

	memset(changes, 0, sizeof(changes));
	changes[0] = 1;
	for (uint32 k = 0; k < key_count; k++)
	{
		/* Keys without nulls are compared where they are; others in a copy. */
		sources[k] = keys[k];
		if (nulls[k] != NULL)
		{
			if (!has_nulls)
				memset(flags, 0, sizeof(flags));
			has_nulls = true;
			copy_key(keys[k], nulls[k], row_count, k, copies[k], flags);
			sources[k] = copies[k];
		}
		mark_changes(sources[k], row_count, changes);
	}
	/* A null and a stored 0 have equal words, so their flags must differ. */
	for (uint32 row = 1; has_nulls && row < row_count; row++)
		changes[row] |= flags[row] != flags[row - 1];

	runs->row_count = row_count;
	runs->run_count = starts_of_changes(changes, row_count, runs->starts);
	/* An end after the last run saves a test in loops over runs. */
	runs->starts[runs->run_count] = (uint16) row_count;

	for (uint32 k = 0; k < key_count; k++)
	{
		/* there are at most as many runs as rows, so the copy can be compacted in place */
		for (uint32 run = 0; run < runs->run_count; run++)
			copies[k][run] = sources[k][runs->starts[run]];
		sources[k] = copies[k];
	}
	for (uint32 run = 0; has_nulls && run < runs->run_count; run++)
		run_flags[run] = flags[runs->starts[run]];
	/* Only the first row of each run is looked up. */
	pfs_group_table_find(table, runs->run_count, sources, has_nulls ? run_flags : NULL,
						 runs->groups);
}

static inline int64 *
state_of_run(PfsGroupTable *table, const PfsAggRuns *runs, uint32 run, const PfsAggInput *input)
{
	return pfs_group_record(table, runs->groups[run]) + input->state_word;
}

static void
count_weights(PfsGroupTable *table, const PfsAggRuns *runs, const PfsAggInput *input)
{
	for (uint32 run = 0; run < runs->run_count; run++)
	{
		int64 count = 0;

		/* A row of sums weighs as many rows as it has source rows. */
		for (uint32 row = runs->starts[run]; row < runs->starts[run + 1]; row++)
			if (input->excluded == NULL || !input->excluded[row])
				count += input->weights[row];
		state_of_run(table, runs, run, input)[PFS_AGG_COUNT_WORD] += count;
	}
}

static void
kernel_count_rows(PfsGroupTable *table, const PfsAggRuns *runs, const PfsAggInput *input)
{
	if (input->weights != NULL)
	{
		count_weights(table, runs, input);
		return;
	}
	for (uint32 run = 0; run < runs->run_count; run++)
	{
		/* The rows of a run are counted by its length, without reading them. */
		uint32 count = (uint32) (runs->starts[run + 1] - runs->starts[run]);

		if (input->excluded != NULL)
			for (uint32 row = runs->starts[run]; row < runs->starts[run + 1]; row++)
				count -= input->excluded[row];
		state_of_run(table, runs, run, input)[PFS_AGG_COUNT_WORD] += count;
	}
}

static inline void
add_to_sum(int64 *state, int128 addend)
{
	int128 sum = pfs_agg_get_sum(state) + addend;

	memcpy(&state[PFS_AGG_VALUE_WORD], &sum, sizeof(sum));
}

static bool
all_small(const int64 *values, uint32 row_count)
{
	uint64 bits = 0;

	for (uint32 row = 0; row < row_count; row++)
		/*
		 * x ^ (x >> 63) is x for positive numbers and -x - 1 for negative ones, so the highest bit
		 * of all shows their magnitude.
		 */
		bits |= (uint64) (values[row] ^ (values[row] >> 63));
	return bits < (uint64) SMALL_VALUE;
}

static void
sum_exactly(PfsGroupTable *table, const PfsAggRuns *runs, const PfsAggInput *input,
			const int64 *values)
{
	for (uint32 run = 0; run < runs->run_count; run++)
	{
		int128 sum = 0;

		for (uint32 row = runs->starts[run]; row < runs->starts[run + 1]; row++)
			sum += values[row];
		add_to_sum(state_of_run(table, runs, run, input), sum);
	}
}

static void
sum_long_runs(PfsGroupTable *table, const PfsAggRuns *runs, const PfsAggInput *input,
			  const int64 *values)
{
	for (uint32 run = 0; run < runs->run_count; run++)
	{
		int64 sum = 0;

		/* 1024 values of a magnitude of at most 2^52 sum to at most 2^62. */
		for (uint32 row = runs->starts[run]; row < runs->starts[run + 1]; row++)
			sum += values[row];
		add_to_sum(state_of_run(table, runs, run, input), sum);
	}
}

static void
sum_short_runs(PfsGroupTable *table, const PfsAggRuns *runs, const PfsAggInput *input,
			   const int64 *values)
{
	int64 sums[PFS_BLOCK_ROWS + 1]; /* sum of the rows before each row */

	sums[0] = 0;
	for (uint32 row = 0; row < runs->row_count; row++)
		/* Differences of running sums are the sums of runs, however short these are. */
		sums[row + 1] = sums[row] + values[row];
	for (uint32 run = 0; run < runs->run_count; run++)
		add_to_sum(state_of_run(table, runs, run, input),
				   sums[runs->starts[run + 1]] - sums[runs->starts[run]]);
}

/* Adds counts and sums of all runs to their groups by the cheapest loop that is exact. */
static void
sum_values(PfsGroupTable *table, const PfsAggRuns *runs, const PfsAggInput *input)
{
	int64 included[PFS_BLOCK_ROWS];
	const int64 *values = input->values;

	kernel_count_rows(table, runs, input);
	if (input->excluded != NULL)
	{
		for (uint32 row = 0; row < runs->row_count; row++)
			/* Excluded rows count as 0, so the loops need no test. */
			included[row] = input->excluded[row] ? 0 : values[row];
		values = included;
	}
	/*
	 * Large values need 128 bits. Of the other two loops the cheaper one depends on the length of
	 * runs.
	 */
	if (!all_small(values, runs->row_count))
		sum_exactly(table, runs, input, values);
	else if (runs->run_count * LONG_RUN <= runs->row_count)
		sum_long_runs(table, runs, input, values);
	else
		sum_short_runs(table, runs, input, values);
}

/* Finds minima. Maxima are found as the minima of the bitwise complements. */
static void
find_extremes(PfsGroupTable *table, const PfsAggRuns *runs, const PfsAggInput *input)
{
	/* The complement reverses the order: ~a < ~b if a > b. */
	int64 flip = input->kind == PFS_AGG_MAX ? -1 : 0;

	for (uint32 run = 0; run < runs->run_count; run++)
	{
		int64 *state = state_of_run(table, runs, run, input);
		int64 count = 0;
		int64 least = PG_INT64_MAX;

		for (uint32 row = runs->starts[run]; row < runs->starts[run + 1]; row++)
		{
			bool is_included = input->excluded == NULL || !input->excluded[row];
			/* An excluded row has the largest value, which does not change a minimum. */
			int64 value = is_included ? input->values[row] ^ flip : PG_INT64_MAX;

			least = Min(least, value);
			count += is_included;
		}
		/* All rows of the run were excluded; PG_INT64_MAX would be a wrong minimum. */
		if (count == 0)
			continue;
		/* The state of a new group is 0, which is no minimum of values, so the count decides. */
		if (state[PFS_AGG_COUNT_WORD] > 0)
			least = Min(least, state[PFS_AGG_VALUE_WORD] ^ flip);
		state[PFS_AGG_VALUE_WORD] = least ^ flip;
		state[PFS_AGG_COUNT_WORD] += count;
	}
}

void
pfs_agg_update(PfsGroupTable *table, const PfsAggRuns *runs, const PfsAggInput *input)
{
	switch (input->kind)
	{
		case PFS_AGG_COUNT_ROWS:
		case PFS_AGG_COUNT:
			kernel_count_rows(table, runs, input);
			break;
		case PFS_AGG_SUM:
		case PFS_AGG_AVG:
			sum_values(table, runs, input);
			break;
		case PFS_AGG_MIN:
		case PFS_AGG_MAX:
			find_extremes(table, runs, input);
			break;
	}
}
