/*
 * segment_merge.h
 *		Merges segments of one table into fewer, in the order of row_order.h.
 *
 * Inputs are read block by block. In memory are their encoded streams, one decoded block of each,
 * and the rows of the segment that is being filled. A table without an order keeps the order of the
 * inputs.
 */
#ifndef PFS_SEGMENT_MERGE_H
#define PFS_SEGMENT_MERGE_H

#include "profstore.h"

#include "utils/relcache.h"

#include "store/segment/directory.h"

typedef struct PfsMergeSpec
{
	uint32 input_count;
	const PfsSegmentRow *inputs; /* in order of segment_no; must outlive the merge */
	uint64 output_rows;			 /* most rows of a new segment, at most PFS_SEGMENT_MAX_ROWS */
	int16 output_level;
	int64 bucket_width; /* > 0: rows of different buckets of time go to different segments */
} PfsMergeSpec;

/* Returns the number of the bucket of this width in which a time lies. */
int64 pfs_time_bucket(int64 time, int64 width);

/* Returns the approximate memory that a segment uses while it is an input. */
Size pfs_merge_input_bytes(const PfsSegmentRow *row, uint32 column_count);

/*
 * Writes the rows of all inputs as new segments under the current command. Does not delete the
 * inputs. Needs an active snapshot. Raises DATA_CORRUPTED if an input is damaged. Returns the
 * number of segments written.
 */
uint32 pfs_merge_segments(Relation relation, int64 storage_id, PfsDirectoryWriter *writer,
						  const PfsMergeSpec *spec);

#endif
