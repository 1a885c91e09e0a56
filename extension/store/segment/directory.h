/*
 * directory.h
 *		Rows of profstore.segments, the directory: one per segment. They alone decide whether a
 *		segment is visible.
 *
 * A row is inserted under the command id of the rows that its segment holds, so a snapshot sees a
 * segment exactly if it would see those rows in a heap table. Inserting takes no lock but
 * RowExclusiveLock on the directory.
 */
#ifndef PFS_DIRECTORY_H
#define PFS_DIRECTORY_H

#include "profstore.h"

#include "storage/itemptr.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"

/* Smallest and largest value of a column over a segment. */
typedef struct PfsRange
{
	bool known; /* false: the table has no such column, or it is null in all rows */
	int64 min;
	int64 max;
} PfsRange;

typedef struct PfsSegmentRow
{
	ItemPointerData address; /* address of the directory row, as it was read */
	int64 segment_no;
	int64 byte_count;		  /* bytes of the rows' streams */
	int64 summary_byte_count; /* bytes of the sums' streams */
	PfsRange time;
	PfsRange key;
	int32 row_count;
	int16 level;
	bytea *header; /* in a copy: detoasted, with a 4-byte length word */
	/*
	 * headers of the segment's tables of sums (segment_input.c), or NULL; detoasted if the row is a
	 * copy
	 */
	bytea *summary;
	uint32 stream_count; /* length of stream_ids */
	/*
	 * ids of the streams' values in the table's TOAST relation; NULL if the streams are in payload
	 */
	const Oid *stream_ids;
	/* all streams as one value, inline or as a TOAST pointer; NULL if stream_ids is set */
	struct varlena *payload;
} PfsSegmentRow;

typedef struct PfsDirectoryWriter PfsDirectoryWriter;

/*
 * Locks the directory, the roll-ups and the ledger in RowExclusiveLock, until the end of the
 * transaction. Call it before reading rows in order to delete them, because VACUUM FULL and CLUSTER
 * give rows other addresses. Returns false, instead of waiting, if a lock is not available.
 */
bool pfs_directory_try_lock(void);

/*
 * Opens the directory for inserts and deletes by the current (sub)transaction. Needs an active
 * snapshot.
 */
PfsDirectoryWriter *pfs_directory_writer_open(void);
/* Inserts a row under a new segment number, which it stores in row->segment_no. */
void pfs_directory_insert(PfsDirectoryWriter *writer, int64 storage_id, PfsSegmentRow *row,
						  CommandId command_id);
/*
 * Deletes a row that was read after the directory was locked. Returns false if another transaction
 * has deleted it. Raises an error if another row stands at its address.
 */
bool pfs_directory_remove(PfsDirectoryWriter *writer, int64 storage_id, const PfsSegmentRow *row);
/*
 * Like pfs_directory_remove(), but then inserts the row again under its segment number, with the
 * fields as the caller has changed them.
 */
bool pfs_directory_replace(PfsDirectoryWriter *writer, int64 storage_id, const PfsSegmentRow *row);
/*
 * Reads the row at an address into CurrentMemoryContext, like pfs_segment_row_copy(). Returns false
 * if the snapshot does not see a row there.
 */
bool pfs_directory_fetch(PfsDirectoryWriter *writer, Snapshot snapshot,
						 const ItemPointerData *address, PfsSegmentRow *row);
void pfs_directory_writer_close(PfsDirectoryWriter *writer); /* keeps the lock */

typedef struct PfsDirectoryScan PfsDirectoryScan;

/*
 * Scans the rows of a storage that the snapshot sees, in order of segment_no. The snapshot must
 * stay active or registered until the last payload has been read. A row's pointers are valid until
 * the next call; pfs_segment_row_copy() copies a row into CurrentMemoryContext.
 */
PfsDirectoryScan *pfs_directory_scan_begin(int64 storage_id, Snapshot snapshot);
/*
 * Scans all rows that any snapshot may still see. The caller must keep the table from being
 * written.
 */
PfsDirectoryScan *pfs_directory_scan_begin_nonvacuumable(int64 storage_id);
bool pfs_directory_scan_next(PfsDirectoryScan *scan, PfsSegmentRow *row);
void pfs_directory_scan_end(PfsDirectoryScan *scan);
void pfs_segment_row_copy(PfsSegmentRow *copy, const PfsSegmentRow *row);

/*
 * Deletes all rows of a storage, whichever transaction wrote them. The caller holds
 * AccessExclusiveLock on its table. Does nothing if the directory is gone, as in DROP EXTENSION …
 * CASCADE.
 */
void pfs_directory_delete(int64 storage_id);

typedef struct PfsDirectoryTotals
{
	double segment_count;
	double row_count;
	double byte_count;
} PfsDirectoryTotals;

PfsDirectoryTotals pfs_directory_totals(int64 storage_id, Snapshot snapshot);

#endif
