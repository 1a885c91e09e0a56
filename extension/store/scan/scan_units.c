/*
 * scan_units.c
 *		Lists segments, waiting rows and roll-ups for a scan.
 */
#include "store/scan/scan_units.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "base/arrays.h"
#include "codec/segment.h"
#include "store/scan/block_filter.h"
#include "store/scan/rollup.h"
#include "store/segment/codec_server.h"
#include "store/segment/row_order.h"
#include "store/segment/segment_input.h"
#include "store/segment/storage.h"
#include "store/segment/value.h"
#include "store/write/observers.h"
#include "store/write/write_buffer.h"

static uint32
scan_unit_row_count(const PfsScanUnit *unit)
{
	return unit->image != NULL ? unit->image->row_count : (uint32) unit->row.row_count;
}

uint32
pfs_scan_unit_block_count(const PfsScanUnit *unit)
{
	return (scan_unit_row_count(unit) + PFS_BLOCK_ROWS - 1) / PFS_BLOCK_ROWS;
}

uint64
pfs_scan_unit_chunk_count(const PfsScanUnit *unit)
{
	return (pfs_scan_unit_block_count(unit) + PFS_CHUNK_BLOCKS - 1) / PFS_CHUNK_BLOCKS;
}

static PfsScanUnit *
add_unit(PfsScanUnits *units)
{
	PFS_RESERVE(units->units, units->capacity, units->count + 1);
	memset(&units->units[units->count], 0, sizeof(PfsScanUnit));
	return &units->units[units->count++];
}

static bool
range_overlaps(Relation relation, const PfsBlockFilter *filter, int64 min, int64 max)
{
	Oid type = TupleDescAttr(RelationGetDescr(relation), filter->attnum - 1)->atttypid;

	pfs_value_key_range(pfs_value_kind(type), &min, &max);
	return pfs_filter_overlaps(filter, min, max);
}

/*
 * Returns true if the segment's header shows that no row passes the filter. An unreadable header
 * returns false, so that the segment is read and the damage reported.
 */
static bool
header_rules_out(Relation relation, const PfsBlockFilter *filter, const PfsSegmentRow *row)
{
	bytea *header = (bytea *) PG_DETOAST_DATUM_PACKED(PointerGetDatum(row->header));
	bool rules_out = false;
	PfsSegmentReader *reader;
	PfsError error;

	if (pfs_reader_open((const uint8_t *) VARDATA_ANY(header), VARSIZE_ANY_EXHDR(header),
						pfs_palloc_allocator(CurrentMemoryContext), &reader, &error) == PFS_OK)
	{
		int column = pfs_reader_find_column(reader, filter->attnum);
		int64 min;
		int64 max;

		/*
		 * A segment without the column has its missing value in all rows, which open_unit.c tests.
		 */
		if (column >= 0)
			/* A column without a range is null in all rows, which no range passes. */
			rules_out = !pfs_reader_column_range(reader, column, &min, &max) ||
						!range_overlaps(relation, filter, min, max);
		pfs_reader_close(reader);
	}
	if (header != row->header)
		pfree(header);
	return rules_out;
}

/*
 * Returns true if rows of the segment may pass the filters. The directory's ranges are tested
 * first, because that is quick. But they are those of the columns that were named time and
 * series_id when the segment was written, so the header decides.
 */
static bool
may_match(const PfsScanRequest *request, const PfsSegmentRow *row, const PfsRowKey *key)
{
	for (int i = 0; i < request->filter_count; i++)
	{
		const PfsBlockFilter *filter = &request->filters[i];
		/* Only time and series have ranges in the directory. */
		const PfsRange *range = filter->attnum == key->time		? &row->time
								: filter->attnum == key->series ? &row->key
																: NULL;

		if (range != NULL && range->known && !filter->keeps_nulls &&
			!range_overlaps(request->relation, filter, range->min, range->max) &&
			header_rules_out(request->relation, filter, row))
			return false;
	}
	return true;
}

/* Records a segment's number; numbers come in ascending order. */
static void
note_visible(PfsScanUnits *units, int64 segment_no, uint32 *capacity)
{
	int64 *numbers = unconstify(int64 *, units->visible.numbers);

	PFS_RESERVE(numbers, *capacity, units->visible.count + 1);
	units->visible.numbers = numbers;
	numbers[units->visible.count++] = segment_no;
}

/*
 * Lists the segments that the snapshot sees and that may have matching rows. In a shared scan the
 * others are also listed, marked as skipped, so that all processes number the units alike.
 */
