/*
 * segment_write.h
 *		Writing a segment, and where its bytes lie.
 *
 * What will be merged again, levels 0 and 1, has all streams in one value beside the directory row,
 * in the row itself where it is small, else in the directory's TOAST relation: all tables write
 * there by turns, so VACUUM's room is used again. What stays, level 2, has a value for each stream
 * in the table's own TOAST relation, which thus has nothing that goes soon. A table without one
 * (heap tables of fixed-width columns have none, and SET ACCESS METHOD does not add it) packs at
 * every level.
 *
 * From level 1 on, tables of sums (summary.h) stand beside the rows: their streams behind those of
 * the rows, numbered on, their headers in the directory row.
 */
#ifndef PFS_SEGMENT_WRITE_H
#define PFS_SEGMENT_WRITE_H

#include "profstore.h"

#include "utils/relcache.h"

#include "store/segment/directory.h"
#include "store/segment/row_order.h"
#include "store/segment/segment_input.h"

/* Rows that a transaction brings make level 0, more of them level 1. */
#define PFS_SMALL_MAX_ROWS 16384

/* No segment of level 1 that a writer made has more rows, nor is a larger one encoded quickly. */
#define PFS_QUICK_MAX_ROWS 131072

/* Encodes the rows and writes payload and directory row. Needs an active snapshot. */
void pfs_segment_write(Relation relation, int64 storage_id, PfsDirectoryWriter *writer,
					   const PfsRows *rows, CommandId command_id);

/*
 * The same for rows that a merge has brought together. Level 1 will be merged again, so it is
 * packed, and encoded with little effort where it is small: much of it, in buckets that are open,
 * would be most of a young table. Level 2 stays, so it is encoded densely and lies in the table's
 * own TOAST relation.
 */
void pfs_segment_write_merged(Relation relation, int64 storage_id, PfsDirectoryWriter *writer,
							  const PfsRows *rows, CommandId command_id, int16 level);

/*
 * Saves a stream of the table's own TOAST relation once more, wherever that has room, and deletes
 * the old one. Returns the new value's id.
 */
Oid pfs_segment_move_stream(Relation relation, PfsSegmentInput *input, uint32 stream);

/* Encodes rows to be kept elsewhere, in two values of CurrentMemoryContext. */
void pfs_segment_encode_apart(Relation relation, const PfsRows *rows, bytea **header,
							  struct varlena **payload);

#endif
