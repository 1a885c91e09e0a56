/*
 * segment_input.h
 *		Writing a segment and reading its streams, wherever its bytes lie.
 *
 * Up to PFS_PACKED_MAX_ROWS rows make a level 0 segment: all streams in one value beside the
 * directory row, in the row itself where it is small, else in the directory's TOAST relation, whose
 * space VACUUM recycles. More rows make a level 1 segment: one value per stream in the table's own
 * TOAST relation. A table without one (heap tables of fixed-width columns have none, and SET ACCESS
 * METHOD does not add it) packs at every level.
 *
 * From level 1 on, tables of sums (summary.h) stand beside the rows: their streams behind those of
 * the rows, numbered on, their headers in the directory row.
 */
#ifndef PFS_SEGMENT_INPUT_H
#define PFS_SEGMENT_INPUT_H

#include "profstore.h"

#include "utils/relcache.h"

#include "codec/segment.h"
#include "store/segment/directory.h"
#include "store/segment/summary.h"

#define PFS_PACKED_MAX_ROWS 16384

/* No segment has this number. */
#define PFS_NO_SEGMENT 0

/*
 * Raises DATA_CORRUPTED, FEATURE_NOT_SUPPORTED or OUT_OF_MEMORY for a status other than PFS_OK.
 * Segment PFS_NO_SEGMENT: of a roll-up.
 */
pg_noreturn void pfs_segment_error(Relation relation, int64 segment_no, PfsStatus status,
								   const PfsError *error);

/* Memory of the current context for the codecs. */
PfsAllocator pfs_palloc_allocator(MemoryContext context);

/* Rows to write: columns as the codec takes them, and what the directory keeps of them. */
typedef struct PfsRows
{
	const PfsColumn *columns;
	uint32 column_count;
	uint32 row_count;
	PfsRange time;
	PfsRange key;
} PfsRows;

/* Encodes the rows and writes payload and directory row. Needs an active snapshot. */
void pfs_segment_write(Relation relation, int64 storage_id, PfsDirectoryWriter *writer,
					   const PfsRows *rows, CommandId command_id);

/*
 * The same for rows that a merge has brought together. Level 1 will be merged again, so it is
 * packed, with little effort; level 2 stays, so it is encoded densely and lies in the table's own
 * TOAST relation.
 */
void pfs_segment_write_merged(Relation relation, int64 storage_id, PfsDirectoryWriter *writer,
							  const PfsRows *rows, CommandId command_id, int16 level);

/* Encodes rows to be kept elsewhere, in two values of CurrentMemoryContext. */
void pfs_segment_encode_apart(Relation relation, const PfsRows *rows, bytea **header,
							  struct varlena **payload);

/*
 * Deletes the values that a segment has in the table's TOAST relation; those of the directory go
 * with its row.
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
