/*
 * directory_room.c
 *		Moves directory rows into free space before them.
 *
 * Levels 0 and 1 come and go in the directory, so it grows long during a load, or while an old
 * snapshot is held. Later its space is free, except for headers and sums of the segments merged
 * last, which may lie at its end. Without further writers, they would keep the file from shrinking.
 *
 * 1. The free space map shows how many pages are filled. The mark is a little past that many.
 * 2. Rows of level 2 that reach past the mark are inserted again before it, as long as there is
 *    free space, and the old versions are deleted. Segment numbers and streams do not change.
 *    VACUUM then cuts the end off.
 */
#include "store/compact/directory_room.h"

#include "access/detoast.h"
#include "access/heaptoast.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/visibilitymap.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "base/arrays.h"
#include "base/progress.h"
#include "base/relations.h"
#include "store/compact/toast_room.h"
#include "store/segment/directory.h"
#include "store/segment/storage.h"

/* Like the limits of relocation.c for a table that still receives rows. */
#define LEAST_SPARE_PAGES 32
#define SPARE_DIVISOR	  4
#define MARK_DIVISOR	  16

typedef struct FarRows
{
	uint32 count;
	uint32 capacity;
	PfsSegmentRow *rows;
} FarRows;

bool
pfs_awaits_vacuum(Oid relation_id)
{
	Relation relation;
	BlockNumber all_visible;
	bool awaits;

	/* VACUUM itself, or a rewrite, probably holds the lock that excludes readers */
	if (!ConditionalLockRelationOid(relation_id, AccessShareLock))
		return false;
	relation = try_relation_open(relation_id, NoLock);
	if (relation == NULL)
		return false;
	/*
	 * A page that is not all-visible may have dead rows, whose space only VACUUM puts into the map.
	 */
	visibilitymap_count(relation, &all_visible, NULL);
	awaits = all_visible < RelationGetNumberOfBlocks(relation) ||
			 (OidIsValid(relation->rd_rel->reltoastrelid) &&
			  pfs_awaits_vacuum(relation->rd_rel->reltoastrelid));
	relation_close(relation, NoLock);
	return awaits;
}

/* Finds the pages of a TOASTed column value. The row itself is small, and is ignored. */
static PfsToastReach
room_locate(PfsToastValues *values, const void *value)
{
	struct varatt_external pointer;

	/* A short value lies in the row itself. */
	if (value == NULL || !VARATT_IS_EXTERNAL_ONDISK(value))
		return (PfsToastReach){ 0 };
	VARATT_EXTERNAL_GET_POINTER(pointer, value);
	return pfs_toast_locate(values, pointer.va_valueid);
}

/* Lists rows of level 2 that lie after the mark, as many as fit into the free space before it. */
static FarRows
list_far_rows(Relation relation, Relation toast, Snapshot snapshot, BlockNumber mark)
{
	uint64 room = pfs_toast_free_chunks(toast, mark, PG_UINT64_MAX);
	PfsToastValues *values = pfs_toast_values_begin(toast, snapshot);
	PfsDirectoryScan *scan = pfs_directory_scan_begin(pfs_storage_id(relation), snapshot);
	FarRows far = { 0 };
	PfsSegmentRow row;

	while (pfs_directory_scan_next(scan, &row))
	{
		PfsToastReach header;
		PfsToastReach summary;
		uint32 chunks;

		/* Rows with a payload will be merged and deleted anyway. */
		if (row.level < 2 || row.payload != NULL)
			continue;
		header = room_locate(values, row.header);
		summary = room_locate(values, row.summary);
		chunks = header.chunk_count + summary.chunk_count;
		/*
		 * Rows come in order of segment_no and not of distance, so those behind one that does not
		 * fit are tried, too.
		 */
		if (Max(header.last_page, summary.last_page) < mark || chunks > room)
			continue;
		room -= chunks;
		PFS_RESERVE(far.rows, far.capacity, far.count + 1);
		pfs_segment_row_copy(&far.rows[far.count++], &row);
	}
	pfs_directory_scan_end(scan);
	pfs_toast_values_end(values);
	return far;
}

/* Moves the rows. Returns false if another transaction has changed one of them. */
static bool
directory_room_move_rows(Relation relation, Relation toast, const FarRows *far, BlockNumber mark)
{
	PfsHiddenPages *hidden = pfs_toast_hide(toast, mark);
	PfsDirectoryWriter *writer = pfs_directory_writer_open();
	bool done = true;

	for (uint32 i = 0; i < far->count && done; i++)
		done = pfs_directory_replace(writer, pfs_storage_id(relation), &far->rows[i]);
	pfs_directory_writer_close(writer);
	pfs_toast_show(hidden);
	return done;
}

/*
 * Moves TOAST values of directory rows from the end of the relation to free space in front, if that
 * can shorten the file considerably.
 */
static PfsRelocation
room_relocate(Relation relation, Relation toast, Snapshot snapshot)
{
	BlockNumber page_count = RelationGetNumberOfBlocks(toast);
	BlockNumber filled;
	BlockNumber mark;
	FarRows far;

	if (page_count <= LEAST_SPARE_PAGES)
		return PFS_RELOCATION_NONE;
	/* Free chunks count as if they were whole free pages. */
	filled = page_count - (BlockNumber) (pfs_toast_free_chunks(toast, page_count, PG_UINT64_MAX) /
										 EXTERN_TUPLES_PER_PAGE);
	if (page_count <= filled + filled / SPARE_DIVISOR + LEAST_SPARE_PAGES)
		return PFS_RELOCATION_NONE;
	mark = filled + filled / MARK_DIVISOR;
	far = list_far_rows(relation, toast, snapshot, mark);
	if (far.count == 0)
		return PFS_RELOCATION_NONE;
	pfs_progress_set(PFS_PROGRESS_PHASE, PFS_PHASE_MOVING);
	if (!directory_room_move_rows(relation, toast, &far, mark))
		return PFS_RELOCATION_GIVEN_UP;
	/* the file has grown, so the free space map was wrong and another call would not move more */
	return RelationGetNumberOfBlocks(toast) > page_count ? PFS_RELOCATION_NONE
														 : PFS_RELOCATION_MOVED;
}

PfsRelocation
pfs_relocate_directory_rows(Relation relation, Snapshot snapshot)
{
	Relation directory = pfs_table_open("segments", RowExclusiveLock);
	Oid toast_id = directory->rd_rel->reltoastrelid;
	PfsRelocation result = PFS_RELOCATION_NONE;

	if (OidIsValid(toast_id) && ConditionalLockRelationOid(toast_id, RowExclusiveLock))
	{
		Relation toast = table_open(toast_id, NoLock);

		result = room_relocate(relation, toast, snapshot);
		table_close(toast, NoLock);
	}
	table_close(directory, NoLock);
	return result;
}
