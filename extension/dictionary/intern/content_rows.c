/*
 * content_rows.c
 *		Rows of the dictionary by content: known ones found, new ones stored, many in one call.
 */
#include "profstore.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_collation.h"
#include "commands/sequence.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/fmgrprotos.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "base/arrays.h"
#include "base/relations.h"
#include "dictionary/cache/cache.h"
#include "dictionary/cache/epoch.h"
#include "dictionary/intern/content_rows.h"

/* As many rows as COPY stores at once. */
#define BATCH_ROWS 1000

/* The distinct items, by their place. */
typedef struct Distinct
{
	uint32 place;
	uint32 hash;
	char status;
} Distinct;

/* All items, for the table of distinct ones. */
typedef struct Items
{
	const PfsContentKind *kind;
	char *items;
} Items;

static PfsContentItem *
item_at(const PfsContentKind *kind, void *items, uint32 place)
{
	return (PfsContentItem *) ((char *) items + place * kind->item_bytes);
}

static inline const PfsContentItem *
item_of(const void *private_data, uint32 place)
{
	const Items *items = private_data;

	return item_at(items->kind, items->items, place);
}

static inline bool
are_same(const void *private_data, uint32 a, uint32 b)
{
	return ((const Items *) private_data)
		->kind->is_same(item_of(private_data, a), item_of(private_data, b));
}

#define SH_PREFIX		   distinct
#define SH_ELEMENT_TYPE	   Distinct
#define SH_KEY_TYPE		   uint32
#define SH_KEY			   place
#define SH_HASH_KEY(tb, k) ((uint32) item_of((tb)->private_data, k)->hash)
#define SH_EQUAL(tb, a, b) are_same((tb)->private_data, a, b)
#define SH_STORE_HASH
#define SH_GET_HASH(tb, a) ((a)->hash)
#define SH_SCOPE		   static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

/* Rows that go into a table together, and into its indexes. */
typedef struct Writer
{
	Relation table;
	Oid sequence;
	CommandId command_id;
	BulkInsertState bulk;
	EState *estate;
	ResultRelInfo *indexes;
	int count; /* of slots that are filled */
	TupleTableSlot *slots[BATCH_ROWS];
} Writer;

void
pfs_interning_begin(void)
{
	ForceSyncCommit();
	CommandCounterIncrement();
	PushActiveSnapshot(GetTransactionSnapshot());
	pfs_epoch_pin();
}

void
pfs_interning_end(void)
{
	PopActiveSnapshot();
	CommandCounterIncrement();
}

bool
pfs_texts_are_equal(Datum left, Datum right)
{
	struct varlena *a = (struct varlena *) DatumGetPointer(left);
	struct varlena *b = (struct varlena *) DatumGetPointer(right);

	return VARSIZE_ANY_EXHDR(a) == VARSIZE_ANY_EXHDR(b) &&
		   memcmp(VARDATA_ANY(a), VARDATA_ANY(b), VARSIZE_ANY_EXHDR(a)) == 0;
}

bool
pfs_stored_text_is(Datum stored, Datum text)
{
	struct varlena *plain = PG_DETOAST_DATUM_PACKED(stored);
	bool is_equal = pfs_texts_are_equal(PointerGetDatum(plain), text);

	if ((Pointer) plain != DatumGetPointer(stored))
		pfree(plain);
	return is_equal;
}

uint64
pfs_texts_hash(const Datum *texts, int count, int64 seed)
{
	Datum hash = Int64GetDatum(seed);

	for (int i = count; i-- > 0;)
		hash = DirectFunctionCall2Coll(hashtextextended, DEFAULT_COLLATION_OID, texts[i], hash);
	return (uint64) DatumGetInt64(hash);
}

/* Moves the distinct items to the front, in their order; places has for each where it is there. */
static uint32
make_distinct(const PfsContentKind *kind, void *items, uint32 count, uint32 *places)
{
	Items all = { kind, items };
	distinct_hash *table = distinct_create(CurrentMemoryContext, count, &all);
	uint32 distinct_count = 0;

	for (uint32 i = 0; i < count; i++)
	{
		bool found;

		/* the table knows places before this one, which stay as they are */
		memmove(item_at(kind, items, distinct_count), item_at(kind, items, i), kind->item_bytes);
		places[i] = distinct_insert(table, distinct_count, &found)->place;
		distinct_count += !found;
	}
	distinct_destroy(table);
	return distinct_count;
}

