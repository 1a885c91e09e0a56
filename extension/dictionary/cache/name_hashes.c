/*
 * name_hashes.c
 *		Reads and searches leaves, the index of sealed rows by content.
 */
#include "profstore.h"

#include "access/htup_details.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "access/tableam.h"
#include "miscadmin.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "base/relations.h"
#include "codec/bytes.h"
#include "codec/crc32c.h"
#include "dictionary/cache/name_hashes.h"

/* Column of profstore.dictionary_key. */
#define KEY_COLUMN 2

bool
pfs_name_key_read(Snapshot snapshot, uint8 *key)
{
	Relation table;
	SysScanDesc scan;
	HeapTuple tuple;
	bool is_there;

	/* An earlier version of the extension has no such table. */
	if (!pfs_names_are_packed())
		return false;
	table = pfs_table_open("dictionary_key", AccessShareLock);
	scan = systable_beginscan(table, InvalidOid, false, snapshot, 0, NULL);
	tuple = systable_getnext(scan);
	is_there = HeapTupleIsValid(tuple);
	if (is_there)
	{
		bool is_null;
		const struct varlena *stored = PG_DETOAST_DATUM_PACKED(
			heap_getattr(tuple, KEY_COLUMN, RelationGetDescr(table), &is_null));

		if (VARSIZE_ANY_EXHDR(stored) != PFS_SIPHASH_KEY_BYTES)
			ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED),
							errmsg("table \"profstore.dictionary_key\" holds a key of %zu bytes",
								   (size_t) VARSIZE_ANY_EXHDR(stored))));
		memcpy(key, VARDATA_ANY(stored), PFS_SIPHASH_KEY_BYTES);
	}
	systable_endscan(scan);
	table_close(table, NoLock);
	return is_there;
}

PfsNameDigest
pfs_name_digest_of(const PfsNameTable *names, const uint8 *key, const PfsNameRow *utf8)
{
	PfsNameDigest digest = { .item = (uint32) utf8->id };

	names->digest(key, utf8, digest.bytes);
	/* Digests of all kinds are compared over their whole length. */
	memset(digest.bytes + names->digest_bytes, 0, sizeof(digest.bytes) - names->digest_bytes);
	return digest;
}

int
pfs_name_digests_compare(const void *a, const void *b)
{
	const PfsNameDigest *left = a;
	const PfsNameDigest *right = b;
	int order = memcmp(left->bytes, right->bytes, sizeof(left->bytes));

	return order != 0 ? order : (left->item > right->item) - (left->item < right->item);
}

void
pfs_name_digests_sort(PfsNameDigest *digests, uint32 count)
{
	qsort(digests, count, sizeof(PfsNameDigest), pfs_name_digests_compare);
}

int64
pfs_name_digest_key(const PfsNameTable *names, const uint8 *digest)
{
	uint64 key = 0;

	for (uint32 i = 0; i < sizeof(key); i++)
		key = key << 8 | (i < names->digest_bytes ? digest[i] : 0);
	/* With the sign bit inverted, signed keys sort as the bytes do. */
	return (int64) (key ^ (uint64) PG_INT64_MIN);
}

bool
pfs_name_leaf_check(const PfsNameTable *names, int64 lowest, const struct varlena *entries,
					PfsNameLeaf *leaf)
{
	const uint8 *bytes = (const uint8 *) VARDATA_ANY(entries);
	Size length = VARSIZE_ANY_EXHDR(entries);
	uint32 entry_bytes = pfs_name_entry_bytes(names);

	/* Every field is checked before the count is computed from the length. */
	if (length < PFS_NAME_LEAF_HEADER_SIZE ||
		(length - PFS_NAME_LEAF_HEADER_SIZE) % entry_bytes != 0 ||
		pfs_load32(bytes) != pfs_crc32c(bytes + 4, length - 4) ||
		bytes[4] != PFS_NAME_LEAF_VERSION || bytes[5] != names->digest_bytes)
		return false;
	leaf->lowest = lowest;
	leaf->entries = bytes + PFS_NAME_LEAF_HEADER_SIZE;
	leaf->count = (uint32) ((length - PFS_NAME_LEAF_HEADER_SIZE) / entry_bytes);
	return true;
}

