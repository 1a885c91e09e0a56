/*
 * references.c
 *		Bitmaps for collect_dictionary(): the ids that sample tables, the stack tree and
 *		locations refer to.
 *
 * 1. Tables and all their descendants are locked, then read with one snapshot: dictionary
 *    partitions and series of their rows.
 * 2. Nodes of the stack tree refer to locations.
 * 3. Locations refer to functions and mappings.
 *
 * A bitmap is a bytea: bit i % 8 of byte i / 8 stands for id i, as in get_bit(). It has a bit for
 * each id up to the greatest one of a row now. Ids of later rows are neither condemned nor
 * collected, and ids without a row are ignored.
 */
#include "profstore.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/sdir.h"
#include "access/table.h"
#include "access/tableam.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/pg_list.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "base/distributed.h"
#include "base/relations.h"
#include "dictionary/cache/cache.h"
#include "dictionary/cache/dictionary.h"
#include "dictionary/cache/name_reading.h"
#include "dictionary/tree/chunk_format.h"
#include "dictionary/tree/chunk_rows.h"
#include "store/scan/block_scan.h"

PG_FUNCTION_INFO_V1(profstore_referenced_by_tables);
PG_FUNCTION_INFO_V1(profstore_join_bitmaps);
PG_FUNCTION_INFO_V1(profstore_referenced_by_stacks);
PG_FUNCTION_INFO_V1(profstore_referenced_by_locations);

#define SERIES_COLUMN "series_id"

typedef struct Bitmap
{
	bytea *bytes;
	uint32 capacity; /* ids 0 .. capacity - 1 have a bit */
} Bitmap;

/* Ids that the tables refer to. */
typedef struct References
{
	Bitmap partitions;
	Bitmap series;
	int64 last_stack; /* most rows repeat the one before */
	int64 last_series;
} References;

/* Returns the greatest id of a row of a dictionary table; 0 if there is none. */
static int32
greatest_id(const char *table)
{
	Relation relation = pfs_table_open(table, AccessShareLock);
	Relation index = index_open(pfs_relation_oid(psprintf("%s_pkey", table)), AccessShareLock);
	SysScanDesc scan = systable_beginscan_ordered(relation, index, GetActiveSnapshot(), 0, NULL);
	/* The first row of the index, read backwards, has the greatest id. */
	HeapTuple tuple = systable_getnext_ordered(scan, BackwardScanDirection);
	bool is_null;
	int32 id = HeapTupleIsValid(tuple)
				   ? DatumGetInt32(heap_getattr(tuple, 1, RelationGetDescr(relation), &is_null))
				   : 0;

	systable_endscan_ordered(scan);
	index_close(index, AccessShareLock);
	table_close(relation, NoLock);
	return Max(id, 0);
}

/*
 * Allocates a bit for each id up to greatest. The size must not depend on ids in samples, which may
 * have any value.
 */
static void
bitmap_init(Bitmap *bitmap, int32 greatest)
{
	Size bytes = (Size) greatest / 8 + 1;

	bitmap->capacity = (uint32) bytes * 8;
	bitmap->bytes = palloc0(VARHDRSZ + bytes);
	SET_VARSIZE(bitmap->bytes, VARHDRSZ + bytes);
}

/* Sets a bit. Ids below 0 or beyond the bitmap have no row, and are ignored. */
static inline void
bitmap_add(Bitmap *bitmap, int32 id)
{
	if (id >= 0 && (uint32) id < bitmap->capacity)
		((uint8 *) VARDATA(bitmap->bytes))[id / 8] |= (uint8) (1 << id % 8);
}

static inline void
references_add_stack(References *references, int64 stack_id)
{
	if (stack_id == references->last_stack)
		return;
	references->last_stack = stack_id;
	bitmap_add(&references->partitions, pfs_stack_partition(stack_id));
}

static inline void
references_add_series(References *references, int64 series_id)
{
	if (series_id == references->last_series)
		return;
	references->last_series = series_id;
	if (series_id <= PG_INT32_MAX)
		bitmap_add(&references->series, (int32) series_id);
}

/* Columns of a table that refer to the dictionary. */
typedef struct Columns
{
	AttrNumber attnums[2];
	int count;
} Columns;

