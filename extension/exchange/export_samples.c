/*
 * export_samples.c
 *		From sums per stack back to stacks.
 */
#include "exchange/export_samples.h"

#include "miscadmin.h"
#include "query/allocate.h"
#include "query/touched.h"

void
pfs_export_stacks(const PfsStackSums *sums, PfsSymbols *symbols, PfsExportFn function,
				  void *argument)
{
	PfsTouching touching = pfs_touching_begin(sums, true);
	PfsTouched touched;

	while (pfs_touching_next(&touching, &touched))
	{
		int32 *location_ids = PFS_ARRAY(int32, touched.shape.count);
		const bool *passing;

		pfs_touched_load_names(&touched);
		passing = pfs_touched_passing(&touched, symbols);
		for (uint32 i = 0; i < touched.stack_count; i++)
		{
			uint32 count = 0;

			CHECK_FOR_INTERRUPTS();
			if (passing != NULL && !passing[i])
				continue;
			for (uint32 node = touched.leaves[i]; node != 0; node = touched.shape.parents[node])
				location_ids[count++] = touched.shape.locations[node];
			function(argument, location_ids, count, touched.stacks[i].sides.value);
		}
		pfree(location_ids);
	}
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