static void
scan_units_list_segments(const PfsScanRequest *request, PfsScanUnits *units)
{
	int64 storage_id = pfs_storage_id(request->relation);
	PfsRowKey key = pfs_row_key(request->relation);
	uint32 visible_capacity = 0;
	PfsDirectoryScan *scan;
	PfsSegmentRow row;

	pfs_observers_check(request->relation, storage_id, request->snapshot);
	scan = pfs_directory_scan_begin(storage_id, request->snapshot);
	while (pfs_directory_scan_next(scan, &row))
	{
		CHECK_FOR_INTERRUPTS();
		/* Segments that the caller did not name are treated as if they did not exist. */
		if (request->segments != NULL && !pfs_numbers_contain(*request->segments, row.segment_no))
			continue;
		note_visible(units, row.segment_no, &visible_capacity);
		if (may_match(request, &row, &key))
			pfs_segment_row_copy(&add_unit(units)->row, &row);
		else if (request->shared != NULL)
		{
			PfsScanUnit *unit = add_unit(units);

			unit->is_skipped = true;
			/* The number of rows gives the number of chunks, so processes number them alike. */
			unit->row.row_count = row.row_count;
		}
		else
			units->skipped_count++;
	}
	pfs_directory_scan_end(scan);
}

static void
list_images(const char *images, Size bytes, PfsScanUnits *units)
{
	const char *end = images + bytes;

	while (images < end)
	{
		const PfsRowImage *image = (const PfsRowImage *) images;

		add_unit(units)->image = image;
		images += image->bytes;
	}
}

/* Copies and lists this transaction's rows that wait in memory. */
static void
list_waiting_rows(Relation relation, PfsScanUnits *units)
{
	int64 storage_id = pfs_storage_id(relation);
	Size bytes = pfs_write_buffer_image_bytes(storage_id);
	char *images;

	if (bytes == 0)
		return;
	images = MemoryContextAllocHuge(CurrentMemoryContext, bytes);
	pfs_write_buffer_image_make(storage_id, images);
	list_images(images, bytes, units);
}

static void
scan_units_count_rows(PfsScanUnits *units)
{
	uint64 chunk_count = 0;

	units->row_count = 0;
	units->block_count = 0;
	for (uint32 i = 0; i < units->count; i++)
	{
		units->units[i].first_block = units->block_count;
		units->units[i].first_chunk = chunk_count;
		chunk_count += pfs_scan_unit_chunk_count(&units->units[i]);
		units->row_count += scan_unit_row_count(&units->units[i]);
		units->block_count += pfs_scan_unit_block_count(&units->units[i]);
	}
}

void
pfs_scan_units_list(const PfsScanRequest *request, PfsScanUnits *units)
{
	const PfsSharedScan *shared = request->shared;

	memset(units, 0, sizeof(*units));
	scan_units_list_segments(request, units);
	/*
	 * The leader has copied the waiting rows into shared memory; workers have no write buffer of
	 * their own.
	 */
	if (shared != NULL)
		list_images(pfs_shared_scan_images(shared), shared->image_bytes, units);
	else if (request->segments == NULL)
		list_waiting_rows(request->relation, units);
	scan_units_count_rows(units);
}

/* Returns true if the roll-up has sums of all attributes. */
static bool
has_attributes(const PfsScanRequest *request, const PfsSegmentRow *row)
{
	/* Opening reads the header only, which is in memory. */
	PfsSegmentReader *reader = pfs_segment_reader(pfs_segment_open(request->relation, row));

	for (int i = 0; i < request->attribute_count; i++)
		if (pfs_reader_find_column(reader, request->attnums[i]) < 0)
			return false;
	return true;
}

/*
 * Returns true if the snapshot sees all segments of the roll-up, and no other roll-up replaces one
 * of them.
 */
static bool
is_free(const PfsRollup *rollup, const PfsScanUnits *units, const bool *taken)
{
	for (uint32 i = 0; i < rollup->segments.count; i++)
	{
		int64 position = pfs_numbers_find(units->visible, rollup->segments.numbers[i]);

		/*
		 * A segment that the snapshot does not see would add rows that must not be counted; one
		 * that is taken would count twice.
		 */
		if (position < 0 || taken[position])
			return false;
	}
	return true;
}

/* Removes the units of the roll-up's segments. Returns their number. */
static uint32
remove_units(const PfsRollup *rollup, PfsScanUnits *units)
{
	uint32 kept = 0;
	uint32 removed;

	for (uint32 i = 0; i < units->count; i++)
	{
		const PfsScanUnit *unit = &units->units[i];

		if (unit->image != NULL || unit->is_rollup ||
			!pfs_numbers_contain(rollup->segments, unit->row.segment_no))
			/* Waiting rows and other roll-ups stay. */
			units->units[kept++] = *unit;
	}
	removed = units->count - kept;
	units->count = kept;
	return removed;
}

/* Returns the range of time that the filters keep. A roll-up must lie within it to be used. */
static void
get_time_range(const PfsScanRequest *request, int64 *low, int64 *high)
{
	AttrNumber time = pfs_row_key(request->relation).time;

	*low = PG_INT64_MIN;
	*high = PG_INT64_MAX;
	for (int i = 0; i < request->filter_count; i++)
		if (request->filters[i].attnum == time)
		{
			/* Filters are combined by AND, so the range is their intersection. */
			*low = Max(*low, request->filters[i].low);
			*high = Min(*high, request->filters[i].high);
		}
}

/*
 * Returns true if a wider roll-up that was chosen covers the time of this one, so that this one
 * need not be loaded.
 */
