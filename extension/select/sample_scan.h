/*
 * sample_scan.h
 *		The samples of a selection, block by block, whatever partitions they lie in.
 *
 * Only partitions whose bounds meet the range are opened. Partitions of access method profstore go
 * through the block scan; others (a user may attach a heap table) through the table access method's
 * own scan.
 *
 * The sums of the tiers come as samples at the starts of their buckets. Where they are of an
 * instant type, their scrapes come beside them, as samples of value 0 of the empty stack.
 */
#ifndef PFS_SAMPLE_SCAN_H
#define PFS_SAMPLE_SCAN_H

#include "profstore.h"

#include "select/selection.h"
#include "select/shared_samples.h"
#include "store/scan/scan_request.h"
#include "store/segment/summary.h"

/* Columns to read, as bits. */
typedef enum PfsSampleColumns
{
	PFS_SAMPLE_TIME = 1,
	PFS_SAMPLE_SERIES = 2,
	PFS_SAMPLE_STACK = 4,
	PFS_SAMPLE_VALUE = 8
} PfsSampleColumns;

/*
 * Rows in range and selection, in no particular order; the arrays hold until the next call. Rows at
 * an infinite time are in no range.
 */
typedef struct PfsSampleBlock
{
	uint32 row_count;
	const int64 *times; /* NULL where the column was not asked for; so the others */
	const int64 *series;
	const int64 *stacks;
	const int64 *values;

	/*
	 * When the row was scraped, for counting the scrapes of instant types: the same as times, but
	 * for a tier, where times are starts of buckets. NULL: these rows are sums, and tell of no
	 * scrape; or times were not asked for.
	 */
	const int64 *scrapes;
	bool is_tier; /* times are starts of a tier's buckets */
} PfsSampleBlock;

typedef struct PfsSampleScan PfsSampleScan;

/*
 * Uses the active snapshot. Takes AccessShareLock on what it reads, until the end of the
 * transaction. A NOTICE tells of each tier that has rows to read. Raises INSUFFICIENT_PRIVILEGE
 * unless the caller may SELECT from profstore.samples, and from the tiers that the range meets, or
 * where row security is on, which a scan of blocks would bypass.
 */
PfsSampleScan *pfs_sample_scan_begin(const PfsSelection *selection, int columns);

/*
 * The same of stacks that pass alone. sums is PFS_PART_ROWS, or PFS_PART_SCRAPES as below. Verdicts
 * are on stacks, asked for in no particular order, perhaps again. Where judge is NULL all pass.
 */
PfsSampleScan *pfs_sample_scan_begin_judged(const PfsSelection *selection, int columns,
											PfsSegmentPart sums, PfsVerdicts verdicts);

/*
 * The same where values are added up by series and stack (PFS_PART_PAIRS) or by series and time
 * (PFS_PART_SCRAPES), or by one of them. A row may stand for many samples, whose values it adds up.
 * The other column is not to be asked for.
 */
PfsSampleScan *pfs_sample_scan_begin_sums(const PfsSelection *selection, int columns,
										  PfsSegmentPart sums);

/*
 * A scan that nothing was read of yet becomes one that workers join, which see the leader's rows.
 * 0 bytes: it cannot be, and is read alone. Blocks of each process are as those above.
 */
Size pfs_sample_scan_shared_bytes(const PfsSampleScan *scan);
void pfs_sample_scan_share(PfsSampleScan *scan, PfsSharedSamples *shared);

/* By a worker, of what the leader asks for; that has checked privileges. */
PfsSampleScan *pfs_sample_scan_join(const PfsSelection *selection, int columns, PfsSegmentPart sums,
									PfsVerdicts verdicts, PfsSharedSamples *shared);

/* By the leader, when all workers have ended: what they have read counts for last_scan(), too. */
void pfs_sample_scan_take_counters(PfsSharedSamples *shared);

/* The end of the last bucket of a tier in the partitions that the range meets, or DT_NOBEGIN. */
TimestampTz pfs_sample_scan_tier_end(const PfsSampleScan *scan, int tier);

/* The next block, which is not empty; false at the end. */
bool pfs_sample_scan_next(PfsSampleScan *scan, PfsSampleBlock *block);
void pfs_sample_scan_end(PfsSampleScan *scan);

#endif
