/*
 * relocation.c
 *		Moves streams into free space before them.
 *
 * A table's TOAST relation holds segments of level 2, which mostly stay. But late rows make some of
 * them merge again, and retention removes some. While a day is written, its next segments use the
 * freed space. Later, when the table has only level 2, nothing would use it.
 *
 * 1. The bytes of the segments show how many pages they need. The mark is a little past that
 *    many.
 * 2. The index shows up to which page each stream reaches, without reading it.
 * 3. Those that reach furthest behind the mark are chosen, as many as fit into free space before
 *    it. Free space is what the free space map has: pages of streams that VACUUM has removed.
 * 4. Meanwhile the pages after the mark are removed from the map, so that no insert uses them.
 * 5. The chosen streams are saved again, the old ones deleted, and the directory rows of their
 *    segments replaced: a snapshot sees old rows and old streams, or new ones.
 */
#include "store/compact/relocation.h"

#include "access/heaptoast.h"
#include "access/table.h"
#include "access/visibilitymap.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "base/arrays.h"
#include "base/progress.h"
#include "store/compact/toast_room.h"
#include "store/segment/directory.h"
#include "store/segment/segment_input.h"
#include "store/segment/segment_write.h"
#include "store/segment/storage.h"

/*
 * Moving is worthwhile if the relation has more spare pages than LEAST_SPARE_PAGES plus a share of
 * the needed ones. The share is larger while segments are still to be merged, because they will use
 * the space. The mark lies a share after the needed pages, too. VACUUM cuts off no less than a
 * sixteenth of a file, so the share of a closed table leaves that much after the mark.
 */
#define LEAST_SPARE_PAGES	 32
#define OPEN_SPARE_DIVISOR	 4
#define OPEN_MARK_DIVISOR	 16
#define CLOSED_SPARE_DIVISOR 8
#define CLOSED_MARK_DIVISOR	 32

/* Most chunks moved by one call, which keeps the transaction short. */
#define MOST_MOVED_CHUNKS (32 * 1024 * 1024 / TOAST_MAX_CHUNK_SIZE)

/* Approximate free space that the last chunk of a stream leaves on its page. */
#define STREAM_WASTE (TOAST_MAX_CHUNK_SIZE / 2)

/* A stream that reaches past the mark. */
typedef struct FarStream
{
	uint32 segment; /* position in segments */
	uint32 stream;
	PfsToastReach reach;
} FarStream;

typedef struct Relocation
{
	Relation relation;
	Relation toast;
	Snapshot snapshot;
	BlockNumber page_count;
	BlockNumber needed;
	BlockNumber mark;
	bool is_closed; /* true if all segments are of level 2 */
	uint32 segment_count;
	uint32 segment_capacity;
	PfsSegmentRow *segments; /* the segments that have streams past the mark */
	uint32 count;
	uint32 capacity;
	FarStream *streams;
} Relocation;

static uint32
stored_stream_count(const PfsSegmentRow *row)
{
	uint32 count = 0;

	for (uint32 i = 0; i < row->stream_count; i++)
		count += OidIsValid(row->stream_ids[i]);
	return count;
}

/*
 * Estimates the pages that the segments' streams need, and finds whether all segments are of level
 * 2.
 */
static void
relocation_measure(Relocation *relocation)
{
	PfsDirectoryScan *scan =
		pfs_directory_scan_begin(pfs_storage_id(relocation->relation), relocation->snapshot);
	double bytes = 0;
	PfsSegmentRow row;

	relocation->is_closed = true;
	while (pfs_directory_scan_next(scan, &row))
	{
		relocation->is_closed &= row.level >= 2;
		if (row.stream_ids != NULL)
			bytes += (double) (row.byte_count + row.summary_byte_count) +
					 (double) stored_stream_count(&row) * STREAM_WASTE;
	}
	pfs_directory_scan_end(scan);
	relocation->needed =
		/* A page holds EXTERN_TUPLES_PER_PAGE full chunks. */
		(BlockNumber) (bytes / (TOAST_MAX_CHUNK_SIZE * EXTERN_TUPLES_PER_PAGE)) + 1;
	relocation->page_count = RelationGetNumberOfBlocks(relocation->toast);
}

