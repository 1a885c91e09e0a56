/*
 * leaves.c
 *		Changes leaves.
 *
 * Entries to add and to remove are processed in order. All entries that belong in one leaf are
 * merged with it in one step. A leaf that has become too long is divided into equal parts, and the
 * first part replaces it.
 */
#include "profstore.h"

#include "access/htup_details.h"
#include "access/stratnum.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "miscadmin.h"
#include "utils/fmgroids.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "base/arrays.h"
#include "codec/bytes.h"
#include "codec/crc32c.h"
#include "dictionary/seal/leaves.h"

/*
 * Most bytes of a leaf's entries: few enough that the row needs no TOAST and rows fill a page well.
 */
#define LEAF_BYTES 1792

/* A leaf that is being changed, and where the next one begins. */
typedef struct Leaf
{
	bool is_stored;
	ItemPointerData tid;
	PfsNameLeaf leaf;
	bool is_last;
	int64 end;
} Leaf;

void
pfs_name_entries_add(PfsNameEntries *entries, const PfsNameTable *names, const uint8 *key,
					 const PfsNameRow *utf8)
{
	if (entries->digests == NULL)
		PFS_RESERVE(entries->digests, entries->capacity, 64);
	else
		PFS_RESERVE_IN(GetMemoryChunkContext(entries->digests), entries->digests, entries->capacity,
					   entries->count + 1);
	/* The entry has the digest's bytes and the id. */
	entries->digests[entries->count++] = pfs_name_digest_of(names, key, utf8);
}

/* Finds where the leaf after this one begins. */
static void
find_end(PfsNameScan *scan, Leaf *leaf)
{
	Relation index = scan->index;
	IndexScanDesc behind = pfs_index_beginscan(scan->table, index, scan->scan->xs_snapshot, 1);
	TupleTableSlot *slot = table_slot_create(scan->table, NULL);
	ScanKeyData more;

	/* The index is on the lowest key of each leaf, so the next larger one is the next leaf. */
	ScanKeyInit(&more, 1, BTGreaterStrategyNumber, F_INT8GT, Int64GetDatum(leaf->leaf.lowest));
	index_rescan(behind, &more, 1, NULL, 0);
	leaf->is_last = !index_getnext_slot(behind, ForwardScanDirection, slot);
	if (!leaf->is_last)
	{
		bool is_null;

		leaf->end = DatumGetInt64(slot_getattr(slot, PFS_NAME_LEAF_LOWEST, &is_null));
	}
	ExecDropSingleTupleTableSlot(slot);
	index_endscan(behind);
}

static Leaf
find_leaf(PfsNameScan *scan, int64 key)
{
	/* If there is no leaf yet, one is made that begins at the lowest key. */
	Leaf leaf = { .leaf = { .lowest = PG_INT64_MIN } };

	leaf.is_stored = pfs_name_leaves_find(scan, key, &leaf.leaf);
	if (leaf.is_stored)
		leaf.tid = scan->slot->tts_tid;
	find_end(scan, &leaf);
	return leaf;
}

/* Returns how many digests at the start of the list belong in the leaf. */
static uint32
count_inside(const PfsNameTable *names, const Leaf *leaf, const PfsNameDigest *digests,
			 uint32 count)
{
	uint32 inside = 0;

	while (inside < count &&
		   /* Digests are sorted, so those of one leaf are neighbours. */
		   (leaf->is_last || pfs_name_digest_key(names, digests[inside].bytes) < leaf->end))
		inside++;
	return inside;
}

static void
leaf_put_entry(const PfsNameTable *names, uint8 *entry, const PfsNameDigest *digest)
{
	memcpy(entry, digest->bytes, names->digest_bytes);
	pfs_store32(entry + names->digest_bytes, digest->item);
}

/* Returns how many digests at the start of the list come before the entry. */
static uint32
count_before(const PfsNameDigest *entry, const PfsNameDigest *digests, uint32 count)
{
	uint32 before = 0;

	/* The lists are sorted, so the search ends at the first that does not come before. */
	while (before < count && pfs_name_digests_compare(&digests[before], entry) < 0)
		before++;
	return before;
}

