/*
 * sample_scan.h
 *		The samples of a selection, block by block, from all partitions.
 *
 * Only partitions whose bounds overlap the range are opened. Partitions of access method profstore
 * are read by the block scan; others (a user may attach a heap table) through the table access
 * method's own scan.
 *
 * The sums of tiers are returned as samples at the starts of their buckets. For an instant type,
 * their scrapes follow as samples of value 0 of the empty stack.
 */
#ifndef PFS_SAMPLE_SCAN_H
#define PFS_SAMPLE_SCAN_H

#include "profstore.h"

#include "nodes/pg_list.h"

#include "select/sample_columns.h"
#include "select/selection.h"
#include "select/shared_samples.h"
#include "store/scan/scan_request.h"
#include "store/segment/summary.h"

/*
 * Rows that lie in the range and belong to the selection, in no particular order. The arrays are
 * valid until the next call. Rows at an infinite time are in no range.
 */
typedef struct PfsSampleBlock
{
	uint32 row_count;
	const int64 *times; /* NULL if the column was not asked for, like the other columns */
	const int64 *series;
	const int64 *stacks;
	const int64 *values;

	/*
	 * Time at which each row was scraped, to count the scrapes of instant types. In samples it
	 * equals times; in a tier, times are the starts of buckets. NULL if these rows are sums and
	 * have no scrape, or if times were not asked for.
	 */
	const int64 *scrapes;
	bool is_tier; /* times are starts of a tier's buckets */
} PfsSampleBlock;

typedef struct PfsSampleScan PfsSampleScan;

/*
 * Begins a scan with the active snapshot; if samples are distributed, each node has a snapshot of
 * its own. Takes AccessShareLock on what it reads, until the end of the transaction. Raises a
 * NOTICE for each tier that has rows to read. Raises INSUFFICIENT_PRIVILEGE unless the caller may
 * SELECT from profstore.samples and from the tiers in the range, and if row security is on, which a
 * scan of blocks would bypass.
 */
PfsSampleScan *pfs_sample_scan_begin(const PfsSelection *selection, int columns);

/*
 * Like pfs_sample_scan_begin(), but returns only stacks that pass. sums is PFS_PART_ROWS, or
 * PFS_PART_SCRAPES as for pfs_sample_scan_begin_sums(). Verdicts are on stacks, asked for in any
 * order, perhaps repeatedly. If judge is NULL, all pass.
 */
PfsSampleScan *pfs_sample_scan_begin_judged(const PfsSelection *selection, int columns,
											PfsSegmentPart sums, PfsVerdicts verdicts);

/*
 * Like pfs_sample_scan_begin(), but sums values by series and stack (PFS_PART_PAIRS), by series and
 * time (PFS_PART_SCRAPES), or by one of them. A row may be the sum of many samples. The column that
 * is summed over must not be asked for.
 */
PfsSampleScan *pfs_sample_scan_begin_sums(const PfsSelection *selection, int columns,
										  PfsSegmentPart sums);

/* Partitioned tables of a node, as Oids: its shards of samples and of the tiers. */
typedef struct PfsShardTables
{
	List *samples;
	List *tiers[PFS_TIER_COUNT];
} PfsShardTables;

/*
 * Like pfs_sample_scan_begin_judged(), but reads shards of this node, without the NOTICEs about
 * tiers. Raises INSUFFICIENT_PRIVILEGE unless the caller may SELECT from each.
 */
PfsSampleScan *pfs_sample_scan_begin_shards(const PfsSelection *selection, int columns,
											PfsSegmentPart sums, PfsVerdicts verdicts,
											const PfsShardTables *tables);

/*
 * pfs_sample_scan_share() turns a scan that has read nothing yet into one that workers can join,
 * each of which gets a part of the blocks. Workers also see the leader's waiting rows.
 * pfs_sample_scan_shared_bytes() returns the bytes needed, or 0 if the scan cannot be shared.
 */
Size pfs_sample_scan_shared_bytes(const PfsSampleScan *scan);
void pfs_sample_scan_share(PfsSampleScan *scan, PfsSharedSamples *shared);

/* Joins the leader's scan, with the leader's arguments. The leader has checked privileges. */
PfsSampleScan *pfs_sample_scan_join(const PfsSelection *selection, int columns, PfsSegmentPart sums,
									PfsVerdicts verdicts, PfsSharedSamples *shared);

/* Called by the leader when all workers have ended: adds their counters to those of last_scan(). */
void pfs_sample_scan_take_counters(PfsSharedSamples *shared);

/*
 * Returns the end of the last bucket of a tier in the partitions that overlap the range, or
 * DT_NOBEGIN.
 */
TimestampTz pfs_sample_scan_tier_end(const PfsSampleScan *scan, int tier);

/* Returns the next block, which is not empty; false at the end. */
bool pfs_sample_scan_next(PfsSampleScan *scan, PfsSampleBlock *block);
void pfs_sample_scan_end(PfsSampleScan *scan);

#endif
