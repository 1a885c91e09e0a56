/*
 * summary.h
 *		Sums beside samples: small tables that a segment stores beside its rows, and that a scan
 *		may read instead of them.
 *
 * A segment of level 1 or above of a table in the order of row_order.h has up to two of them, each
 * as a segment of its own in the table's attribute numbers:
 *
 *		pairs		one row for each (series, stack): columns series, stack, row count, sums
 *		scrapes		one row for each (series, time): columns series, time, row count, sums
 *
 * in the order of the rows. There are sums of the int2, int4 and int8 columns that are not in the
 * key, have no null, and whose sums fit int8. A table of sums is left out as a whole if a column of
 * the key has nulls, or if it would not be much shorter than the rows.
 *
 * Pairs may be the groups of the rows (codec/segment.h). Then the keys, row counts and sums are
 * stored with the rows only, and a pair that crosses the end of a block of rows has one row for
 * each block.
 */
#ifndef PFS_SUMMARY_H
#define PFS_SUMMARY_H

#include "profstore.h"

#include "access/attnum.h"
#include "utils/relcache.h"

#include "codec/segment.h"
#include "store/segment/row_order.h"

/* Part of a segment to read. */
typedef enum PfsSegmentPart
{
	PFS_PART_ROWS,
	PFS_PART_PAIRS,
	PFS_PART_SCRAPES,
	PFS_PART_COUNT
} PfsSegmentPart;

/* Attribute number of the row count. No column of a table has it. */
#define PFS_ROW_COUNT_ATTNUM ((AttrNumber) -100)

/*
 * Bytes before each header in the summary of a directory row. The summary has for each table of
 * sums its part (1 byte), the length of its header (4 bytes), and the header.
 */
#define PFS_SUMMARY_PREFIX_BYTES (1 + sizeof(uint32))

/* Cost estimates assume one sum per this many rows. */
#define PFS_ROWS_PER_SUM 3

/*
 * Setting profstore.enable_summaries: whether scans may read sums instead of rows. Sums are written
 * whatever the setting.
 */
extern bool pfs_enable_summaries;

void pfs_summary_init(void);

/*
 * Returns true if the column can be summed: it has an integer type and no nulls, and the table has
 * the key.
 */
bool pfs_summary_adds_up(Relation relation, const PfsColumn *column);

/* Returns the largest number of rows at which a table of sums is worth its bytes. */
uint32 pfs_summary_limit(PfsSegmentPart part, uint32 row_count);

/*
 * Sums a segment's rows, which are in order. Returns false if the part cannot or should not be
 * built, for example because it would have more rows than limit. base is the reader of the same
 * rows' segment, whose groups the pairs share if there are groups; NULL: they share nothing. The
 * result is allocated in CurrentMemoryContext and has no ranges.
 */
bool pfs_summary_make(Relation relation, const PfsRows *rows, PfsSegmentPart part, uint32 limit,
					  const PfsSegmentReader *base, PfsRows *sums);

/*
 * Returns true if sums were stored by the columns that are now the table's key. A column may have
 * been renamed since.
 */
bool pfs_summary_fits(Relation relation, const PfsSegmentReader *sums, PfsSegmentPart part);

#endif
