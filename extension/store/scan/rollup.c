/*
 * rollup.c
 *		Rows of profstore.rollups, and when a scan may read them instead of segments.
 *
 * 1. A row is written from a roll-up, and read without its sums, which are loaded when they are
 *    needed.
 * 2. Listing returns the roll-ups of a table within a range of time that a snapshot sees.
 * 3. A roll-up suits a scan if no filter divides what it sums. A filter on series may keep all or
 *    none of the series of each dictionary partition.
 * 4. Deleting removes one roll-up, those that name a removed segment, or all of a table.
 */
#include "store/scan/rollup.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/indexing.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/array.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "base/arrays.h"
#include "base/relations.h"
#include "store/scan/block_filter.h"
#include "store/segment/storage.h"

/* Columns of profstore.rollups, in the order of store.sql. */
enum
{
	COL_STORAGE_ID = 1,
	COL_WIDTH,
	COL_BUCKET,
	COL_CLASS,
	COL_PIECE,
	COL_SERIES_COLUMN,
	COL_STACK_COLUMN,
	COL_TIME_COLUMN,
	COL_TIME_MIN,
	COL_TIME_MAX,
	COL_SAMPLE_COUNT,
	COL_STACK_COUNT,
	COL_SEGMENTS,
	COL_SERIES,
	COL_OTHERS,
	COL_STACK_SERIES,
	COL_PIECES,
	COL_HEADER,
	COL_PAYLOAD,
	COL_COUNT = COL_PAYLOAD
};

/* Columns of the key of a table's roll-ups, in order. */
enum
{
	KEY_WIDTH = 1,
	KEY_BUCKET,
	KEY_CLASS,
	KEY_PIECE,
	KEY_PARTS = KEY_PIECE
};

PfsClassifySeries pfs_classify_series = NULL;

static Datum
array_of(PfsNumbers numbers)
{
	Datum *elements = palloc_extended(sizeof(Datum) * Max(numbers.count, 1), MCXT_ALLOC_HUGE);

	for (uint32 i = 0; i < numbers.count; i++)
		elements[i] = Int64GetDatum(numbers.numbers[i]);
	return PointerGetDatum(construct_array(elements, (int) numbers.count, INT8OID, sizeof(int64),
										   true, TYPALIGN_DOUBLE));
}

static PfsNumbers
numbers_of(Datum datum)
{
	ArrayType *array = DatumGetArrayTypePCopy(datum);
	PfsNumbers numbers;

	if (ARR_ELEMTYPE(array) != INT8OID || ARR_HASNULL(array) || ARR_NDIM(array) > 1)
		ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED), errmsg("a roll-up is damaged"),
						errhint("Delete the rows of profstore.rollups. Compaction makes roll-ups "
								"again.")));
	numbers.count = (uint32) ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	numbers.numbers = (const int64 *) ARR_DATA_PTR(array);
	return numbers;
}

void
pfs_rollup_insert(int64 storage_id, const PfsRollup *rollup)
{
	Relation heap = pfs_table_open("rollups", RowExclusiveLock);
	Datum values[COL_COUNT] = { 0 };
	bool nulls[COL_COUNT] = { 0 };

	values[COL_STORAGE_ID - 1] = Int64GetDatum(storage_id);
	values[COL_WIDTH - 1] = Int64GetDatum(rollup->width);
	values[COL_BUCKET - 1] = Int64GetDatum(rollup->bucket);
	values[COL_CLASS - 1] = Int32GetDatum(rollup->class_id);
	values[COL_PIECE - 1] = Int32GetDatum(rollup->piece);
	values[COL_SERIES_COLUMN - 1] = Int16GetDatum(rollup->key.series);
	values[COL_STACK_COLUMN - 1] = Int16GetDatum(rollup->key.stack);
	values[COL_TIME_COLUMN - 1] = Int16GetDatum(rollup->key.time);
	values[COL_TIME_MIN - 1] = Int64GetDatum(rollup->time_min);
	values[COL_TIME_MAX - 1] = Int64GetDatum(rollup->time_max);
	values[COL_SAMPLE_COUNT - 1] = Int64GetDatum(rollup->sample_count);
	values[COL_STACK_COUNT - 1] = Int32GetDatum(rollup->stack_count);
	values[COL_SEGMENTS - 1] = array_of(rollup->segments);
	values[COL_SERIES - 1] = array_of(rollup->series);
	values[COL_OTHERS - 1] = array_of(rollup->others);
	values[COL_STACK_SERIES - 1] = array_of(rollup->stack_series);
	values[COL_PIECES - 1] = array_of(rollup->pieces);
	values[COL_HEADER - 1] = PointerGetDatum(rollup->header);
	values[COL_PAYLOAD - 1] = PointerGetDatum(rollup->payload);
	/* A row without sums records only that its bucket was tried. */
	nulls[COL_HEADER - 1] = nulls[COL_PAYLOAD - 1] = rollup->stack_count == 0;
	CatalogTupleInsert(heap, heap_form_tuple(RelationGetDescr(heap), values, nulls));
	table_close(heap, NoLock);
}

