/*
 * scan_counters.c
 *		Adds up the counters of a scan's processes.
 */
#include "store/scan/scan_counters.h"

void
pfs_shared_counters_init(PfsSharedCounters *shared)
{
	pg_atomic_init_u64(&shared->segments_skipped, 0);
	pg_atomic_init_u64(&shared->segments_summed, 0);
	pg_atomic_init_u64(&shared->segments_read, 0);
	pg_atomic_init_u64(&shared->blocks_read, 0);
	pg_atomic_init_u64(&shared->blocks_skipped, 0);
	pg_atomic_init_u64(&shared->bytes_read, 0);
}

void
pfs_shared_counters_add(PfsSharedCounters *shared, const PfsScanCounters *counters)
{
	pg_atomic_fetch_add_u64(&shared->segments_skipped, (int64) counters->segments_skipped);
	pg_atomic_fetch_add_u64(&shared->segments_summed, (int64) counters->segments_summed);
	pg_atomic_fetch_add_u64(&shared->segments_read, (int64) counters->segments_read);
	pg_atomic_fetch_add_u64(&shared->blocks_read, (int64) counters->blocks_read);
	pg_atomic_fetch_add_u64(&shared->blocks_skipped, (int64) counters->blocks_skipped);
	pg_atomic_fetch_add_u64(&shared->bytes_read, (int64) counters->bytes_read);
}

void
pfs_shared_counters_take(PfsSharedCounters *shared, PfsScanCounters *counters)
{
	counters->segments_skipped += pg_atomic_exchange_u64(&shared->segments_skipped, 0);
	counters->segments_summed += pg_atomic_exchange_u64(&shared->segments_summed, 0);
	counters->segments_read += pg_atomic_exchange_u64(&shared->segments_read, 0);
	counters->blocks_read += pg_atomic_exchange_u64(&shared->blocks_read, 0);
	counters->blocks_skipped += pg_atomic_exchange_u64(&shared->blocks_skipped, 0);
	counters->bytes_read += pg_atomic_exchange_u64(&shared->bytes_read, 0);
}

void
pfs_counters_add(PfsScanCounters *sum, const PfsScanCounters *counters)
{
	sum->segments_total += counters->segments_total;
	sum->segments_skipped += counters->segments_skipped;
	sum->segments_summed += counters->segments_summed;
	sum->segments_read += counters->segments_read;
	sum->blocks_read += counters->blocks_read;
	sum->blocks_skipped += counters->blocks_skipped;
	sum->bytes_read += counters->bytes_read;
}