static Columns
table_find_columns(Relation relation, const char *stack_column)
{
	Oid relid = RelationGetRelid(relation);
	Columns columns = { { get_attnum(relid, stack_column), get_attnum(relid, SERIES_COLUMN) }, 1 };

	if (columns.attnums[0] == InvalidAttrNumber ||
		get_atttype(relid, columns.attnums[0]) != INT8OID)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_COLUMN),
						errmsg("table \"%s\" has no column \"%s\" of type bigint",
							   RelationGetRelationName(relation), stack_column)));
	/* A tracked table need not have a series. */
	if (columns.attnums[1] != InvalidAttrNumber &&
		get_atttype(relid, columns.attnums[1]) == INT4OID)
		columns.count = 2;
	return columns;
}

/* Collects the references of a profstore table, block by block. */
static void
scan_blocks(Relation relation, Snapshot snapshot, const Columns *columns, References *references)
{
	PfsBlockScan *scan = pfs_block_scan_begin(&(PfsScanRequest){ .relation = relation,
																 .snapshot = snapshot,
																 .attribute_count = columns->count,
																 .attnums = columns->attnums });
	PfsBlock block;

	while (pfs_block_scan_next(scan, &block))
	{
		CHECK_FOR_INTERRUPTS();
		for (uint32 i = 0; i < block.row_count; i++)
			if (block.nulls[0] == NULL || !block.nulls[0][i])
				references_add_stack(references, block.values[0][i]);
		/* One column at a time: sorted columns repeat values over many rows. */
		for (uint32 i = 0; i < block.row_count && columns->count > 1; i++)
			if (block.nulls[1] == NULL || !block.nulls[1][i])
				references_add_series(references, block.values[1][i]);
	}
	pfs_block_scan_end(scan);
}

/* Collects the references of a table of another access method, row by row. */
static void
scan_rows(Relation relation, Snapshot snapshot, const Columns *columns, References *references)
{
	TableScanDesc scan = table_beginscan(relation, snapshot, 0, NULL);
	TupleTableSlot *slot = table_slot_create(relation, NULL);

	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		bool is_null;
		Datum datum = slot_getattr(slot, columns->attnums[0], &is_null);

		CHECK_FOR_INTERRUPTS();
		if (!is_null)
			references_add_stack(references, DatumGetInt64(datum));
		if (columns->count == 1)
			continue;
		datum = slot_getattr(slot, columns->attnums[1], &is_null);
		if (!is_null)
			references_add_series(references, DatumGetInt32(datum));
	}
	ExecDropSingleTupleTableSlot(slot);
	table_endscan(scan);
}

/* Collects the references of a table; a partitioned one has none itself. */
static void
scan_table(Oid relid, const char *stack_column, Snapshot snapshot, References *references)
{
	Relation relation = table_open(relid, NoLock);
	Columns columns;

	/* Rows lie in its partitions, which are in the list, too. */
	if (relation->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
	{
		if (relation->rd_rel->relkind != RELKIND_RELATION &&
			relation->rd_rel->relkind != RELKIND_MATVIEW)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("\"%s\" is not a table", RelationGetRelationName(relation)),
					 errdetail("Its references to stacks cannot be found."),
					 errhint("Detach it from its parent, or call profstore.untrack_stacks().")));
		columns = table_find_columns(relation, stack_column);
		if (relation->rd_rel->relam == get_table_am_oid("profstore", true))
			scan_blocks(relation, snapshot, &columns, references);
		else
			scan_rows(relation, snapshot, &columns, references);
	}
	table_close(relation, NoLock);
}

/*
 * Locks a table, then its descendants, each before its own children are listed, so that no locked
 * table is dropped meanwhile. Dropped tables are left out. Returns false if a lock is not
 * available.
 */
static bool
lock_family(Oid relid, List **family)
{
	ListCell *cell;

	check_stack_depth();
	/* A table may inherit from two parents of the family. */
	if (list_member_oid(*family, relid))
		return true;
	if (!pfs_lock_or_skip(relid, AccessShareLock, "the collection of the dictionary"))
		return false;
	/* The table was dropped while the lock was awaited. */
	if (get_rel_name(relid) == NULL)
		return true;
	pfs_require_local(relid, "look for references in");
	*family = lappend_oid(*family, relid);
	foreach(cell, find_inheritance_children(relid, NoLock))
		if (!lock_family(lfirst_oid(cell), family))
			return false;
	return true;
}

