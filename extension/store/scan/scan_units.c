/*
 * scan_units.c
 *		Listing segments and waiting rows for a scan.
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
#include "store/segment/lane.h"
#include "store/segment/row_order.h"
#include "store/segment/segment_input.h"
#include "store/segment/storage.h"
#include "store/write/observers.h"
#include "store/write/write_buffer.h"

uint32
pfs_scan_unit_row_count(const PfsScanUnit *unit)
{
	return unit->image != NULL ? unit->image->row_count : (uint32) unit->row.row_count;
}

uint32
pfs_scan_unit_block_count(const PfsScanUnit *unit)
{
	return (pfs_scan_unit_row_count(unit) + PFS_BLOCK_ROWS - 1) / PFS_BLOCK_ROWS;
}

uint64
pfs_scan_unit_chunk_count(const PfsScanUnit *unit)
{
	return (pfs_scan_unit_block_count(unit) + PFS_CHUNK_BLOCKS - 1) / PFS_CHUNK_BLOCKS;
}

static PfsScanUnit *
add_unit(PfsScanUnits *units, uint32 *capacity)
{
	PFS_RESERVE(units->units, *capacity, units->count + 1);
	memset(&units->units[units->count], 0, sizeof(PfsScanUnit));
	return &units->units[units->count++];
}

static bool
range_overlaps(Relation relation, const PfsBlockFilter *filter, int64 min, int64 max)
{
	Oid type = TupleDescAttr(RelationGetDescr(relation), filter->attnum - 1)->atttypid;

	pfs_lane_key_range(pfs_lane_kind(type), &min, &max);
	return pfs_filter_overlaps(filter, min, max);
}

/*
 * Whether the segment's header says that no row passes the filter. A header that cannot be read is
 * the reader's to report.
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

		if (column >= 0)
			rules_out = !pfs_reader_column_range(reader, column, &min, &max) ||
						!range_overlaps(relation, filter, min, max);
		pfs_reader_close(reader);
	}
	if (header != row->header)
		pfree(header);
	return rules_out;
}

/*
 * Whether a segment is left by the filters. The directory tells quickly, but what it calls time and
 * series are the columns that had these names when the segment was written; so the header has the
 * last word.
 */
static bool
may_match(Relation relation, const PfsSegmentRow *row, const PfsRowKey *key, int filter_count,
		  const PfsBlockFilter *filters)
{
	for (int i = 0; i < filter_count; i++)
	{
		const PfsBlockFilter *filter = &filters[i];
		const PfsRange *range = filter->attnum == key->time		? &row->time
								: filter->attnum == key->series ? &row->key
																: NULL;

		if (range != NULL && range->known && !filter->keeps_nulls &&
			!range_overlaps(relation, filter, range->min, range->max) &&
			header_rules_out(relation, filter, row))
			return false;
	}
	return true;
}

/* Keeps a segment's number; they come in ascending order. */
static void
note_visible(PfsScanUnits *units, int64 segment_no, uint32 *capacity)
{
	int64 *numbers = unconstify(int64 *, units->visible.numbers);

	PFS_RESERVE(numbers, *capacity, units->visible.count + 1);
	units->visible.numbers = numbers;
	numbers[units->visible.count++] = segment_no;
}

/* only: NULL, or the segments to list. */
static void
list_segments(Relation relation, Snapshot snapshot, int filter_count, const PfsBlockFilter *filters,
			  bool is_shared, const PfsNumbers *only, PfsScanUnits *units, uint32 *capacity)
{
	PfsRowKey key = pfs_row_key(relation);
	PfsDirectoryScan *scan;
	uint32 visible_capacity = 0;
	PfsSegmentRow row;

	pfs_observers_check(relation, pfs_storage_id(relation), snapshot);
	scan = pfs_directory_scan_begin(pfs_storage_id(relation), snapshot);

	while (pfs_directory_scan_next(scan, &row))
	{
		CHECK_FOR_INTERRUPTS();
		if (only != NULL && !pfs_numbers_contain(*only, row.segment_no))
			continue;
		note_visible(units, row.segment_no, &visible_capacity);
		if (may_match(relation, &row, &key, filter_count, filters))
			pfs_segment_row_copy(&add_unit(units, capacity)->row, &row);
		else if (is_shared)
		{
			PfsScanUnit *unit = add_unit(units, capacity);

			unit->is_skipped = true;
			unit->row.row_count = row.row_count;
		}
		else
			units->skipped_count++;
	}
	pfs_directory_scan_end(scan);
}

