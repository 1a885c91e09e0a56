/*
 * compaction_plan.h
 *		Which segments of a table to merge next.
 *
 * A segment of level 0 is what a COPY or INSERT wrote; level 1 is merged or large, but to be merged
 * again; level 2 stays. Levels 0 and 1 are merged inside a *bucket* of time: while the bucket is
 * open, many into one of level 1, and all of it into level 2 once it is closed. So a row is written
 * three times: by its COPY, in level 1, in level 2.
 *
 * The width of buckets follows the table's rows: the least of 10 minutes, an hour, 6 hours, a day,
 * 8 days … that makes a million rows in a bucket. A table without a column "time" is one bucket,
 * which is never open.
 */
#ifndef PFS_COMPACTION_PLAN_H
#define PFS_COMPACTION_PLAN_H

#include "profstore.h"

#include "store/compact/merge.h"
#include "store/segment/directory.h"
#include "store/segment/row_order.h"

/* What a plan needs to know of a segment. */
typedef struct PfsPlanSegment
{
	int64 segment_no;
	int64 bucket;
	PfsRange time;
	int32 row_count;
	int16 level;
	bool is_wide; /* reaches over more than one bucket */
	Size input_bytes;
} PfsPlanSegment;

typedef struct PfsPlanLimits
{
	uint32 open_inputs; /* so many must wait in an open bucket before they are merged; at least 2 */
	uint32 max_inputs;	/* of one merge */
	Size input_bytes;	/* memory for inputs */
	uint32 output_rows; /* of a new segment */
} PfsPlanLimits;

typedef struct PfsPlan
{
	uint32 count;
	int64 *segment_nos; /* ascending */
	int16 level;		/* of the result */
	int64 split_width;	/* > 0: the inputs are wide, their rows are to be split by buckets */
} PfsPlan;

/*
 * Finds the next merge, in CurrentMemoryContext; false where there is nothing to do. Sets the
 * segments' buckets and puts them in another order. time_type is that of the column "time",
 * InvalidOid where there is none.
 */
bool pfs_plan_compaction(PfsPlanSegment *segments, uint32 count, Oid time_type,
						 const PfsPlanLimits *limits, PfsPlan *plan);

#endif
