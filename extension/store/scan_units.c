/*
 * scan_units.c
 *		Listing segments and waiting rows for a scan.
 */
#include "store/scan_units.h"

#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "codec/segment.h"
#include "store/block_filter.h"
#include "store/row_order.h"
#include "store/storage.h"
#include "store/write_buffer.h"

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

static PfsScanUnit *
add_unit(PfsScanUnits *units, uint32 *capacity)
{
	if (units->count == *capacity)
	{
		*capacity *= 2;
		units->units = repalloc_huge(units->units, sizeof(PfsScanUnit) * (Size) *capacity);
	}
	memset(&units->units[units->count], 0, sizeof(PfsScanUnit));
	return &units->units[units->count++];
}

/*
 * Whether the directory's ranges leave any row to the filters. A null range means that all are
 * null.
 */
static bool
may_match(const PfsSegmentRow *row, const PfsRowKey *key, int filter_count,
		  const PfsBlockFilter *filters)
{
	for (int i = 0; i < filter_count; i++)
	{
		const PfsBlockFilter *filter = &filters[i];

		if (filter->attnum == key->time && row->time.known &&
			!pfs_filter_overlaps(filter, row->time.min, row->time.max))
			return false;
		if (filter->attnum == key->series && row->key.known &&
			!pfs_filter_overlaps(filter, row->key.min, row->key.max))
			return false;
	}
	return true;
}

static void
list_segments(Relation relation, Snapshot snapshot, int filter_count, const PfsBlockFilter *filters,
			  PfsScanUnits *units, uint32 *capacity)
{
	PfsRowKey key = pfs_row_key(relation);
	PfsDirectoryScan *scan = pfs_directory_scan_begin(pfs_storage_id(relation), snapshot);
	PfsSegmentRow row;

	while (pfs_directory_scan_next(scan, &row))
	{
		CHECK_FOR_INTERRUPTS();
		if (may_match(&row, &key, filter_count, filters))
			pfs_segment_row_copy(&add_unit(units, capacity)->row, &row);
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

void
pfs_scan_units_list(Relation relation, Snapshot snapshot, int filter_count,
					const PfsBlockFilter *filters, const PfsSharedScan *shared, PfsScanUnits *units)
{
	uint32 capacity = 16;

	memset(units, 0, sizeof(*units));
	units->units = palloc(sizeof(PfsScanUnit) * capacity);
	list_segments(relation, snapshot, filter_count, filters, units, &capacity);
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
	for (uint32 i = 0; i < units->count; i++)
	{
		units->units[i].first_block = units->block_count;
		units->row_count += pfs_scan_unit_row_count(&units->units[i]);
		units->block_count += pfs_scan_unit_block_count(&units->units[i]);
	}
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

	pg_atomic_init_u32(&shared->next_unit, 0);
	shared->image_bytes = pfs_write_buffer_image_bytes(storage_id);
	pfs_write_buffer_image_make(storage_id, (char *) shared + MAXALIGN(sizeof(PfsSharedScan)));
}

void
pfs_shared_scan_rewind(PfsSharedScan *shared)
{
	pg_atomic_write_u32(&shared->next_unit, 0);
}