/* Merges the entries of a leaf with added and removed ones. Returns the number of entries. */
static uint32
leaf_merge(const PfsNameTable *names, const PfsNameLeaf *leaf, const PfsNameDigest *added,
		   uint32 added_count, const PfsNameDigest *removed, uint32 removed_count, uint8 *merged)
{
	uint32 entry_bytes = pfs_name_entry_bytes(names);
	uint32 count = 0;

	for (uint32 i = 0; i < leaf->count; i++)
	{
		PfsNameDigest entry = pfs_name_leaf_entry(names, leaf, i);
		uint32 before = count_before(&entry, added, added_count);
		uint32 gone = count_before(&entry, removed, removed_count);

		/* Added entries come before the stored one if their digests are smaller. */
		for (uint32 j = 0; j < before; j++)
			leaf_put_entry(names, merged + (Size) count++ * entry_bytes, &added[j]);
		added += before;
		added_count -= before;
		removed += gone;
		removed_count -= gone;
		/* Entries before this one in removed[] had no counterpart in the leaf. */
		if (removed_count == 0 || pfs_name_digests_compare(removed, &entry) != 0)
			leaf_put_entry(names, merged + (Size) count++ * entry_bytes, &entry);
	}
	for (uint32 j = 0; j < added_count; j++)
		leaf_put_entry(names, merged + (Size) count++ * entry_bytes, &added[j]);
	return count;
}

static HeapTuple
make_row(const PfsNameTable *names, Relation table, int64 lowest, const uint8 *entries,
		 uint32 count)
{
	Size length = PFS_NAME_LEAF_HEADER_SIZE + (Size) count * pfs_name_entry_bytes(names);
	bytea *stored = palloc0(VARHDRSZ + length);
	uint8 *bytes = (uint8 *) VARDATA(stored);
	Datum values[PFS_NAME_LEAF_COLUMNS];
	bool nulls[PFS_NAME_LEAF_COLUMNS] = { false };

	/* Bytes 0 to 3 are the checksum of all that follow. */
	bytes[4] = PFS_NAME_LEAF_VERSION;
	bytes[5] = (uint8) names->digest_bytes;
	memcpy(bytes + PFS_NAME_LEAF_HEADER_SIZE, entries, length - PFS_NAME_LEAF_HEADER_SIZE);
	pfs_store32(bytes, pfs_crc32c(bytes + 4, length - 4));
	SET_VARSIZE(stored, VARHDRSZ + length);
	values[PFS_NAME_LEAF_LOWEST - 1] = Int64GetDatum(lowest);
	values[PFS_NAME_LEAF_ENTRIES - 1] = PointerGetDatum(stored);
	return heap_form_tuple(RelationGetDescr(table), values, nulls);
}

/*
 * Returns the length of the next part: at least the wanted length, and longer if entries with equal
 * keys would be separated.
 */
static uint32
leaf_part_length(const PfsNameTable *names, const uint8 *entries, uint32 count, uint32 wanted)
{
	uint32 entry_bytes = pfs_name_entry_bytes(names);
	uint32 length = Min(wanted, count);

	/* A search reads one leaf, so equal keys must be in one. */
	while (length < count &&
		   pfs_name_digest_key(names, entries + (Size) length * entry_bytes) ==
			   pfs_name_digest_key(names, entries + (Size) (length - 1) * entry_bytes))
		length++;
	return length;
}

/*
 * Writes a leaf's entries, as one row or, if they are too many, as several parts of equal length.
 */
