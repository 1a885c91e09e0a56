/*
 * directory.h
 *		Rows of profstore.segments: one per segment, and the only thing that decides a segment's
 *		visibility.
 *
 * Rows are inserted under the command id of the rows that they stand for, so a snapshot sees a
 * segment exactly where it would see heap rows. Inserting takes no lock but RowExclusiveLock on the
 * directory.
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
	bool known; /* false: the table lacks the column, or it is null in all rows */
	int64 min;
	int64 max;
} PfsRange;

typedef struct PfsSegmentRow
{
	ItemPointerData address; /* of the directory row, where it was read */
	int64 segment_no;
	int64 byte_count;		  /* of the rows' streams */
	int64 summary_byte_count; /* of the streams of sums */
	PfsRange time;
	PfsRange key;
	int32 row_count;
	int16 level;
	bytea *header;			 /* in a copy: detoasted, with a 4-byte length word */
	bytea *summary;			 /* the same of the headers of sums, or NULL; see segment_input.c */
	uint32 stream_count;	 /* length of stream_ids */
	const Oid *stream_ids;	 /* values in the table's TOAST relation, or NULL: see payload */
	struct varlena *payload; /* all streams, inline or a TOAST pointer; NULL: see stream_ids */
} PfsSegmentRow;

typedef struct PfsDirectoryWriter PfsDirectoryWriter;

/*
 * Keeps what is in the directory, and in the roll-ups beside it, where it is until the transaction
 * ends: who reads rows in order to delete them locks first, since VACUUM FULL and CLUSTER give them
 * other addresses. Takes what a writer takes, but waits for nobody: false where a lock is not to be
 * had.
 */
bool pfs_directory_try_lock(void);

/* Opens the directory for inserts by the current (sub)transaction; needs an active snapshot. */
PfsDirectoryWriter *pfs_directory_writer_open(void);
/* Inserts a row and sets its segment_no. */
void pfs_directory_insert(PfsDirectoryWriter *writer, int64 storage_id, PfsSegmentRow *row,
						  CommandId command_id);
/*
 * Deletes a row that was read while the writer was open; false where another transaction has
 * touched it. Raises an error where another row stands at its address.
 */
bool pfs_directory_remove(PfsDirectoryWriter *writer, int64 storage_id, const PfsSegmentRow *row);
/*
 * The same, and inserts the row again under its number, with what the caller has changed in it.
 */
bool pfs_directory_replace(PfsDirectoryWriter *writer, int64 storage_id, const PfsSegmentRow *row);
void pfs_directory_writer_close(PfsDirectoryWriter *writer); /* keeps the lock */

typedef struct PfsDirectoryScan PfsDirectoryScan;

/*
 * Rows of a storage that the snapshot sees, in order of segment_no. The snapshot stays active or
 * registered until the last payload has been read. A row's pointers hold until the next call;
 * pfs_segment_row_copy makes a copy in CurrentMemoryContext.
 */
PfsDirectoryScan *pfs_directory_scan_begin(int64 storage_id, Snapshot snapshot);
/* All rows that any snapshot may still see; the caller keeps the rows' table from being written. */
PfsDirectoryScan *pfs_directory_scan_begin_nonvacuumable(int64 storage_id);
bool pfs_directory_scan_next(PfsDirectoryScan *scan, PfsSegmentRow *row);
void pfs_directory_scan_end(PfsDirectoryScan *scan);
void pfs_segment_row_copy(PfsSegmentRow *copy, const PfsSegmentRow *row);

/*
 * Deletes all rows of a storage, whoever wrote them; the caller holds AccessExclusiveLock on its
 * table. Does nothing where the directory itself is gone, as in DROP EXTENSION … CASCADE.
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
