/*
 * segment_input.h
 *		Reads a segment's streams from wherever its bytes lie (see segment_write.h). Errors are
 *		those of pfs_segment_error().
 */
#ifndef PFS_SEGMENT_INPUT_H
#define PFS_SEGMENT_INPUT_H

#include "profstore.h"

#include "utils/relcache.h"

#include "codec/segment.h"
#include "store/segment/directory.h"
#include "store/segment/summary.h"

/*
 * The streams of a packed segment are fetched together up to this number of rows, otherwise one by
 * one.
 */
#define PFS_FETCHED_WHOLE_ROWS 16384

/*
 * Deletes the streams that a segment has in the table's TOAST relation; those in the directory go
 * with its row. Reads neither header nor streams, so that a damaged segment can be deleted.
 */
void pfs_segment_delete_streams(Relation relation, const PfsSegmentRow *row);

/* A segment that is being read. It lives in the memory context that was current at open. */
typedef struct PfsSegmentInput PfsSegmentInput;

/* Opens a segment. row must be a copy (pfs_segment_row_copy()) and outlive the input. */
PfsSegmentInput *pfs_segment_open(Relation relation, const PfsSegmentRow *row);
/* Returns the reader of the rows. */
PfsSegmentReader *pfs_segment_reader(PfsSegmentInput *input);
/* Returns the reader of a part, or NULL if the segment lacks it. */
PfsSegmentReader *pfs_segment_part_reader(PfsSegmentInput *input, PfsSegmentPart part);

/*
 * Returns a TOAST pointer to a non-empty stream, numbered over all parts. The streams of the
 * segment must have values of their own (row->stream_ids).
 */
struct varlena *pfs_segment_stream_pointer(PfsSegmentInput *input, uint32 stream);

/*
 * Load the streams of a column into the reader, unless they are loaded already. Return the bytes
 * read by this call.
 */
uint64 pfs_segment_load_column(PfsSegmentInput *input, int column);
uint64 pfs_segment_load_part_column(PfsSegmentInput *input, PfsSegmentPart part, int column);
/* Returns the number that a part's first stream has among the streams of all parts. */
uint32 pfs_segment_first_stream(PfsSegmentInput *input, PfsSegmentPart part);

#endif