/*
 * Locks the tables and all their descendants: a list for each. Returns false if a lock is not
 * available: a session that forgets to commit must not block maintenance.
 */
static bool
lock_tables(const Oid *relids, int count, List **families)
{
	*families = NIL;
	for (int i = 0; i < count; i++)
	{
		List *family = NIL;

		if (!lock_family(relids[i], &family))
			return false;
		*families = lappend(*families, family);
	}
	return true;
}

static void
array_deconstruct(FunctionCallInfo fcinfo, int number, Oid type, int16 length, Datum **values,
				  int *count)
{
	ArrayType *array = PG_GETARG_ARRAYTYPE_P(number);

	deconstruct_array(array, type, length, type == OIDOID, type == OIDOID ? 'i' : 'c', values, NULL,
					  count);
}

/*
 * referenced_by_tables(tables oid[], stack_columns name[],
 *						[greatest_partition int4, greatest_series int4,]
 *						OUT partitions bytea, OUT series bytea)
 *
 * A node of distributed samples has no dictionary, so there the coordinator gives the greatest ids.
 *
 * Rows move between tables: retention sums samples into a tier and drops them in one transaction. A
 * snapshot sees them in one of the two, so both must be read with it. Therefore the snapshot is
 * taken after all tables are locked, which prevents dropping them, and taken again if new tables
 * have come meanwhile, whose rows it might see. Returns NULL if a lock is not available.
 */
PGDLLEXPORT Datum
profstore_referenced_by_tables(PG_FUNCTION_ARGS)
{
	References references = { .last_stack = -1, .last_series = -1 };
	TupleDesc descriptor;
	Datum *tables;
	Datum *columns;
	int table_count;
	int column_count;
	Oid *relids;
	List *families;
	List *families_before;
	Snapshot snapshot = NULL;
	bool nulls[2] = { false };
	Datum values[2];

	if (get_call_result_type(fcinfo, NULL, &descriptor) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "referenced_by_tables must return a row");
	array_deconstruct(fcinfo, 0, OIDOID, sizeof(Oid), &tables, &table_count);
	array_deconstruct(fcinfo, 1, NAMEOID, NAMEDATALEN, &columns, &column_count);
	if (table_count != column_count)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR), errmsg("arrays must have equal lengths")));
	relids = palloc(sizeof(Oid) * (Size) Max(table_count, 1));
	for (int i = 0; i < table_count; i++)
		relids[i] = DatumGetObjectId(tables[i]);

	/*
	 * ids are read here without the planner, and rows are removed by SQL: both must see one table
	 */
	pfs_dictionary_require_local();
	if (!lock_tables(relids, table_count, &families))
		PG_RETURN_NULL();
	do
	{
		if (snapshot != NULL)
			UnregisterSnapshot(snapshot);
		snapshot = RegisterSnapshot(GetLatestSnapshot());
		families_before = families;
		if (!lock_tables(relids, table_count, &families))
		{
			UnregisterSnapshot(snapshot);
			PG_RETURN_NULL();
		}
		/*
		 * If a table has come since the families were listed, the snapshot may show rows that have
		 * moved there, so it is taken again.
		 */
	} while (!equal(families, families_before));

	PushActiveSnapshot(snapshot);
	bitmap_init(&references.partitions,
				PG_NARGS() > 2 ? Max(PG_GETARG_INT32(2), 0) : greatest_id("dictionary_partitions"));
	bitmap_init(&references.series,
				PG_NARGS() > 2 ? Max(PG_GETARG_INT32(3), 0) : greatest_id("series"));
	for (int i = 0; i < table_count; i++)
	{
		ListCell *cell;

		foreach(cell, (List *) list_nth(families, i))
			scan_table(lfirst_oid(cell), NameStr(*DatumGetName(columns[i])), snapshot, &references);
	}
	PopActiveSnapshot();
	UnregisterSnapshot(snapshot);

	values[0] = PointerGetDatum(references.partitions.bytes);
	values[1] = PointerGetDatum(references.series.bytes);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(descriptor), values, nulls)));
}

