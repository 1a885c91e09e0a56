/*
 * summary.h
 *		Sums beside samples: small tables that a segment carries beside its rows, and that a reader
 *		may take for them.
 *
 * A segment of level 1 or above of a table in the order of row_order.h has up to two of them, each
 * as a segment of its own in the table's attribute numbers:
 *
 *		pairs		one row for each (series, stack): columns series, stack, row count, sums
 *		scrapes		one row for each (series, time): columns series, time, row count, sums
 *
 * in the order of the rows. Sums are those of the int2, int4 and int8 columns that are not in the
 * key, have no null, and add up within int8; others are left out. A table of sums is left out as a
 * whole where a column of the key has nulls, or where it would not be much shorter than the rows.
 *
 * Pairs may be the groups of the rows (codec/segment.h): then the keys, row counts and sums are
 * stored with the rows alone, and a pair that reaches over the end of a block of rows has a row for
 * each block.
 */
#ifndef PFS_SUMMARY_H
#define PFS_SUMMARY_H

#include "profstore.h"

#include "access/attnum.h"
#include "utils/relcache.h"

#include "codec/segment.h"
#include "store/segment/row_order.h"

/* What of a segment to read. */
typedef enum PfsSegmentPart
{
	PFS_PART_ROWS,
	PFS_PART_PAIRS,
	PFS_PART_SCRAPES,
	PFS_PART_COUNT
} PfsSegmentPart;

/* The attribute number of the row count, which is none of a table's. */
#define PFS_ROW_COUNT_ATTNUM ((AttrNumber) -100)

/*
 * The headers of sums, in the directory row: for each table its part, the length of its header, and
 * the header.
 */
#define PFS_SUMMARY_PREFIX_BYTES (1 + sizeof(uint32))

/* What costs of plans take for granted: of about so many rows sums leave one. */
#define PFS_ROWS_PER_SUM 3

/* Setting profstore.enable_summaries: whether scans take sums for rows. They are written always. */
extern bool pfs_enable_summaries;

void pfs_summary_init(void);

/* Whether a column without null, of a table that has the key, is added up. */
bool pfs_summary_adds_up(Relation relation, const PfsColumn *column);

/* The most rows of a table of sums that is worth its bytes. */
uint32 pfs_summary_limit(PfsSegmentPart part, uint32 row_count);

/*
 * Makes a table of sums from a segment's rows, which are in order; false where there is to be none,
 * for one because it would have more rows than the limit. base is the segment of these rows, whose
 * groups the pairs are to share, if it has groups; NULL: they share nothing. The result lives in
 * CurrentMemoryContext and has no ranges.
 */
bool pfs_summary_make(Relation relation, const PfsRows *rows, PfsSegmentPart part, uint32 limit,
					  const PfsSegmentReader *base, PfsRows *sums);

/*
 * Whether stored sums are by the columns that are the table's key now: a column that has been
 * renamed since may have another part.
 */
bool pfs_summary_fits(Relation relation, const PfsSegmentReader *sums, PfsSegmentPart part);

#endif
