/*
 * memory_peak.c
 *		memory_peak(): what pfs_memory_look has seen.
 */
#include "base/memory_peak.h"

#include "fmgr.h"
#include "utils/memutils.h"

PG_FUNCTION_INFO_V1(profstore_memory_peak);

/* The most since memory_peak() was called. */
static Size peak_bytes;

void
pfs_memory_look(void)
{
	Size bytes = MemoryContextMemAllocated(TopTransactionContext, true);

	if (PortalContext != NULL)
		bytes += MemoryContextMemAllocated(PortalContext, true);
	peak_bytes = Max(peak_bytes, bytes);
}

/*
 * memory_peak()
 */
PGDLLEXPORT Datum
profstore_memory_peak(PG_FUNCTION_ARGS)
{
	Size bytes = peak_bytes;

	peak_bytes = 0;
	PG_RETURN_INT64((int64) bytes);
}