/* Like pfs_name_leaf_check(), but raises DATA_CORRUPTED. */
static void
name_leaf_read(const PfsNameTable *names, int64 lowest, const struct varlena *entries,
			   PfsNameLeaf *leaf)
{
	if (!pfs_name_leaf_check(names, lowest, entries, leaf))
		ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED),
						errmsg("the row of \"profstore.%s\" from " INT64_FORMAT " on is damaged",
							   names->hashes, lowest),
						errhint("Restore the row from a backup. If there is none, delete it: its "
								"names are then stored again, under new ids.")));
}

PfsNameDigest
pfs_name_leaf_entry(const PfsNameTable *names, const PfsNameLeaf *leaf, uint32 entry)
{
	const uint8 *bytes = leaf->entries + (Size) entry * pfs_name_entry_bytes(names);
	PfsNameDigest digest = { .item = pfs_load32(bytes + names->digest_bytes) };

	memcpy(digest.bytes, bytes, names->digest_bytes);
	return digest;
}

void
pfs_name_leaves_begin(PfsNameScan *scan, const PfsNameTable *names, Snapshot snapshot,
					  LOCKMODE lock)
{
	pfs_name_scan_begin(scan, names, names->hashes, snapshot, lock);
}

bool
pfs_name_leaves_find(PfsNameScan *scan, int64 key, PfsNameLeaf *leaf)
{
	MemoryContext caller = MemoryContextSwitchTo(scan->context);
	ScanKeyData at_most;
	bool is_there;

	/*
	 * Leaves are keyed by their lowest entry, so the last one that is not greater has the digest,
	 * if any has.
	 */
	ScanKeyInit(&at_most, 1, BTLessEqualStrategyNumber, F_INT8LE, Int64GetDatum(key));
	index_rescan(scan->scan, &at_most, 1, NULL, 0);
	is_there = index_getnext_slot(scan->scan, BackwardScanDirection, scan->slot);
	MemoryContextSwitchTo(caller);
	if (!is_there)
		return false;
	slot_getallattrs(scan->slot);
	name_leaf_read(scan->names, DatumGetInt64(scan->slot->tts_values[PFS_NAME_LEAF_LOWEST - 1]),
				   PG_DETOAST_DATUM_PACKED(scan->slot->tts_values[PFS_NAME_LEAF_ENTRIES - 1]),
				   leaf);
	return true;
}

/* Returns the position of the first entry that is not less than the digest. */
static uint32
leaf_find_entry(const PfsNameTable *names, const PfsNameLeaf *leaf, const uint8 *digest)
{
	uint32 entry_bytes = pfs_name_entry_bytes(names);
	uint32 low = 0;
	uint32 high = leaf->count;

	while (low < high)
	{
		uint32 middle = (low + high) / 2;

		if (memcmp(leaf->entries + (Size) middle * entry_bytes, digest, names->digest_bytes) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * Returns true if a digest belongs in the leaf. The digest must not be less than those searched
 * before.
 */
static bool
is_in_reach(const PfsNameTable *names, const PfsNameLeaf *leaf, const uint8 *digest)
{
	return leaf->count > 0 &&
		   memcmp(digest, leaf->entries + (Size) (leaf->count - 1) * pfs_name_entry_bytes(names),
				  names->digest_bytes) <= 0;
}

void
pfs_name_hashes_find(const PfsNameTable *names, PfsNameDigest *digests, uint32 count,
					 PfsNameFoundFn function, void *argument)
{
	uint32 entry_bytes = pfs_name_entry_bytes(names);
	PfsNameLeaf leaf = { 0 };
	PfsNameScan scan;

	pfs_name_digests_sort(digests, count);
	pfs_name_leaves_begin(&scan, names, GetActiveSnapshot(), AccessShareLock);
	for (uint32 i = 0; i < count; i++)
	{
		const uint8 *digest = digests[i].bytes;

		CHECK_FOR_INTERRUPTS();
		/* Digests are sorted, so the leaf of the digest before often has this one, too. */
		if (!is_in_reach(names, &leaf, digest) &&
			!pfs_name_leaves_find(&scan, pfs_name_digest_key(names, digest), &leaf))
		{
			/* No leaf begins at or before this digest. */
			leaf.count = 0;
			continue;
		}
		for (uint32 entry = leaf_find_entry(names, &leaf, digest);
			 entry < leaf.count &&
			 memcmp(leaf.entries + (Size) entry * entry_bytes, digest, names->digest_bytes) == 0;
			 entry++)
			function(digests[i].item, (int32) pfs_name_leaf_entry(names, &leaf, entry).item,
					 argument);
	}
	pfs_name_scan_end(&scan);
}
