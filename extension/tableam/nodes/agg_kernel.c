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
		copy[row] = nulls[row] ? 0 : key[row];
		flags[row] |= (uint8) ((uint32) nulls[row] << bit);
	}
}

static void
mark_changes(const int64 *key, uint32 row_count, uint8 *changes)
{
	for (uint32 row = 1; row < row_count; row++)
		changes[row] |= key[row] != key[row - 1];
}

static uint32
starts_of_changes(const uint8 *changes, uint32 row_count, uint16 *starts)
{
	uint32 count = 0;

	for (uint32 row = 0; row < row_count; row += 8)
	{
		uint64 eight;

		memcpy(&eight, changes + row, sizeof(eight));
		if (eight == 0)
			continue;
		for (uint32 i = row; i < row + 8; i++)
		{
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
	uint8 changes[PFS_BLOCK_ROWS + 8];
	bool has_nulls = false;

	memset(changes, 0, sizeof(changes));
	changes[0] = 1;
	for (uint32 k = 0; k < key_count; k++)
	{
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
	for (uint32 row = 1; has_nulls && row < row_count; row++)
		changes[row] |= flags[row] != flags[row - 1];

	runs->row_count = row_count;
	runs->run_count = starts_of_changes(changes, row_count, runs->starts);
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
		sums[row + 1] = sums[row] + values[row];
	for (uint32 run = 0; run < runs->run_count; run++)
		add_to_sum(state_of_run(table, runs, run, input),
				   sums[runs->starts[run + 1]] - sums[runs->starts[run]]);
}

static void
sum_values(PfsGroupTable *table, const PfsAggRuns *runs, const PfsAggInput *input)
{
	int64 included[PFS_BLOCK_ROWS];
	const int64 *values = input->values;

	kernel_count_rows(table, runs, input);
	if (input->excluded != NULL)
	{
		for (uint32 row = 0; row < runs->row_count; row++)
			included[row] = input->excluded[row] ? 0 : values[row];
		values = included;
	}
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
	int64 flip = input->kind == PFS_AGG_MAX ? -1 : 0;

	for (uint32 run = 0; run < runs->run_count; run++)
	{
		int64 *state = state_of_run(table, runs, run, input);
		int64 count = 0;
		int64 least = PG_INT64_MAX;

		for (uint32 row = runs->starts[run]; row < runs->starts[run + 1]; row++)
		{
			bool is_included = input->excluded == NULL || !input->excluded[row];
			int64 value = is_included ? input->values[row] ^ flip : PG_INT64_MAX;

			least = Min(least, value);
			count += is_included;
		}
		if (count == 0)
			continue;
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