/* Lists the streams of a segment that reach beyond the mark, and the segment if there are any. */
static void
list_far_streams(Relocation *relocation, PfsToastValues *values, const PfsSegmentRow *row)
{
	uint32 before = relocation->count;

	for (uint32 i = 0; i < row->stream_count; i++)
	{
		FarStream stream = { relocation->segment_count, i };

		if (!OidIsValid(row->stream_ids[i]))
			continue;
		stream.reach = pfs_toast_locate(values, row->stream_ids[i]);
		/* The file can end at the mark if no chunk lies behind it. */
		if (stream.reach.last_page < relocation->mark)
			continue;
		PFS_RESERVE(relocation->streams, relocation->capacity, relocation->count + 1);
		relocation->streams[relocation->count++] = stream;
	}
	/* Rows of segments without far streams are not kept in memory. */
	if (relocation->count == before)
		return;
	PFS_RESERVE(relocation->segments, relocation->segment_capacity, relocation->segment_count + 1);
	pfs_segment_row_copy(&relocation->segments[relocation->segment_count++], row);
}

static void
relocation_list_segments(Relocation *relocation)
{
	PfsDirectoryScan *scan =
		pfs_directory_scan_begin(pfs_storage_id(relocation->relation), relocation->snapshot);
	PfsToastValues *values = pfs_toast_values_begin(relocation->toast, relocation->snapshot);
	PfsSegmentRow row;

	while (pfs_directory_scan_next(scan, &row))
		list_far_streams(relocation, values, &row);
	pfs_toast_values_end(values);
	pfs_directory_scan_end(scan);
}

static int
compare_distance(const void *a, const void *b)
{
	BlockNumber left = ((const FarStream *) a)->reach.last_page;
	BlockNumber right = ((const FarStream *) b)->reach.last_page;

	return (left < right) - (left > right);
}

static int
relocation_compare_segments(const void *a, const void *b)
{
	uint32 left = ((const FarStream *) a)->segment;
	uint32 right = ((const FarStream *) b)->segment;

	return (left > right) - (left < right);
}

/*
 * Keeps as many streams as there is space for, the furthest from the start first, and sorts them by
 * segment. Stops at the first stream that does not fit: smaller ones nearer to the start may fit,
 * but the file would still end after that stream.
 */
static void
relocation_choose(Relocation *relocation)
{
	uint64 room;
	uint64 chunks = 0;
	uint32 count = 0;

	if (relocation->count == 0)
		return;
	qsort(relocation->streams, relocation->count, sizeof(FarStream), compare_distance);
	/* the first stream is moved even if it alone exceeds the limit of one call */
	room = pfs_toast_free_chunks(relocation->toast, relocation->mark,
								 Max(relocation->streams[0].reach.chunk_count, MOST_MOVED_CHUNKS));
	for (; count < relocation->count; count++)
	{
		chunks += relocation->streams[count].reach.chunk_count;
		if (chunks > room || (count > 0 && chunks > MOST_MOVED_CHUNKS))
			break;
	}
	relocation->count = count;
	qsort(relocation->streams, count, sizeof(FarStream), relocation_compare_segments);
}

/*
 * Moves the chosen streams of one segment. Returns false if another transaction has changed its
 * row.
 */
static bool
move_streams(const Relocation *relocation, const FarStream *streams, uint32 count)
{
	PfsSegmentRow row = relocation->segments[streams[0].segment];
	PfsSegmentInput *input = pfs_segment_open(relocation->relation, &row);
	/* The old ids stay valid in row until input has read the streams by them. */
	Oid *ids = memcpy(palloc(sizeof(Oid) * row.stream_count), row.stream_ids,
					  sizeof(Oid) * row.stream_count);
	PfsDirectoryWriter *writer = pfs_directory_writer_open();
	bool done;

	for (uint32 i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		ids[streams[i].stream] =
			pfs_segment_move_stream(relocation->relation, input, streams[i].stream);
	}
	row.stream_ids = ids;
	/*
	 * New streams are written first. If the row cannot be replaced, the caller's subtransaction
	 * rolls them back.
	 */
	done = pfs_directory_replace(writer, pfs_storage_id(relocation->relation), &row);
	pfs_directory_writer_close(writer);
	return done;
}

