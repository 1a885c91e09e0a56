/*
 * tier_sums.h
 *		Sums of a table's rows by (series, stack, bucket of time), as a coarser tier keeps them.
 *
 * Values of delta types are summed. So are those of instant types, but the scrapes that they came
 * from are kept beside the sums, so that averages over scrapes stay exact: one row of value 0 for
 * each distinct (series, time), whose stack id is pfs_scrape_stack(). That id is never a stack's,
 * is the same each time the scrape is read, and can be carried to an even coarser tier. Sums of
 * instant types that are 0 are left out: the scrapes show that the bucket exists.
 */
#ifndef PFS_TIER_SUMS_H
#define PFS_TIER_SUMS_H

#include "profstore.h"

#include "access/attnum.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"

/*
 * Returns the stack id that represents a scrape at this offset from the start of its bucket. The
 * offset must be less than the bucket's width.
 */
static inline int64
pfs_scrape_stack(int64 offset_us)
{
	return -1 - offset_us;
}

/* Returns the offset of a scrape from the negative stack id that represents it. */
static inline int64
pfs_scrape_offset(int64 stack_id)
{
	return -1 - stack_id;
}

typedef struct PfsTierSpec
{
	AttrNumber time; /* attribute numbers of the columns in the table that is read */
	AttrNumber series;
	AttrNumber stack;
	AttrNumber value;
	int64 width_us;				 /* width of the buckets */
	bool has_scrapes;			 /* the table is a tier itself */
	const int64 *instant_series; /* ascending */
	uint32 instant_count;
} PfsTierSpec;

typedef struct PfsTierRow
{
	int64 series;
	int64 stack;
	int64 bucket; /* start of the bucket */
	int64 value;
} PfsTierRow;

typedef struct PfsTierRows
{
	uint64 read_count; /* rows that were read */
	uint64 count;
	/* sorted by series, stack and bucket; a sum beyond int8 is divided over several rows */
	PfsTierRow *rows;
} PfsTierRows;

/* Approximate upper bound of the result's memory, in bytes per row read. */
#define PFS_TIER_ROW_BYTES 64

/*
 * Sums the rows with from <= time < to that the snapshot sees. from and to are bucket boundaries.
 * The requirements are those of pfs_block_scan_begin(). The result is allocated in
 * CurrentMemoryContext.
 */
PfsTierRows pfs_tier_sums(Relation relation, Snapshot snapshot, const PfsTierSpec *spec, int64 from,
						  int64 to);

#endif
