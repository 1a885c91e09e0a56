/*
 * content_rows.c
 *		Interns rows of the dictionary by content, many in one call: finds stored ones, stores
 *		new ones.
 */
#include "profstore.h"

#include "access/genam.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_collation.h"
#include "commands/sequence.h"
#include "miscadmin.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "base/arrays.h"
#include "base/relations.h"
#include "dictionary/cache/cache.h"
#include "dictionary/cache/epoch.h"
#include "dictionary/intern/content_rows.h"
#include "dictionary/seal/row_writer.h"

/* Hash entry of a distinct item. */
typedef struct Distinct
{
	uint32 place;
	uint32 hash;
	char status;
} Distinct;

/* All items, for the comparison function of the hash. */
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

void
pfs_interning_begin(void)
{
	/*
	 * A writer keeps the ids, so the rows must survive a crash, even with synchronous_commit off.
	 */
	ForceSyncCommit();
	/* Rows that this transaction has interned before must be found. */
	CommandCounterIncrement();
	PushActiveSnapshot(GetTransactionSnapshot());
	/* The pin reads the epoch with the snapshot just pushed. */
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

	/* A row's texts are compared one by one, and detoasted copies would add up. */
	if ((Pointer) plain != DatumGetPointer(stored))
		pfree(plain);
	return is_equal;
}

uint64
pfs_texts_hash(const Datum *texts, int count, int64 seed)
{
	Datum hash = Int64GetDatum(seed);

	/* From the last text to the first, as the SQL function content_hash() nests its calls. */
	for (int i = count; i-- > 0;)
		hash = DirectFunctionCall2Coll(hashtextextended, DEFAULT_COLLATION_OID, texts[i], hash);
	return (uint64) DatumGetInt64(hash);
}

/*
 * Moves the distinct items to the front, in their order. places[i] is the new position of item i.
 */
static uint32
make_distinct(const PfsContentKind *kind, void *items, uint32 count, uint32 *places)
{
	Items all = { kind, items };
	distinct_hash *table = distinct_create(CurrentMemoryContext, count, &all);
	uint32 distinct_count = 0;

	for (uint32 i = 0; i < count; i++)
	{
		bool found;

		/* the hash refers to earlier positions, which stay as they are */
		memmove(item_at(kind, items, distinct_count), item_at(kind, items, i), kind->item_bytes);
		places[i] = distinct_insert(table, distinct_count, &found)->place;
		distinct_count += !found;
	}
	distinct_destroy(table);
	return distinct_count;
}

static const char *
table_of(const PfsContentKind *kind)
{
	return kind->names == NULL ? kind->table : pfs_young_table(kind->names);
}

/* Returns the least id of the stored rows that match the item; 0 if there is none. */
static int32
find_least(const PfsContentKind *kind, IndexScanDesc scan, TupleTableSlot *slot,
		   const PfsContentItem *item)
{
	int32 least = 0;
	ScanKeyData key;

	ScanKeyInit(&key, 1, BTEqualStrategyNumber, F_INT8EQ, Int64GetDatum((int64) item->hash));
	index_rescan(scan, &key, 1, NULL, 0);
	while (index_getnext_slot(scan, ForwardScanDirection, slot))
	{
		int32 id;

		slot_getallattrs(slot);
		id = DatumGetInt32(slot->tts_values[0]);
		/* The comparison of content is the dearer test. */
		if ((least == 0 || id < least) && kind->matches(slot->tts_values, item, kind->context))
			least = id;
	}
	return least;
}

/* Searches all items. Returns how many are not stored. */
static uint32
find_all(const PfsContentKind *kind, void *items, uint32 count)
{
	Relation table = pfs_table_open(table_of(kind), AccessShareLock);
	Relation index =
		index_open(pfs_relation_oid(psprintf("%s_content", table_of(kind))), AccessShareLock);
	TupleTableSlot *slot = table_slot_create(table, NULL);
	IndexScanDesc scan = pfs_index_beginscan(table, index, GetActiveSnapshot(), 1);
	uint32 missing = 0;

	for (uint32 i = 0; i < count; i++)
		/* 0 means not found; sequences begin at 1. */
		item_at(kind, items, i)->id = 0;
	/* All items at once, because a chunk of sealed rows holds many of them. */
	if (kind->find_sealed != NULL)
		kind->find_sealed(items, count, kind->context);
	for (uint32 i = 0; i < count; i++)
	{
		PfsContentItem *item = item_at(kind, items, i);

		CHECK_FOR_INTERRUPTS();
		if (item->id == 0)
			item->id = kind->find != NULL ? kind->find(scan, slot, item, kind->context)
										  : find_least(kind, scan, slot, item);
		missing += item->id == 0;
	}
	index_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	index_close(index, AccessShareLock);
	table_close(table, NoLock);
	return missing;
}

/* Adds a row, with a new id in its first column. */
static void
content_add_row(PfsRowWriter *writer, const PfsContentKind *kind, Oid sequence,
				PfsContentItem *item)
{
	TupleTableSlot *slot = pfs_row_writer_add(writer);

	item->id = (int32) nextval_internal(sequence, false);
	slot->tts_values[0] = Int32GetDatum(item->id);
	kind->fill(slot->tts_values, slot->tts_isnull, item, kind->context);
}

static void
store_missing(const PfsContentKind *kind, void *items, uint32 count)
{
	PfsRowWriter *writer = pfs_row_writer_begin(table_of(kind));
	Oid sequence = pfs_relation_oid(kind->sequence);

	for (uint32 i = 0; i < count; i++)
	{
		PfsContentItem *item = item_at(kind, items, i);

		if (item->id == 0)
			content_add_row(writer, kind, sequence, item);
	}
	pfs_row_writer_end(writer);
}

void
pfs_content_intern(const PfsContentKind *kind, void *items, uint32 count, int32 *ids)
{
	uint32 *places = PFS_ARRAY(uint32, count);
	uint32 distinct_count = make_distinct(kind, items, count, places);
	uint32 missing_count = find_all(kind, items, distinct_count);

	/* Also if nothing is missing: a stored location may get a better answer. */
	if (kind->check != NULL)
		kind->check(items, distinct_count);
	if (missing_count > 0)
		store_missing(kind, items, distinct_count);
	for (uint32 i = 0; i < count; i++)
		/* Items were moved to the front, and places[] says where each is. */
		ids[i] = item_at(kind, items, places[i])->id;
	pfree(places);
}