/* join_bitmaps(bytea, bytea) -> bytea: the bits that either has */
PGDLLEXPORT Datum
profstore_join_bitmaps(PG_FUNCTION_ARGS)
{
	const bytea *one = PG_GETARG_BYTEA_PP(0);
	const bytea *other = PG_GETARG_BYTEA_PP(1);
	const bytea *longer = VARSIZE_ANY_EXHDR(one) < VARSIZE_ANY_EXHDR(other) ? other : one;
	const bytea *shorter = longer == one ? other : one;
	Size bytes = VARSIZE_ANY_EXHDR(longer);
	bytea *joined = palloc(VARHDRSZ + bytes);

	SET_VARSIZE(joined, VARHDRSZ + bytes);
	memcpy(VARDATA(joined), VARDATA_ANY(longer), bytes);
	/* Ids beyond the shorter bitmap have their bits from the longer one. */
	for (Size i = 0; i < VARSIZE_ANY_EXHDR(shorter); i++)
		VARDATA(joined)[i] = (char) (VARDATA(joined)[i] | VARDATA_ANY(shorter)[i]);
	PG_RETURN_BYTEA_P(joined);
}

/* referenced_by_stacks() -> bytea: locations that nodes of the stack tree refer to */
PGDLLEXPORT Datum
profstore_referenced_by_stacks(PG_FUNCTION_ARGS)
{
	Relation table = pfs_table_open("stack_chunks", AccessShareLock);
	SysScanDesc scan = systable_beginscan(table, InvalidOid, false, GetActiveSnapshot(), 0, NULL);
	MemoryContext scratch = AllocSetContextCreate(CurrentMemoryContext, "profstore stack chunk",
												  ALLOCSET_DEFAULT_SIZES);
	Bitmap locations;
	PfsChunkNodes nodes = { 0 };
	HeapTuple tuple;

	bitmap_init(&locations, pfs_names_greatest_id(&pfs_location_names));
	pfs_chunk_nodes_reserve(&nodes, PFS_CHUNK_MAX_NODES);
	while ((tuple = systable_getnext(scan)) != NULL)
	{
		MemoryContext caller = MemoryContextSwitchTo(scratch);
		PfsStoredChunk chunk;

		CHECK_FOR_INTERRUPTS();
		pfs_stored_chunk_read(tuple, RelationGetDescr(table), &chunk);
		pfs_stored_chunk_decode(&chunk, &nodes);
		/* nodes keeps its arrays, which belong to the outer context. */
		MemoryContextSwitchTo(caller);
		MemoryContextReset(scratch);
		for (uint32 i = 0; i < nodes.node_count; i++)
			bitmap_add(&locations, nodes.locations[i]);
	}
	systable_endscan(scan);
	MemoryContextDelete(scratch);
	table_close(table, NoLock);
	PG_RETURN_BYTEA_P(locations.bytes);
}

/* Ids that locations refer to. */
typedef struct Named
{
	Bitmap functions;
	Bitmap mappings;
} Named;

static void
references_add_location(const PfsNameRow *row, void *argument)
{
	Named *named = argument;

	for (uint32 i = 0; i < row->location.line_count; i++)
		bitmap_add(&named->functions, row->location.function_ids[i]);
	bitmap_add(&named->mappings, row->location.mapping);
}

/* referenced_by_locations(OUT functions bytea, OUT mappings bytea) */
PGDLLEXPORT Datum
profstore_referenced_by_locations(PG_FUNCTION_ARGS)
{
	TupleDesc descriptor;
	Named named;
	bool nulls[2] = { false };
	Datum values[2];

	if (get_call_result_type(fcinfo, NULL, &descriptor) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "referenced_by_locations must return a row");
	bitmap_init(&named.functions, pfs_names_greatest_id(&pfs_function_names));
	bitmap_init(&named.mappings, greatest_id("mappings"));
	pfs_names_read_all(&pfs_location_names, references_add_location, &named);
	values[0] = PointerGetDatum(named.functions.bytes);
	values[1] = PointerGetDatum(named.mappings.bytes);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(descriptor), values, nulls)));
}
