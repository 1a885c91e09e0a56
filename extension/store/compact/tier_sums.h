/*
 * tier_sums.h
 *		Sums of a table's rows by (series, stack, bucket of time): what a coarser tier keeps of
 *		them.
 *
 * Values of delta types add up. Those of instant types add up too, and beside their sums stand the
 * scrapes that they came from, so that averages over scrapes stay exact: a row of value 0 for each
 * distinct (series, time), whose stack id is pfs_scrape_stack. It is never a stack's, is the same
 * however often the scrape is met, and can be moved on to a coarser tier. Sums of instant types
 * that are 0 are left out: their scrapes tell that the bucket is there.
 */
#ifndef PFS_TIER_SUMS_H
#define PFS_TIER_SUMS_H

#include "profstore.h"

#include "access/attnum.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"

/*
 * Stands for a scrape that was so long after the start of its bucket, less than the bucket's width.
 */
static inline int64
pfs_scrape_stack(int64 offset_us)
{
	return -1 - offset_us;
}

/* The inverse, for a negative stack id. */
static inline int64
pfs_scrape_offset(int64 stack_id)
{
	return -1 - stack_id;
}

typedef struct PfsTierSpec
{
	AttrNumber time; /* columns of the table that is read */
	AttrNumber series;
	AttrNumber stack;
	AttrNumber value;
	int64 width_us;				 /* of the buckets */
	bool has_scrapes;			 /* it is a tier itself */
	const int64 *instant_series; /* ascending */
	uint32 instant_count;
} PfsTierSpec;

typedef struct PfsTierRow
{
	int64 series;
	int64 stack;
	int64 bucket; /* its start */
	int64 value;
} PfsTierRow;

typedef struct PfsTierRows
{
	uint64 read_count; /* rows that they came from */
	uint64 count;
	PfsTierRow *rows; /* by series, stack and bucket; a sum beyond int8 takes several rows */
} PfsTierRows;

/* Bytes of memory that the result takes for each row that is read, at most, near enough. */
#define PFS_TIER_ROW_BYTES 64

/*
 * Reads the rows with from <= time < to that the snapshot sees; both ends lie on buckets. The
 * caller is bound as by pfs_block_scan_begin. The result lives in CurrentMemoryContext.
 */
PfsTierRows pfs_tier_sums(Relation relation, Snapshot snapshot, const PfsTierSpec *spec, int64 from,
						  int64 to);

#endif