static void
list_images(const char *images, Size bytes, PfsScanUnits *units, uint32 *capacity)
{
	const char *end = images + bytes;

	while (images < end)
	{
		const PfsRowImage *image = (const PfsRowImage *) images;

		add_unit(units, capacity)->image = image;
		images += image->bytes;
	}
}

static const char *
shared_images(const PfsSharedScan *shared)
{
	return (const char *) shared + MAXALIGN(sizeof(PfsSharedScan));
}

static void
count_rows(PfsScanUnits *units)
{
	uint64 chunk_count = 0;

	units->row_count = 0;
	units->block_count = 0;
	for (uint32 i = 0; i < units->count; i++)
	{
		units->units[i].first_block = units->block_count;
		units->units[i].first_chunk = chunk_count;
		chunk_count += pfs_scan_unit_chunk_count(&units->units[i]);
		units->row_count += pfs_scan_unit_row_count(&units->units[i]);
		units->block_count += pfs_scan_unit_block_count(&units->units[i]);
	}
}

void
pfs_scan_units_list(Relation relation, Snapshot snapshot, int filter_count,
					const PfsBlockFilter *filters, const PfsSharedScan *shared, PfsScanUnits *units)
{
	uint32 capacity = 0;

	memset(units, 0, sizeof(*units));
	list_segments(relation, snapshot, filter_count, filters, shared != NULL, NULL, units,
				  &capacity);
	if (shared != NULL)
		list_images(shared_images(shared), shared->image_bytes, units, &capacity);
	else
	{
		int64 storage_id = pfs_storage_id(relation);
		Size bytes = pfs_write_buffer_image_bytes(storage_id);

		if (bytes > 0)
		{
			char *images = MemoryContextAllocHuge(CurrentMemoryContext, bytes);

			pfs_write_buffer_image_make(storage_id, images);
			list_images(images, bytes, units, &capacity);
		}
	}
	count_rows(units);
}

void
pfs_scan_units_list_segments(Relation relation, Snapshot snapshot, int filter_count,
							 const PfsBlockFilter *filters, PfsNumbers segments,
							 PfsScanUnits *units)
{
	uint32 capacity = 0;

	memset(units, 0, sizeof(*units));
	list_segments(relation, snapshot, filter_count, filters, false, &segments, units, &capacity);
	count_rows(units);
}

/* Whether the roll-up has sums of all attributes. */
static bool
has_attributes(Relation relation, const PfsSegmentRow *row, int attribute_count,
			   const AttrNumber *attnums)
{
	PfsSegmentReader *reader = pfs_segment_reader(pfs_segment_open(relation, row));

	for (int i = 0; i < attribute_count; i++)
		if (pfs_reader_find_column(reader, attnums[i]) < 0)
			return false;
	return true;
}

/* Whether all of its segments are visible, and none of them is rolled up already. */
static bool
is_free(const PfsRollup *rollup, const PfsScanUnits *units, const bool *taken)
{
	for (uint32 i = 0; i < rollup->segments.count; i++)
	{
		int64 position = pfs_numbers_find(units->visible, rollup->segments.numbers[i]);

		if (position < 0 || taken[position])
			return false;
	}
	return true;
}

