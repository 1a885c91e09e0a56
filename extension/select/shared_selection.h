/*
 * shared_selection.h
 *		A selection in the shared memory of parallel workers.
 */
#ifndef PFS_SHARED_SELECTION_H
#define PFS_SHARED_SELECTION_H

#include "profstore.h"

#include "access/parallel.h"

#include "select/selection.h"

typedef struct PfsSharedSelection
{
	TimestampTz from;
	TimestampTz to;
	PfsOverTime over_time;
	bool delta;
	int32 series_count;
	int32 distinct_count;
	PfsSeries series[FLEXIBLE_ARRAY_MEMBER];
} PfsSharedSelection;

/* Returns a chunk of the shared memory, which has been estimated, and makes it known by a key. */
void *pfs_parallel_allocate(ParallelContext *context, uint64 key, Size bytes);

/* Returns the bytes of a selection, which is not restricted to a trace or a span. */
Size pfs_shared_selection_bytes(const PfsSelection *selection);

/*
 * Writes a selection for the workers. If ranks is not NULL, the index of a series becomes
 * ranks[index], which is below distinct_count; otherwise distinct_count is the selection's.
 */
void pfs_selection_share(const PfsSelection *selection, const int32 *ranks, int32 distinct_count,
						 PfsSharedSelection *shared);

/*
 * Returns the selection in a worker; its series lie in shared memory. Names of the type and the
 * unit are empty, because a scan does not need them.
 */
PfsSelection pfs_selection_join(PfsSharedSelection *shared);

#endif