static PfsRollup *
read_rollup(Relation heap, HeapTuple tuple)
{
	PfsRollup *rollup = palloc0(sizeof(PfsRollup));
	Datum values[COL_COUNT];
	bool nulls[COL_COUNT];

	heap_deform_tuple(tuple, RelationGetDescr(heap), values, nulls);
	rollup->address = tuple->t_self;
	rollup->width = DatumGetInt64(values[COL_WIDTH - 1]);
	rollup->bucket = DatumGetInt64(values[COL_BUCKET - 1]);
	rollup->class_id = DatumGetInt32(values[COL_CLASS - 1]);
	rollup->piece = DatumGetInt32(values[COL_PIECE - 1]);
	rollup->key.series = DatumGetInt16(values[COL_SERIES_COLUMN - 1]);
	rollup->key.stack = DatumGetInt16(values[COL_STACK_COLUMN - 1]);
	rollup->key.time = DatumGetInt16(values[COL_TIME_COLUMN - 1]);
	rollup->time_min = DatumGetInt64(values[COL_TIME_MIN - 1]);
	rollup->time_max = DatumGetInt64(values[COL_TIME_MAX - 1]);
	rollup->sample_count = DatumGetInt64(values[COL_SAMPLE_COUNT - 1]);
	rollup->stack_count = DatumGetInt32(values[COL_STACK_COUNT - 1]);
	if (nulls[COL_HEADER - 1] || nulls[COL_PAYLOAD - 1])
		rollup->stack_count = 0;
	/*
	 * The arrays and the header are read from this copy when they are needed; most roll-ups are
	 * never loaded.
	 */
	rollup->tuple = heap_copytuple(tuple);
	return rollup;
}

/* The payload is not fetched here; only the reader of its streams does that. */
void
pfs_rollup_load(PfsRollup *rollup)
{
	Relation heap;
	Datum values[COL_COUNT];
	bool nulls[COL_COUNT];

	/* Loaded already: series is set last, so an error in between leaves it NULL. */
	if (rollup->series.numbers != NULL)
		return;
	heap = pfs_table_open("rollups", AccessShareLock);
	heap_deform_tuple(rollup->tuple, RelationGetDescr(heap), values, nulls);
	rollup->segments = numbers_of(values[COL_SEGMENTS - 1]);
	rollup->others = numbers_of(values[COL_OTHERS - 1]);
	rollup->stack_series = numbers_of(values[COL_STACK_SERIES - 1]);
	rollup->pieces = numbers_of(values[COL_PIECES - 1]);
	rollup->series = numbers_of(values[COL_SERIES - 1]);
	if (rollup->stack_count > 0)
	{
		rollup->header = DatumGetByteaPCopy(values[COL_HEADER - 1]);
		rollup->payload = (struct varlena *) DatumGetPointer(values[COL_PAYLOAD - 1]);
	}
	table_close(heap, AccessShareLock);
}

static int
compare_rollups(const ListCell *a, const ListCell *b)
{
	const PfsRollup *left = lfirst(a);
	const PfsRollup *right = lfirst(b);

	if (left->width != right->width)
		return left->width > right->width ? -1 : 1;
	if (left->bucket != right->bucket)
		return left->bucket < right->bucket ? -1 : 1;
	return (left->class_id > right->class_id) - (left->class_id < right->class_id);
}

/*
 * Scans the rows of a storage by the first columns of the key: storage id and as many others as
 * parts. Their values come from rollup, which may be NULL if parts is 0.
 */
