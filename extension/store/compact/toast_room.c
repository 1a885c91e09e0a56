/*
 * toast_room.c
 *		Finds the positions of values in a TOAST relation, and its free space.
 */
#include "store/compact/toast_room.h"

#include "access/genam.h"
#include "access/heaptoast.h"
#include "access/toast_internals.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/freespace.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"

/* Bytes that a full chunk takes on a page. */
#define CHUNK_ROOM (EXTERN_TUPLE_MAX_SIZE + sizeof(ItemIdData))

#define TOAST_INDEX_VALUE_ID 1

/* Checks for interrupts after this many pages of the free space map. */
#define PAGES_PER_CHECK 1024

struct PfsToastValues
{
	Relation *indexes;
	int index_count;
	IndexScanDesc scan;
};

struct PfsHiddenPages
{
	Relation toast;
	BlockNumber first;
	BlockNumber end;
	uint16 *free_bytes; /* free bytes of each page, as the map had them */
};

PfsToastValues *
pfs_toast_values_begin(Relation toast, Snapshot snapshot)
{
	PfsToastValues *values = palloc(sizeof(PfsToastValues));
	int valid = toast_open_indexes(toast, AccessShareLock, &values->indexes, &values->index_count);

	/* One scan serves all values, by index_rescan(). */
	values->scan = pfs_index_beginscan(toast, values->indexes[valid], snapshot, 1);
	return values;
}

PfsToastReach
pfs_toast_locate(PfsToastValues *values, Oid value_id)
{
	PfsToastReach reach = { 0 };
	ScanKeyData key;
	ItemPointer address;

	CHECK_FOR_INTERRUPTS();
	ScanKeyInit(&key, TOAST_INDEX_VALUE_ID, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(value_id));
	index_rescan(values->scan, &key, 1, NULL, 0);
	/*
	 * The index alone says on which pages the chunks lie. It may have entries of dead chunks, too,
	 * which only make the reach too large.
	 */
	while ((address = index_getnext_tid(values->scan, ForwardScanDirection)) != NULL)
	{
		reach.last_page = Max(reach.last_page, ItemPointerGetBlockNumber(address));
		reach.chunk_count++;
	}
	return reach;
}

void
pfs_toast_values_end(PfsToastValues *values)
{
	index_endscan(values->scan);
	toast_close_indexes(values->indexes, values->index_count, AccessShareLock);
	pfree(values);
}

static Size
free_bytes(Relation toast, BlockNumber page)
{
	if (page % PAGES_PER_CHECK == 0)
		CHECK_FOR_INTERRUPTS();
	return GetRecordedFreeSpace(toast, page);
}

uint64
pfs_toast_free_chunks(Relation toast, BlockNumber end, uint64 enough)
{
	uint64 chunks = 0;

	for (BlockNumber page = 0; page < end && chunks < enough; page++)
		chunks += free_bytes(toast, page) / CHUNK_ROOM;
	return chunks;
}

PfsHiddenPages *
pfs_toast_hide(Relation toast, BlockNumber first)
{
	PfsHiddenPages *hidden = palloc(sizeof(PfsHiddenPages));

	hidden->toast = toast;
	hidden->first = first;
	hidden->end = Max(RelationGetNumberOfBlocks(toast), first);
	hidden->free_bytes =
		MemoryContextAllocHuge(CurrentMemoryContext, sizeof(uint16) * (hidden->end - first + 1));
	for (BlockNumber page = first; page < hidden->end; page++)
	{
		hidden->free_bytes[page - first] = (uint16) free_bytes(toast, page);
		/* A page without free space is not offered, and need not be changed back. */
		if (hidden->free_bytes[page - first] > 0)
			RecordPageWithFreeSpace(toast, page, 0);
	}
	/* Writes the changed leaves into the upper levels of the map, by which inserts search. */
	FreeSpaceMapVacuumRange(toast, first, hidden->end);
	/* The relation's last target page may lie after the mark. */
	RelationSetTargetBlock(toast, InvalidBlockNumber);
	return hidden;
}

void
pfs_toast_show(PfsHiddenPages *hidden)
{
	for (BlockNumber page = hidden->first; page < hidden->end; page++)
		if (hidden->free_bytes[page - hidden->first] > 0)
			RecordPageWithFreeSpace(hidden->toast, page, hidden->free_bytes[page - hidden->first]);
	FreeSpaceMapVacuumRange(hidden->toast, hidden->first, hidden->end);
	RelationSetTargetBlock(hidden->toast, InvalidBlockNumber);
	pfree(hidden->free_bytes);
	pfree(hidden);
}
