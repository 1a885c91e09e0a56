/*
 * stack_filter.c
 *		Verdicts by stack id.
 */
#include "tree/stack_filter.h"

#include "miscadmin.h"

#include "base/arrays.h"
#include "base/series_table.h"
#include "dictionary/cache/dictionary.h"
#include "tree/stack_verdicts.h"

struct PfsStackFilter
{
	PfsSymbols *symbols;
	pfs_series_table_hash *verdicts; /* by (0, stack id): 1 where it passes */
	uint64 max_elements;
	MemoryContext scratch; /* of one call that learns */
};

PfsStackFilter *
pfs_stack_filter_create(const PfsFilters *filters)
{
	PfsStackFilter *filter;

	if (!pfs_filters_any(filters))
		return NULL;
	filter = palloc(sizeof(PfsStackFilter));
	pfs_dictionary_begin();
	filter->symbols = pfs_symbols_create(filters);
	filter->verdicts =
		pfs_series_table_create(CurrentMemoryContext, PFS_SERIES_TABLE_INITIAL, NULL);
	filter->max_elements =
		Max(pfs_hash_memory_bytes() / 8 / sizeof(PfsSeriesEntry), PFS_SERIES_TABLE_INITIAL);
	filter->scratch = AllocSetContextCreate(CurrentMemoryContext, "profstore stack filter",
											ALLOCSET_DEFAULT_SIZES);
	return filter;
}

static void
judge(PfsStackFilter *filter, PfsStackSums *unknown)
{
	PfsStackSubsets subsets = pfs_stack_subsets_begin(unknown, false);
	PfsStackSubset subset;
	bool found;

	pfs_stack_sums_sort(unknown);
	while (pfs_stack_subsets_next(&subsets, &subset))
	{
		const bool *passing = pfs_stacks_passing(&subset, filter->symbols);

		for (uint32 i = 0; i < subset.stack_count; i++)
			pfs_series_table_get(filter->verdicts, 0, subset.stacks[i].stack_id, &found)->value =
				passing[i];
	}
}

void
pfs_stack_filter_learn(PfsStackFilter *filter, const int64 *stacks, uint32 count)
{
	MemoryContext caller = MemoryContextSwitchTo(filter->scratch);
	PfsStackSums unknown = { 0, NULL };
	bool found;

	if (filter->verdicts->members > 0 &&
		filter->verdicts->members + (uint64) count > filter->max_elements)
		pfs_series_table_reset(filter->verdicts);
	for (uint32 i = 0; i < count; i++)
	{
		if (i > 0 && stacks[i] == stacks[i - 1])
			continue;
		pfs_series_table_get(filter->verdicts, 0, stacks[i], &found);
		if (found)
			continue;
		if (unknown.sums == NULL)
			unknown.sums = PFS_ARRAY(PfsStackSum, count);
		unknown.sums[unknown.count++] = (PfsStackSum){ stacks[i], { 0, 0 } };
	}
	if (unknown.count > 0)
		judge(filter, &unknown);
	MemoryContextSwitchTo(caller);
	MemoryContextReset(filter->scratch);
}

bool
pfs_stack_filter_passes(PfsStackFilter *filter, int64 stack_id)
{
	bool found;

	return pfs_series_table_get(filter->verdicts, 0, stack_id, &found)->value != 0;
}