static SysScanDesc
rollup_begin_scan(Relation heap, Snapshot snapshot, int64 storage_id, int parts,
				  const PfsRollup *rollup)
{
	ScanKeyData keys[KEY_PARTS + 1];

	ScanKeyInit(&keys[0], COL_STORAGE_ID, BTEqualStrategyNumber, F_INT8EQ,
				Int64GetDatum(storage_id));
	/* Keys beyond the given number of parts are set, and not used. */
	if (rollup != NULL)
	{
		ScanKeyInit(&keys[1], COL_WIDTH, BTEqualStrategyNumber, F_INT8EQ,
					Int64GetDatum(rollup->width));
		ScanKeyInit(&keys[2], COL_BUCKET, BTEqualStrategyNumber, F_INT8EQ,
					Int64GetDatum(rollup->bucket));
		ScanKeyInit(&keys[3], COL_CLASS, BTEqualStrategyNumber, F_INT4EQ,
					Int32GetDatum(rollup->class_id));
		ScanKeyInit(&keys[4], COL_PIECE, BTEqualStrategyNumber, F_INT4EQ,
					Int32GetDatum(rollup->piece));
	}
	return systable_beginscan(heap, pfs_primary_key_index(heap), true, snapshot, parts + 1, keys);
}

List *
pfs_rollups_list(int64 storage_id, Snapshot snapshot, int64 low, int64 high)
{
	List *rollups = NIL;
	Relation heap;
	SysScanDesc scan;
	HeapTuple tuple;

	/* during pg_upgrade there are no rows yet, and the index may not exist */
	if (IsBinaryUpgrade)
		return NIL;
	heap = pfs_table_open("rollups", AccessShareLock);
	scan = rollup_begin_scan(heap, snapshot, storage_id, 0, NULL);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		bool is_null;
		int64 time_min =
			DatumGetInt64(heap_getattr(tuple, COL_TIME_MIN, RelationGetDescr(heap), &is_null));
		int64 time_max =
			DatumGetInt64(heap_getattr(tuple, COL_TIME_MAX, RelationGetDescr(heap), &is_null));

		CHECK_FOR_INTERRUPTS();
		if (time_min >= low && time_max <= high &&
			/* Piece 0 is the roll-up itself; its pieces are read one by one. */
			DatumGetInt32(heap_getattr(tuple, COL_PIECE, RelationGetDescr(heap), &is_null)) == 0)
			rollups = lappend(rollups, read_rollup(heap, tuple));
	}
	systable_endscan(scan);
	table_close(heap, AccessShareLock);
	list_sort(rollups, compare_rollups);
	return rollups;
}

bool
pfs_rollup_fits(const PfsRollup *rollup, Relation relation)
{
	PfsRowKey key = pfs_row_key(relation);

	/* After a column was renamed, the roll-up has sums by other columns. */
	return rollup->key.series == key.series && rollup->key.stack == key.stack &&
		   rollup->key.time == key.time;
}

/*
 * Returns true if the filter passes all series of the roll-up, and no other series of its segments.
 */
static bool
series_suit(const PfsRollup *rollup, const PfsBlockFilter *filter)
{
	for (uint32 i = 0; i < rollup->series.count; i++)
		if (!pfs_filter_passes(filter, rollup->series.numbers[i]))
			return false;
	for (uint32 i = 0; i < rollup->others.count; i++)
		/* The roll-up stands for whole segments. A wanted series that it lacks would be lost. */
		if (pfs_filter_passes(filter, rollup->others.numbers[i]))
			return false;
	return true;
}

/*
 * Returns true if, of each part's series, the filter passes all or none; lists the parts of which
 * it passes all. The filter must pass none of the series outside the roll-up.
 */
static bool
parts_suit(const PfsRollup *rollup, const PfsBlockFilter *filter, PfsNumbers *parts)
{
	PfsNumbers pairs = rollup->stack_series;
	int64 *wanted = PFS_ARRAY(int64, pairs.count);
	uint32 count = 0;
	bool last_passes = false;

	for (uint32 i = 0; i < rollup->others.count; i++)
		if (pfs_filter_passes(filter, rollup->others.numbers[i]))
			return false;
	for (uint32 i = 0; i < pairs.count; i++)
	{
		int64 part = pairs.numbers[i] >> PFS_STACK_SERIES_BITS;
		/* Pairs are sorted by part, so the series of a part are neighbours. */
		bool is_first = i == 0 || pairs.numbers[i - 1] >> PFS_STACK_SERIES_BITS != part;
		/* The lower 32 bits of a pair are the series. */
		bool passes = pfs_filter_passes(filter, (int64) (uint32) pairs.numbers[i]);

		/* Sums by stack cannot be divided among series of one part. */
		if (!is_first && passes != last_passes)
			return false;
		if (is_first && passes)
			wanted[count++] = part;
		last_passes = passes;
	}
	*parts = (PfsNumbers){ count, wanted };
	return pairs.count > 0;
}

