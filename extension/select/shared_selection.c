/*
 * shared_selection.c
 *		Writes a selection to shared memory, and makes a worker's selection of it.
 */
#include "select/shared_selection.h"

#include "storage/shmem.h"

#include "base/arrays.h"

void *
pfs_parallel_allocate(ParallelContext *context, uint64 key, Size bytes)
{
	void *chunk = shm_toc_allocate(context->toc, bytes);

	shm_toc_insert(context->toc, key, chunk);
	return chunk;
}

Size
pfs_shared_selection_bytes(const PfsSelection *selection)
{
	return add_size(offsetof(PfsSharedSelection, series),
					mul_size(sizeof(PfsSeries), (Size) selection->series_count));
}

void
pfs_selection_share(const PfsSelection *selection, const int32 *ranks, int32 distinct_count,
					PfsSharedSelection *shared)
{
	*shared = (PfsSharedSelection){ .from = selection->from,
									.to = selection->to,
									.over_time = selection->over_time,
									.delta = selection->delta,
									.series_count = selection->series_count,
									.distinct_count = distinct_count };
	for (int i = 0; i < selection->series_count; i++)
	{
		const PfsSeries *series = &selection->series[i];

		shared->series[i] =
			(PfsSeries){ .id = series->id,
						 .index = ranks != NULL ? ranks[series->index] : series->index };
	}
}

PfsSelection
pfs_selection_join(PfsSharedSelection *shared)
{
	PfsSelection selection = { .profile_type = "",
							   .unit = "",
							   .delta = shared->delta,
							   .over_time = shared->over_time,
							   .from = shared->from,
							   .to = shared->to,
							   .series_count = shared->series_count,
							   .distinct_count = shared->distinct_count,
							   .series = shared->series };

	selection.series_ids = PFS_ARRAY(int64, shared->series_count);
	for (int i = 0; i < shared->series_count; i++)
		selection.series_ids[i] = shared->series[i].id;
	return selection;
}
