/*
 * segment_input.h
 *		Reading a segment's streams, wherever its bytes lie (segment_write.h). Errors are those of
 *		pfs_segment_error.
 */
#ifndef PFS_SEGMENT_INPUT_H
#define PFS_SEGMENT_INPUT_H

#include "profstore.h"

#include "utils/relcache.h"

#include "codec/segment.h"
#include "store/segment/directory.h"
#include "store/segment/summary.h"

/* Of packed segments with more rows, streams are fetched one by one. */
#define PFS_FETCHED_WHOLE_ROWS 16384

/*
 * Deletes the values that a segment has in the table's TOAST relation; those of the directory go
 * with its row. Reads neither header nor streams, so a damaged segment can go.
 */
void pfs_segment_delete_streams(Relation relation, const PfsSegmentRow *row);

/* A segment being read; lives in the memory context that was current at open. */
typedef struct PfsSegmentInput PfsSegmentInput;

/* The row is a copy (pfs_segment_row_copy) and must outlive the input. */
PfsSegmentInput *pfs_segment_open(Relation relation, const PfsSegmentRow *row);
/* Of the rows. */
PfsSegmentReader *pfs_segment_reader(PfsSegmentInput *input);
/* Of a part; NULL where the segment lacks it. */
PfsSegmentReader *pfs_segment_part_reader(PfsSegmentInput *input, PfsSegmentPart part);

/*
 * A TOAST pointer to a stream that is not empty, of a segment whose streams have values of their
 * own. Streams are counted over all parts.
 */
struct varlena *pfs_segment_stream_pointer(PfsSegmentInput *input, uint32 stream);

/* Brings a column's streams into the reader, once. Returns the bytes read by this call. */
uint64 pfs_segment_load_column(PfsSegmentInput *input, int column);
uint64 pfs_segment_load_part_column(PfsSegmentInput *input, PfsSegmentPart part, int column);
/* Where a part's streams begin, among those of all parts. */
uint32 pfs_segment_first_stream(PfsSegmentInput *input, PfsSegmentPart part);

#endif