/* Returns how many are not stored. */
static uint32
find_all(const PfsContentKind *kind, void *items, uint32 count)
{
	Relation table = pfs_table_open(kind->table, AccessShareLock);
	Relation index =
		index_open(pfs_relation_oid(psprintf("%s_content", kind->table)), AccessShareLock);
	TupleTableSlot *slot = table_slot_create(table, NULL);
	IndexScanDesc scan = pfs_index_beginscan(table, index, GetActiveSnapshot(), 1);
	uint32 missing = 0;

	for (uint32 i = 0; i < count; i++)
	{
		PfsContentItem *item = item_at(kind, items, i);

		CHECK_FOR_INTERRUPTS();
		item->id = kind->find(scan, slot, item, kind->context);
		missing += item->id == 0;
	}
	index_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	index_close(index, AccessShareLock);
	table_close(table, NoLock);
	return missing;
}

static Writer *
begin_writing(const PfsContentKind *kind)
{
	Writer *writer = palloc0(sizeof(Writer));

	writer->table = pfs_table_open(kind->table, RowExclusiveLock);
	writer->sequence = pfs_relation_oid(kind->sequence);
	writer->command_id = GetCurrentCommandId(true);
	writer->bulk = GetBulkInsertState();
	writer->estate = CreateExecutorState();
	writer->indexes = makeNode(ResultRelInfo);
	InitResultRelInfo(writer->indexes, writer->table, 0, NULL, 0);
	ExecOpenIndices(writer->indexes, false);
	return writer;
}

static void
flush(Writer *writer)
{
	MemoryContext caller = MemoryContextSwitchTo(GetPerTupleMemoryContext(writer->estate));

	CHECK_FOR_INTERRUPTS();
	for (int i = 0; i < writer->count; i++)
		ExecStoreVirtualTuple(writer->slots[i]);
	table_multi_insert(writer->table, writer->slots, writer->count, writer->command_id, 0,
					   writer->bulk);
	for (int i = 0; i < writer->count; i++)
	{
		pfs_insert_index_entries(writer->indexes, writer->slots[i], writer->estate);
		ExecClearTuple(writer->slots[i]);
	}
	MemoryContextSwitchTo(caller);
	ResetPerTupleExprContext(writer->estate);
	writer->count = 0;
}

/* Adds a row with an id of its own in the first column. */
static void
add_row(Writer *writer, const PfsContentKind *kind, PfsContentItem *item)
{
	TupleTableSlot *slot;

	if (writer->count == BATCH_ROWS)
		flush(writer);
	if (writer->slots[writer->count] == NULL)
		writer->slots[writer->count] = table_slot_create(writer->table, NULL);
	slot = writer->slots[writer->count++];
	memset(slot->tts_isnull, false, (size_t) slot->tts_tupleDescriptor->natts);
	item->id = (int32) nextval_internal(writer->sequence, false);
	slot->tts_values[0] = Int32GetDatum(item->id);
	kind->fill(slot->tts_values, slot->tts_isnull, item, kind->context);
}

static void
end_writing(Writer *writer)
{
	if (writer->count > 0)
		flush(writer);
	for (int i = 0; i < BATCH_ROWS && writer->slots[i] != NULL; i++)
		ExecDropSingleTupleTableSlot(writer->slots[i]);
	FreeBulkInsertState(writer->bulk);
	ExecCloseIndices(writer->indexes);
	FreeExecutorState(writer->estate);
	table_close(writer->table, NoLock);
	pfree(writer->indexes);
	pfree(writer);
}

static void
store_missing(const PfsContentKind *kind, void *items, uint32 count)
{
	Writer *writer = begin_writing(kind);

	for (uint32 i = 0; i < count; i++)
	{
		PfsContentItem *item = item_at(kind, items, i);

		if (item->id == 0)
			add_row(writer, kind, item);
	}
	end_writing(writer);
}

void
pfs_content_intern(const PfsContentKind *kind, void *items, uint32 count, int32 *ids)
{
	uint32 *places = PFS_ARRAY(uint32, count);
	uint32 distinct_count = make_distinct(kind, items, count, places);
	uint32 missing_count = find_all(kind, items, distinct_count);

	if (kind->check != NULL)
		kind->check(items, distinct_count);
	if (missing_count > 0)
		store_missing(kind, items, distinct_count);
	for (uint32 i = 0; i < count; i++)
		ids[i] = item_at(kind, items, places[i])->id;
	pfree(places);
}