static void
leaf_store(const PfsNameTable *names, Relation table, Leaf *leaf, const uint8 *entries,
		   uint32 count)
{
	uint32 entry_bytes = pfs_name_entry_bytes(names);
	uint32 most = LEAF_BYTES / entry_bytes;
	uint32 wanted = most;

	/* The last entry was removed. */
	if (count == 0 && leaf->is_stored)
		CatalogTupleDelete(table, &leaf->tid);
	if (count > most)
	{
		/* Parts are three quarters full, so that each has room for later entries. */
		uint32 parts = (count + most * 3 / 4 - 1) / (most * 3 / 4);

		wanted = (count + parts - 1) / parts;
	}
	for (uint32 first = 0; first < count;)
	{
		const uint8 *part = entries + (Size) first * entry_bytes;
		uint32 length = leaf_part_length(names, part, count - first, wanted);
		/* The first part keeps the leaf's lowest key, which may be less than its first entry's. */
		int64 lowest = first == 0 ? leaf->leaf.lowest : pfs_name_digest_key(names, part);
		HeapTuple tuple = make_row(names, table, lowest, part, length);

		if (first == 0 && leaf->is_stored)
			CatalogTupleUpdate(table, &leaf->tid, tuple);
		else
			CatalogTupleInsert(table, tuple);
		first += length;
	}
}

/*
 * Changes the next leaf that an entry affects, and moves both lists past the entries that belong in
 * it.
 */
static void
change_one(PfsNameScan *scan, PfsNameEntries *added, PfsNameEntries *removed)
{
	const PfsNameTable *names = scan->names;
	/* The smaller of the first entries of both lists determines the leaf. */
	const uint8 *first = added->count == 0 ? removed->digests->bytes : added->digests->bytes;
	Leaf leaf;
	uint32 added_count;
	uint32 removed_count;
	uint8 *merged;
	uint32 count;

	if (removed->count > 0 &&
		memcmp(removed->digests->bytes, first, sizeof(removed->digests->bytes)) < 0)
		first = removed->digests->bytes;
	leaf = find_leaf(scan, pfs_name_digest_key(names, first));
	added_count = count_inside(names, &leaf, added->digests, added->count);
	removed_count = count_inside(names, &leaf, removed->digests, removed->count);
	/* Removed entries may be missing in the leaf, so they do not reduce the room. */
	merged =
		palloc_extended(((Size) leaf.leaf.count + added_count + 1) * pfs_name_entry_bytes(names),
						MCXT_ALLOC_HUGE);
	count = leaf_merge(names, &leaf.leaf, added->digests, added_count, removed->digests,
					   removed_count, merged);
	leaf_store(names, scan->table, &leaf, merged, count);
	added->digests += added_count;
	added->count -= added_count;
	removed->digests += removed_count;
	removed->count -= removed_count;
}

void
pfs_name_leaves_change(const PfsNameTable *names, PfsNameEntries *added, PfsNameEntries *removed)
{
	static PfsNameDigest none;
	/* An empty list needs a digest to which a pointer may point, though it is not read. */
	PfsNameEntries added_left = added == NULL ? (PfsNameEntries){ &none } : *added;
	PfsNameEntries removed_left = removed == NULL ? (PfsNameEntries){ &none } : *removed;
	MemoryContext scratch =
		AllocSetContextCreate(CurrentMemoryContext, "profstore leaf", ALLOCSET_DEFAULT_SIZES);
	PfsNameScan scan;
	Snapshot snapshot;

	/* Rows that this transaction has written must be visible for the latest snapshot. */
	CommandCounterIncrement();
	snapshot = RegisterSnapshot(GetLatestSnapshot());
	pfs_name_digests_sort(added_left.digests, added_left.count);
	pfs_name_digests_sort(removed_left.digests, removed_left.count);
	pfs_name_leaves_begin(&scan, names, snapshot, RowExclusiveLock);
	while (added_left.count > 0 || removed_left.count > 0)
	{
		MemoryContext caller = MemoryContextSwitchTo(scratch);

		CHECK_FOR_INTERRUPTS();
		change_one(&scan, &added_left, &removed_left);
		MemoryContextSwitchTo(caller);
		MemoryContextReset(scratch);
	}
	pfs_name_scan_end(&scan);
	UnregisterSnapshot(snapshot);
	MemoryContextDelete(scratch);
	CommandCounterIncrement();
}
