/*
 * block_scan.h
 *		The one way to read columns: blocks of int64 lanes, pruned and filtered.
 *
 * Used by the access method's scan, by the custom nodes and by the functions that query. A scan sees the
 * segments whose directory rows its snapshot sees, in a list made at begin, and rows of this
 * transaction that still wait in memory, copied at begin. These only the process that has written them can
 * see: a shared scan brings them to others, any other scan in a parallel worker misses them. The caller keeps
 * the snapshot active or registered until end, has the relation open with at least AccessShareLock, and has
 * checked privileges and row security.
 */
#ifndef PFS_BLOCK_SCAN_H
#define PFS_BLOCK_SCAN_H

#include "profstore.h"

#include "access/attnum.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"

#include "store/segment/summary.h"

/*
 * Keeps rows whose column lies in [low, high] and, where keys is not NULL, is one of keys; never
 * NULL rows. Or, where keeps_nulls is set, just those.
 */
typedef struct PfsBlockFilter
{
	AttrNumber attnum;
	int64 low;		   /* inclusive; keys of lanes, see lane.h: lanes themselves but for floats */
	int64 high;		   /* inclusive */
	const int64 *keys; /* sorted ascending, distinct, or NULL; must outlive the scan */
	uint32 key_count;
	bool keeps_nulls;
} PfsBlockFilter;

/* Rows that passed all filters; arrays belong to the scan and hold until the next call. */
typedef struct PfsBlock
{
	uint64 number;		  /* of the block, counted from 0 over all that the scan covers */
	uint32 row_count;	  /* 1 .. PFS_BLOCK_ROWS */
	const int64 **values; /* values[i]: lanes of the i-th attribute asked for */
	const bool **nulls;	  /* nulls[i]: flags of it, or NULL where the block has no null in it */
	bool has_sums;		  /* rows stand for several of the table; else all row counts are 1 */
} PfsBlock;

/* What a scan touched, for EXPLAIN and tests. */
typedef struct PfsScanCounters
{
	uint64 segments_total;
	uint64 segments_skipped;
	uint64 segments_summed; /* sums stood for their rows */
	uint64 segments_read;
	uint64 blocks_read;
	uint64 blocks_skipped;
	uint64 bytes_read;
} PfsScanCounters;

typedef struct PfsBlockScan PfsBlockScan;

/*
 * The scan and all that it returns live in a memory context of its own, child of
 * CurrentMemoryContext. Raises DATA_CORRUPTED with relation, segment, stream and offset where
 * stored bytes are damaged. A column that a segment lacks, added to the table later, has its
 * missing value (the ADD COLUMN's DEFAULT, or null).
 */
PfsBlockScan *pfs_block_scan_begin(Relation relation, Snapshot snapshot, int attribute_count,
								   const AttrNumber *attnums, int filter_count,
								   const PfsBlockFilter *filters);
/*
 * For who adds up rows by (series, stack), PFS_PART_PAIRS, or by (series, time), PFS_PART_SCRAPES,
 * or by part of it. A row of the result stands for one or more rows of the table: those columns are
 * the same in all of them, every other that is asked for is their sum, and PFS_ROW_COUNT_ATTNUM, if
 * asked for, is their number. So sums come from the tables of sums that segments carry where
 * filters cut through no row of them, and else from rows. Filters may be on any column. Column types that are not summed are not
 * to be asked for.
 */
PfsBlockScan *pfs_block_scan_begin_sums(Relation relation, Snapshot snapshot, int attribute_count,
										const AttrNumber *attnums, int filter_count,
										const PfsBlockFilter *filters, PfsSegmentPart sums);

/* Ascending, distinct numbers. */
typedef struct PfsNumbers
{
	uint32 count;
	const int64 *numbers;
} PfsNumbers;

/*
 * The same by (series, stack) over these segments alone, no waiting rows, with roll-ups only of buckets narrower than
 * the width; for who makes roll-ups.
 */
PfsBlockScan *pfs_block_scan_begin_segments(Relation relation, Snapshot snapshot,
											int attribute_count, const AttrNumber *attnums,
											int filter_count, const PfsBlockFilter *filters,
											PfsNumbers segments, int64 rollup_width);
bool pfs_block_scan_next(PfsBlockScan *scan, PfsBlock *block);
const PfsScanCounters *pfs_block_scan_counters(const PfsBlockScan *scan);
void pfs_block_scan_end(PfsBlockScan *scan);

/* The block before; where next has found the end, the last one. Not for shared scans. */
bool pfs_block_scan_previous(PfsBlockScan *scan, PfsBlock *block);
/* Back to the start, over the same rows. */
void pfs_block_scan_rewind(PfsBlockScan *scan);
/* Leaves out that many blocks, unread. */
void pfs_block_scan_skip(PfsBlockScan *scan, uint64 block_count);
/* Rows and blocks that the scan covers, filters and pruning aside. */
uint64 pfs_block_scan_row_count(const PfsBlockScan *scan);
uint64 pfs_block_scan_block_count(const PfsBlockScan *scan);

/*
 * Before the first block: columns that stored rows lack have the defaults that an older description
 * of the table names. ALTER TABLE forgets them before it reads the rows that it rewrites.
 */
void pfs_block_scan_use_defaults(PfsBlockScan *scan, TupleDesc desc);

/*
 * A scan that several processes share: each block comes to one of them. The struct lies in shared
 * memory and carries the leader's waiting rows; all attach under the same snapshot. Should their
 * filters differ, each uses its own on the blocks that come to it. sums is PFS_PART_ROWS or as for
 * pfs_block_scan_begin_sums.
 */
typedef struct PfsSharedScan PfsSharedScan;

Size pfs_shared_scan_bytes(Relation relation);
void pfs_shared_scan_init(Relation relation, PfsSharedScan *shared);
void pfs_shared_scan_rewind(PfsSharedScan *shared);
PfsBlockScan *pfs_block_scan_begin_shared(Relation relation, Snapshot snapshot, int attribute_count,
										  const AttrNumber *attnums, int filter_count,
										  const PfsBlockFilter *filters, PfsSegmentPart sums,
										  PfsSharedScan *shared);

#endif