/*
 * Sets *found to the filter on series; NULL if there is none. Returns false if another filter would
 * keep only some of the rows that the roll-up has summed.
 */
static bool
rollup_find_series_filter(const PfsRollup *rollup, Relation relation, int filter_count,
						  const PfsBlockFilter *filters, const PfsBlockFilter **by_series)
{
	PfsRowKey key = pfs_row_key(relation);

	*by_series = NULL;
	for (int i = 0; i < filter_count; i++)
	{
		if (filters[i].keeps_nulls)
			return false;
		if (filters[i].attnum == key.time)
		{
			/* A roll-up that reaches over the end of the range would add samples outside it. */
			if (!pfs_filter_contains(&filters[i], rollup->time_min, rollup->time_max))
				return false;
		}
		else if (filters[i].attnum != key.series || *by_series != NULL)
			return false;
		else
			*by_series = &filters[i];
	}
	return true;
}

bool
pfs_rollup_suits(const PfsRollup *rollup, Relation relation, int filter_count,
				 const PfsBlockFilter *filters, PfsNumbers *parts)
{
	const PfsBlockFilter *by_series;

	*parts = (PfsNumbers){ 0, NULL };
	if (rollup->stack_count <= 0 ||
		!rollup_find_series_filter(rollup, relation, filter_count, filters, &by_series))
		return false;
	/* Without a filter, all series of the segments are wanted. */
	if (by_series == NULL)
		return rollup->others.count == 0;
	return series_suit(rollup, by_series) || parts_suit(rollup, by_series, parts);
}

PfsNumbers
pfs_rollup_piece_series(const PfsRollup *rollup, int32 piece)
{
	PfsNumbers series = rollup->series;
	PfsNumbers firsts = rollup->pieces;
	/* A piece has the series from its own first one to that of the next piece. */
	uint32 first =
		pfs_lower_bound(series.numbers, 0, series.count, firsts.numbers[(uint32) piece - 1]);
	uint32 end =
		(uint32) piece == firsts.count
			? series.count
			: pfs_lower_bound(series.numbers, first, series.count, firsts.numbers[(uint32) piece]);

	return (PfsNumbers){ end - first, series.numbers + first };
}

static bool
passes_any(const PfsBlockFilter *filter, PfsNumbers series)
{
	for (uint32 i = 0; i < series.count; i++)
		if (pfs_filter_passes(filter, series.numbers[i]))
			return true;
	return false;
}

/* Lists the pieces that have a series which passes the filter. */
static PfsNumbers
list_pieces(const PfsRollup *rollup, const PfsBlockFilter *filter)
{
	int64 *numbers = PFS_ARRAY(int64, rollup->pieces.count);
	PfsNumbers pieces = { 0, numbers };

	for (uint32 piece = 1; piece <= rollup->pieces.count; piece++)
		if (passes_any(filter, pfs_rollup_piece_series(rollup, (int32) piece)))
			numbers[pieces.count++] = piece;
	return pieces;
}

bool
pfs_rollup_pieces_suit(const PfsRollup *rollup, Relation relation, int filter_count,
					   const PfsBlockFilter *filters, PfsNumbers *pieces)
{
	const PfsBlockFilter *by_series;

	if (rollup->pieces.count == 0 ||
		!rollup_find_series_filter(rollup, relation, filter_count, filters, &by_series) ||
		/* Without a filter on series the roll-up itself is the shorter choice. */
		by_series == NULL || passes_any(by_series, rollup->others))
		return false;
	*pieces = list_pieces(rollup, by_series);
	return pieces->count > 0;
}

PfsRollup *
pfs_rollup_get_piece(int64 storage_id, Snapshot snapshot, const PfsRollup *rollup, int32 piece)
{
	Relation heap = pfs_table_open("rollups", AccessShareLock);
	PfsRollup wanted = *rollup;
	PfsRollup *found = NULL;
	SysScanDesc scan;
	HeapTuple tuple;

	wanted.piece = piece;
	scan = rollup_begin_scan(heap, snapshot, storage_id, KEY_PIECE, &wanted);
	/* A missing piece is not an error: rows of profstore.rollups may be deleted at any time. */
	if (HeapTupleIsValid(tuple = systable_getnext(scan)))
		found = read_rollup(heap, tuple);
	systable_endscan(scan);
	table_close(heap, AccessShareLock);
	if (found != NULL && found->stack_count > 0)
		pfs_rollup_load(found);
	return found;
}