/* Leaves out the units of the roll-up's segments; returns how many they were. */
static uint32
remove_units(const PfsRollup *rollup, PfsScanUnits *units)
{
	uint32 kept = 0;
	uint32 removed;

	for (uint32 i = 0; i < units->count; i++)
	{
		const PfsScanUnit *unit = &units->units[i];

		if (unit->image != NULL || unit->rolled_up > 0 ||
			!pfs_numbers_contain(rollup->segments, unit->row.segment_no))
			units->units[kept++] = *unit;
	}
	removed = units->count - kept;
	units->count = kept;
	return removed;
}

/* The times that the filters leave: a roll-up reaches no further. */
static void
get_time_range(Relation relation, int filter_count, const PfsBlockFilter *filters, int64 *low,
			   int64 *high)
{
	AttrNumber time = pfs_row_key(relation).time;

	*low = PG_INT64_MIN;
	*high = PG_INT64_MAX;
	for (int i = 0; i < filter_count; i++)
		if (filters[i].attnum == time)
		{
			*low = Max(*low, filters[i].low);
			*high = Min(*high, filters[i].high);
		}
}

/* Whether a wider roll-up that is taken holds the time of this one, so that loading it is in vain. */
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

void
pfs_scan_units_roll_up(Relation relation, Snapshot snapshot, int attribute_count,
					   const AttrNumber *attnums, int filter_count, const PfsBlockFilter *filters,
					   int64 width, PfsScanUnits *units)
{
	bool *taken = palloc0(sizeof(bool) * Max(units->visible.count, 1));
	uint32 capacity = units->count;
	List *rollups = NIL;
	List *chosen = NIL;
	ListCell *cell;
	int64 low;
	int64 high;

	get_time_range(relation, filter_count, filters, &low, &high);
	if (units->visible.count - units->skipped_count > 1)
		rollups = pfs_rollups_list(pfs_storage_id(relation), snapshot, low, high);
	foreach(cell, rollups)
	{
		PfsRollup *rollup = lfirst(cell);
		PfsScanUnit unit = { 0 };

		CHECK_FOR_INTERRUPTS();
		if (rollup->width >= width || rollup->stack_count == 0 ||
			!pfs_rollup_fits(rollup, relation) || lies_within(rollup, chosen))
			continue;
		pfs_rollup_load(rollup);
		unit.row.row_count = rollup->stack_count;
		unit.row.header = rollup->header;
		unit.row.payload = rollup->payload;
		if (!pfs_rollup_suits(rollup, relation, filter_count, filters) ||
			!is_free(rollup, units, taken) ||
			!has_attributes(relation, &unit.row, attribute_count, attnums))
			continue;
		chosen = lappend(chosen, rollup);
		for (uint32 i = 0; i < rollup->segments.count; i++)
			taken[pfs_numbers_find(units->visible, rollup->segments.numbers[i])] = true;
		unit.rolled_up = remove_units(rollup, units);
		if (unit.rolled_up > 0)
			*add_unit(units, &capacity) = unit;
	}
	count_rows(units);
}

PfsNumbers
pfs_visible_segments(Relation relation, Snapshot snapshot)
{
	PfsScanUnits units;

	pfs_scan_units_list(relation, snapshot, 0, NULL, NULL, &units);
	return units.visible;
}

Size
pfs_shared_scan_bytes(Relation relation)
{
	return add_size(MAXALIGN(sizeof(PfsSharedScan)),
					pfs_write_buffer_image_bytes(pfs_storage_id(relation)));
}

void
pfs_shared_scan_init(Relation relation, PfsSharedScan *shared)
{
	int64 storage_id = pfs_storage_id(relation);

	pg_atomic_init_u64(&shared->next_chunk, 0);
	shared->image_bytes = pfs_write_buffer_image_bytes(storage_id);
	pfs_write_buffer_image_make(storage_id, (char *) shared + MAXALIGN(sizeof(PfsSharedScan)));
}

void
pfs_shared_scan_rewind(PfsSharedScan *shared)
{
	pg_atomic_write_u64(&shared->next_chunk, 0);
}
