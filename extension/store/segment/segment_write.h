/*
 * segment_write.h
 *		Writes a segment, and decides where its bytes lie.
 *
 * Levels 0 and 1 will be merged again. All their streams are one value beside the directory row: in
 * the row itself if it is small, otherwise in the directory's TOAST relation. All tables write
 * there in turn, so space freed by VACUUM is reused soon. Level 2 is not merged again: each stream
 * is a value in the table's own TOAST relation, which therefore holds only values that live long. A
 * table without a TOAST relation (heap tables of fixed-width columns have none, and SET ACCESS
 * METHOD does not add it) packs its streams into one value at every level.
 *
 * From level 1 on, tables of sums (summary.h) are stored beside the rows: their streams after
 * those of the rows, numbered on, and their headers in the directory row.
 */
#ifndef PFS_SEGMENT_WRITE_H
#define PFS_SEGMENT_WRITE_H

#include "profstore.h"

#include "utils/relcache.h"

#include "store/segment/directory.h"
#include "store/segment/row_order.h"
#include "store/segment/segment_input.h"

/*
 * A write of a transaction makes a segment of level 0 if it has up to this many rows, of level 1 if
 * it has more.
 */
#define PFS_SMALL_MAX_ROWS 16384

/*
 * Most rows of a segment of level 1 that a writer makes, and of any segment that is encoded
 * quickly.
 */
#define PFS_QUICK_MAX_ROWS 131072

/* Encodes the rows, and writes payload and directory row. Needs an active snapshot. */
void pfs_segment_write(Relation relation, int64 storage_id, PfsDirectoryWriter *writer,
					   const PfsRows *rows, CommandId command_id);

/*
 * Like pfs_segment_write(), but for the rows of a merge. Level 1 will be merged again, so it is
 * packed, and encoded quickly if it is small; large segments are encoded densely, because those of
 * open buckets would be most of a young table. Level 2 is not merged again, so it is encoded
 * densely, into the table's own TOAST relation.
 */
void pfs_segment_write_merged(Relation relation, int64 storage_id, PfsDirectoryWriter *writer,
							  const PfsRows *rows, CommandId command_id, int16 level);

/*
 * Saves a stream of the table's own TOAST relation again, wherever that has free space, and deletes
 * the old value. Returns the id of the new value.
 */
Oid pfs_segment_move_stream(Relation relation, PfsSegmentInput *input, uint32 stream);

/* Encodes rows to be stored elsewhere. Returns header and payload in CurrentMemoryContext. */
void pfs_segment_encode_apart(Relation relation, const PfsRows *rows, bytea **header,
							  struct varlena **payload);

#endif