/*
 * Moves the chosen streams, those of one segment together. Returns false if another transaction has
 * changed a segment.
 */
static bool
move_chosen(const Relocation *relocation)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "profstore relocation", ALLOCSET_DEFAULT_SIZES);
	MemoryContext outer = MemoryContextSwitchTo(context);
	uint32 first = 0;
	bool done = true;

	while (first < relocation->count && done)
	{
		const FarStream *streams = &relocation->streams[first];
		uint32 count = 1;

		/* A segment's row is replaced once, with all of its new ids. */
		while (first + count < relocation->count && streams[count].segment == streams[0].segment)
			count++;
		done = move_streams(relocation, streams, count);
		pfs_progress_add(PFS_PROGRESS_SEGMENTS_DONE, 1);
		first += count;
		MemoryContextReset(context);
	}
	MemoryContextSwitchTo(outer);
	MemoryContextDelete(context);
	return done;
}

/* Returns true if VACUUM may find free space that the map does not have. */
static bool
has_dead_pages(const Relocation *relocation)
{
	BlockNumber all_visible;

	visibilitymap_count(relocation->toast, &all_visible, NULL);
	return all_visible < relocation->page_count;
}

/*
 * Moves streams that lie after the mark to free space before it, if the relation has enough spare
 * pages to shorten its file. Pages after the mark are hidden from the free space map meanwhile, so
 * that new chunks go to the front.
 */
static PfsRelocation
segment_relocate(Relocation *relocation)
{
	PfsHiddenPages *hidden;
	BlockNumber spare;
	bool reaches_far;
	bool done;

	relocation_measure(relocation);
	spare =
		relocation->needed / (relocation->is_closed ? CLOSED_SPARE_DIVISOR : OPEN_SPARE_DIVISOR);
	/* Less than this is not worth the WAL of moving. */
	if (relocation->page_count <= relocation->needed + spare + LEAST_SPARE_PAGES)
		return PFS_RELOCATION_NONE;
	relocation->mark =
		relocation->needed +
		relocation->needed / (relocation->is_closed ? CLOSED_MARK_DIVISOR : OPEN_MARK_DIVISOR);
	relocation_list_segments(relocation);
	reaches_far = relocation->count > 0;
	relocation_choose(relocation);
	/* No stream can be moved. If VACUUM may find dead rows, there may be room after it. */
	if (relocation->count == 0)
		return reaches_far && !has_dead_pages(relocation) ? PFS_RELOCATION_NONE
														  : PFS_RELOCATION_AWAITS_VACUUM;
	pfs_progress_set(PFS_PROGRESS_PHASE, PFS_PHASE_MOVING);
	pfs_progress_set(PFS_PROGRESS_SEGMENTS_TOTAL, relocation->segment_count);
	pfs_progress_set(PFS_PROGRESS_SEGMENTS_DONE, 0);
	/*
	 * toast_save_datum() takes any page that the map offers, so only pages before the mark may be
	 * in it.
	 */
	hidden = pfs_toast_hide(relocation->toast, relocation->mark);
	done = move_chosen(relocation);
	pfs_toast_show(hidden);
	if (!done)
		return PFS_RELOCATION_GIVEN_UP;
	/* the file has grown, so the free space map was wrong and another call would not move more */
	return RelationGetNumberOfBlocks(relocation->toast) > relocation->page_count
			   ? PFS_RELOCATION_AWAITS_VACUUM
			   : PFS_RELOCATION_MOVED;
}

PfsRelocation
pfs_relocate_streams(Relation relation, Snapshot snapshot)
{
	Oid toast_id = relation->rd_rel->reltoastrelid;
	Relocation relocation = { .relation = relation, .snapshot = snapshot };
	PfsRelocation result;

	/* VACUUM FULL or REINDEX may hold the relation; moving can wait for the next step. */
	if (!OidIsValid(toast_id) || !ConditionalLockRelationOid(toast_id, RowExclusiveLock))
		return PFS_RELOCATION_NONE;
	relocation.toast = table_open(toast_id, NoLock);
	result = segment_relocate(&relocation);
	table_close(relocation.toast, NoLock);
	return result;
}
