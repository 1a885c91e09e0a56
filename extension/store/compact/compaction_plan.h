/*
 * compaction_plan.h
 *		Chooses the segments of a table to merge next.
 *
 * A segment of level 0 contains the rows of one COPY or INSERT. Level 1 is merged or large, but
 * will be merged again; level 2 is not merged again. Levels 0 and 1 are merged inside a *bucket* of
 * time: many segments into one of level 1 while the bucket is open, and all of them into level 2
 * when it is closed. So a row is written three times: by its COPY, in level 1, in level 2.
 *
 * The width of buckets follows the table's rows: the least of 10 minutes, an hour, 6 hours, a day,
 * 8 days … that puts a million rows in a bucket. A table without a column "time" is one bucket,
 * which is never open.
 */
#ifndef PFS_COMPACTION_PLAN_H
#define PFS_COMPACTION_PLAN_H

#include "profstore.h"

#include "store/compact/segment_merge.h"
#include "store/segment/directory.h"
#include "store/segment/row_order.h"

/* The properties of a segment on which a plan depends. */
typedef struct PfsPlanSegment
{
	int64 segment_no;
	ItemPointerData address; /* address of the directory row */
	int64 bucket;
	PfsRange time;
	int32 row_count;
	int16 level;
	bool is_wide; /* reaches over more than one bucket */
	Size input_bytes;
} PfsPlanSegment;

typedef struct PfsPlanLimits
{
	/* number of segments of an open bucket that makes a merge worthwhile; at least 2 */
	uint32 open_inputs;
	uint32 max_inputs;	/* most inputs of one merge */
	Size input_bytes;	/* memory for all inputs of a merge */
	uint32 output_rows; /* rows of a new segment */
} PfsPlanLimits;

typedef struct PfsPlan
{
	uint32 count;
	const PfsPlanSegment **inputs; /* in order of segment_no; they point into the caller's array */
	int16 level;				   /* level of the new segments */
	int64 split_width; /* > 0: width of the buckets into which the rows of wide inputs are split */
} PfsPlan;

/*
 * Finds the next merge and allocates the plan in CurrentMemoryContext; returns false if there is
 * nothing to do. Sets the segments' buckets and reorders the array. time_type is the type of column
 * "time", or InvalidOid if there is none.
 */
bool pfs_plan_compaction(PfsPlanSegment *segments, uint32 count, Oid time_type,
						 const PfsPlanLimits *limits, PfsPlan *plan);

#endif
