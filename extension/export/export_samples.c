/*
 * export_samples.c
 *		Resolves sums per stack to the locations of each stack.
 */
#include "profstore.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "base/arrays.h"
#include "base/memory_peak.h"
#include "export/export_samples.h"
#include "tree/stack_verdicts.h"

/*
 * Calls the function for the stacks of a part of the stream. The part's memory is in the current
 * context, which the caller resets; the function is called in the caller's context.
 */
static void
export_part(const PfsStackSums *sums, PfsSymbols *symbols, PfsExportFn function, void *argument,
			MemoryContext caller)
{
	PfsStackSubsets subsets = pfs_stack_subsets_begin(sums, true);
	PfsStackSubset subset;
	uint32 capacity = 0;
	int32 *location_ids = NULL;

	while (pfs_stack_subsets_next(&subsets, &subset))
	{
		const bool *passing;

		pfs_stack_subset_load_names(&subset);
		passing = pfs_stacks_passing(&subset, symbols);
		for (uint32 i = 0; i < subset.stack_count; i++)
		{
			MemoryContext context;
			uint32 count = 0;

			CHECK_FOR_INTERRUPTS();
			if (passing != NULL && !passing[i])
				continue;
			for (uint32 node = subset.leaves[i]; node != 0; node = subset.shape.parents[node])
			{
				PFS_RESERVE(location_ids, capacity, count + 1);
				location_ids[count++] = subset.shape.locations[node];
			}
			context = MemoryContextSwitchTo(caller);
			function(argument, location_ids, count, subset.stacks[i].sides.value);
			MemoryContextSwitchTo(context);
		}
	}
	pfs_memory_look();
}

void
pfs_export_stacks(PfsStackStream *stream, PfsSymbols *symbols, PfsExportFn function, void *argument)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "profstore part of a file",
												  ALLOCSET_DEFAULT_SIZES);
	PfsStackSums part;

	while (pfs_stack_stream_next(stream, &part))
	{
		MemoryContext caller = MemoryContextSwitchTo(context);

		export_part(&part, symbols, function, argument, caller);
		MemoryContextSwitchTo(caller);
		MemoryContextReset(context);
	}
	MemoryContextDelete(context);
}

PfsSelection *
pfs_selection_part(const PfsSelection *selection, int32 index)
{
	PfsSelection *part = palloc(sizeof(PfsSelection));

	*part = *selection;
	part->series = PFS_ARRAY(PfsSeries, selection->series_count);
	part->series_ids = PFS_ARRAY(int64, selection->series_count);
	part->series_count = 0;
	part->distinct_count = 1;
	for (int i = 0; i < selection->series_count; i++)
	{
		if (selection->series[i].index != index)
			continue;
		part->series[part->series_count] = selection->series[i];
		part->series[part->series_count].index = 0;
		part->series_ids[part->series_count++] = selection->series[i].id;
	}
	return part;
}