static bool
lies_within(const PfsRollup *rollup, List *chosen)
{
	ListCell *cell;

	foreach(cell, chosen)
	{
		const PfsRollup *wider = lfirst(cell);

		if (rollup->class_id == wider->class_id && rollup->time_min >= wider->time_min &&
			rollup->time_max <= wider->time_max)
			return true;
	}
	return false;
}

/* Adds a unit that is read as a segment of sums. Returns false if it lacks an attribute. */
static bool
add_sums(const PfsScanRequest *request, const PfsRollup *sums, PfsScanUnit unit, List **added)
{
	PfsScanUnit *copy = palloc(sizeof(PfsScanUnit));

	unit.is_rollup = true;
	unit.row.row_count = sums->stack_count;
	unit.row.header = sums->header;
	unit.row.payload = sums->payload;
	if (!has_attributes(request, &unit.row))
		return false;
	*copy = unit;
	*added = lappend(*added, copy);
	return true;
}

/* Adds the pieces of a roll-up. Returns false if one of them does not exist. */
static bool
add_pieces(const PfsScanRequest *request, const PfsRollup *rollup, PfsNumbers pieces, List **added)
{
	int64 storage_id = pfs_storage_id(request->relation);

	for (uint32 i = 0; i < pieces.count; i++)
	{
		const PfsRollup *piece =
			pfs_rollup_get_piece(storage_id, request->snapshot, rollup, (int32) pieces.numbers[i]);

		/* All wanted pieces or none: the units that were added so far are dropped by the caller. */
		if (piece == NULL || piece->stack_count == 0 ||
			!add_sums(request, piece, (PfsScanUnit){ .has_series = true }, added))
			return false;
	}
	return true;
}

/* Returns the units of a roll-up that suit the request; NIL: none. */
static List *
list_sums(const PfsScanRequest *request, const PfsRollup *rollup)
{
	PfsScanUnit unit = { 0 };
	List *added = NIL;
	PfsNumbers pieces = { 0 };
	bool suit;

	/*
	 * The sums by stack are shorter than those by series and stack, so pieces are the second
	 * choice.
	 */
	if (pfs_rollup_suits(rollup, request->relation, request->filter_count, request->filters,
						 &unit.parts))
		suit = add_sums(request, rollup, unit, &added);
	else
		suit = pfs_rollup_pieces_suit(rollup, request->relation, request->filter_count,
									  request->filters, &pieces) &&
			   add_pieces(request, rollup, pieces, &added);
	return suit ? added : NIL;
}

/* Replaces the segments that a roll-up names by the roll-up or its pieces. */
static void
take_sums(const PfsRollup *rollup, List *added, PfsScanUnits *units, bool *taken)
{
	uint32 rolled_up = remove_units(rollup, units);
	ListCell *cell;

	for (uint32 i = 0; i < rollup->segments.count; i++)
		/* is_free() has found every one of these segments, so the position is valid. */
		taken[pfs_numbers_find(units->visible, rollup->segments.numbers[i])] = true;
	/* The range or the filters have skipped every segment of the roll-up already. */
	if (rolled_up == 0)
		return;
	foreach(cell, added)
	{
		PfsScanUnit *unit = add_unit(units);

		*unit = *(PfsScanUnit *) lfirst(cell);
		/* The number of replaced segments is counted once, with the first unit. */
		unit->rolled_up = cell == list_head(added) ? rolled_up : 0;
	}
}

void
pfs_scan_units_roll_up(const PfsScanRequest *request, PfsScanUnits *units)
{
	bool *taken = palloc0(sizeof(bool) * Max(units->visible.count, 1));
	List *rollups = NIL;
	List *chosen = NIL;
	ListCell *cell;
	int64 low;
	int64 high;

	get_time_range(request, &low, &high);
	/* with a single segment a roll-up saves nothing */
	if (units->visible.count - units->skipped_count > 1)
		rollups = pfs_rollups_list(pfs_storage_id(request->relation), request->snapshot, low, high);
	foreach(cell, rollups)
	{
		PfsRollup *rollup = lfirst(cell);
		List *added;

		CHECK_FOR_INTERRUPTS();
		/*
		 * The list begins with the widest roll-ups. One without sums only marks a bucket that is
		 * not worth rolling up.
		 */
		if (rollup->width >= request->rollup_width || rollup->stack_count == 0 ||
			!pfs_rollup_fits(rollup, request->relation) || lies_within(rollup, chosen))
			continue;
		pfs_rollup_load(rollup);
		if (!is_free(rollup, units, taken))
			continue;
		added = list_sums(request, rollup);
		if (added == NIL)
			continue;
		chosen = lappend(chosen, rollup);
		take_sums(rollup, added, units, taken);
	}
	scan_units_count_rows(units);
}

PfsNumbers
pfs_visible_segments(Relation relation, Snapshot snapshot)
{
	PfsScanRequest request = { .relation = relation, .snapshot = snapshot };
	PfsScanUnits units;

	pfs_scan_units_list(&request, &units);
	return units.visible;
}