void
pfs_rollups_lock(void)
{
	LockRelationOid(pfs_relation_oid("rollups"), RowExclusiveLock);
}

static bool
rollup_is_at(Relation heap, int64 storage_id, const PfsRollup *rollup)
{
	HeapTupleData tuple = { .t_self = rollup->address };
	Datum values[COL_COUNT];
	bool nulls[COL_COUNT];
	Buffer buffer;

	if (!pfs_heap_fetch(heap, SnapshotAny, &tuple, &buffer))
		return false;
	heap_deform_tuple(&tuple, RelationGetDescr(heap), values, nulls);
	ReleaseBuffer(buffer);
	return DatumGetInt64(values[COL_STORAGE_ID - 1]) == storage_id &&
		   DatumGetInt64(values[COL_WIDTH - 1]) == rollup->width &&
		   DatumGetInt64(values[COL_BUCKET - 1]) == rollup->bucket &&
		   DatumGetInt32(values[COL_CLASS - 1]) == rollup->class_id &&
		   DatumGetInt32(values[COL_PIECE - 1]) == rollup->piece;
}

/*
 * Deletes the rows that rollup_begin_scan() finds. SnapshotSelf also sees rows that the current
 * command has written. No other transaction can be writing any, because the caller's lock on the
 * table excludes it.
 */
static void
delete_rows(int64 storage_id, int parts, const PfsRollup *rollup)
{
	Oid relation_id = pfs_relation_find("rollups");
	Relation heap;
	SysScanDesc scan;
	HeapTuple tuple;

	/* DROP EXTENSION … CASCADE may drop the roll-ups before the tables. */
	if (!OidIsValid(relation_id))
		return;
	heap = table_open(relation_id, RowExclusiveLock);
	scan = rollup_begin_scan(heap, SnapshotSelf, storage_id, parts, rollup);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
		simple_heap_delete(heap, &tuple->t_self);
	systable_endscan(scan);
	table_close(heap, NoLock);
}

void
pfs_rollup_delete_pieces(int64 storage_id, const PfsRollup *rollup)
{
	delete_rows(storage_id, KEY_CLASS, rollup);
}

void
pfs_rollups_delete_bucket(int64 storage_id, int64 width, int64 bucket)
{
	delete_rows(storage_id, KEY_BUCKET, &(PfsRollup){ .width = width, .bucket = bucket });
}

/* Deletes a roll-up and its pieces. Raises an error if another row is now at its address. */
static void
rollup_delete(int64 storage_id, const PfsRollup *rollup)
{
	Relation heap = pfs_table_open("rollups", RowExclusiveLock);
	ItemPointerData address = rollup->address;

	/* The caller's lock excludes VACUUM FULL and CLUSTER, which would move the row. */
	if (!rollup_is_at(heap, storage_id, rollup))
		elog(ERROR, "a roll-up of storage " INT64_FORMAT " is not where it was read", storage_id);
	CatalogTupleDelete(heap, &address);
	table_close(heap, NoLock);
	pfs_rollup_delete_pieces(storage_id, rollup);
}

void
pfs_rollups_forget(int64 storage_id, Snapshot snapshot, PfsNumbers segments)
{
	List *rollups;
	ListCell *cell;

	/* Lock before reading: addresses hold only while rewrites of the table are excluded. */
	pfs_rollups_lock();
	rollups = pfs_rollups_list(storage_id, snapshot, PG_INT64_MIN, PG_INT64_MAX);
	foreach(cell, rollups)
	{
		PfsRollup *rollup = lfirst(cell);
		bool names_one = false;

		pfs_rollup_load(rollup);
		for (uint32 i = 0; i < rollup->segments.count && !names_one; i++)
			names_one = pfs_numbers_contain(segments, rollup->segments.numbers[i]);
		if (names_one)
			rollup_delete(storage_id, rollup);
	}
	list_free(rollups);
}

void
pfs_rollups_delete_all(int64 storage_id)
{
	delete_rows(storage_id, 0, NULL);
}
