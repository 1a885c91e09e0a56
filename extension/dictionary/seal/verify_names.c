/*
 * verify_names.c
 *		Checks packed functions and locations.
 *
 * 1. All leaves are read in the order of the index: their entries form one sorted array.
 * 2. All chunks are read: each row marks its entry in the array.
 * 3. Entries without a mark are reported, and young rows whose ids are also sealed.
 */
#include "profstore.h"

#include "access/stratnum.h"
#include "access/table.h"
#include "access/tableam.h"
#include "miscadmin.h"
#include "utils/fmgroids.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "base/arrays.h"
#include "base/relations.h"
#include "dictionary/cache/name_chunks.h"
#include "dictionary/cache/name_hashes.h"
#include "dictionary/cache/rows.h"
#include "dictionary/seal/verify_names.h"

typedef struct Entry
{
	PfsNameDigest digest; /* digest of the row; its item is the id of the row */
	bool is_met;
} Entry;

typedef struct Verification
{
	const PfsNameTable *names;
	PfsNameProblemFn function;
	void *argument;
	MemoryContext context;
	uint8 key[PFS_SIPHASH_KEY_BYTES];
	Entry *entries;
	uint32 entry_count;
	uint32 entry_capacity;
	int32 *sealed;
	uint32 sealed_count;
	uint32 sealed_capacity;
} Verification;

static void
finding_report(const Verification *verification, const char *table, int64 row, const char *problem)
{
	verification->function(verification->argument, table, row, problem);
}

/* Adds the entries of a leaf, and checks their order. */
static void
add_entries(Verification *verification, const PfsNameLeaf *leaf)
{
	const PfsNameTable *names = verification->names;
	const char *problem = leaf->count == 0 ? "the row has no entries" : NULL;

	PFS_RESERVE_IN(verification->context, verification->entries, verification->entry_capacity,
				   verification->entry_count + leaf->count);
	for (uint32 i = 0; i < leaf->count; i++)
	{
		Entry *entry = &verification->entries[verification->entry_count];

		*entry = (Entry){ .digest = pfs_name_leaf_entry(names, leaf, i) };
		/* The index is searched by lowest, so an entry before it cannot be found. */
		if (pfs_name_digest_key(names, entry->digest.bytes) < leaf->lowest ||
			(verification->entry_count > 0 &&
			 pfs_name_digests_compare(&entry[-1].digest, &entry->digest) > 0))
			problem = "entries are out of order";
		verification->entry_count++;
	}
	if (problem != NULL)
		finding_report(verification, names->hashes, leaf->lowest, problem);
}

/* Reads all leaves in the order of their keys and collects their entries. */
static void
read_leaves(Verification *verification)
{
	const PfsNameTable *names = verification->names;
	PfsNameScan scan;
	ScanKeyData any;

	pfs_name_leaves_begin(&scan, names, GetActiveSnapshot(), AccessShareLock);
	ScanKeyInit(&any, 1, BTGreaterEqualStrategyNumber, F_INT8GE, Int64GetDatum(PG_INT64_MIN));
	index_rescan(scan.scan, &any, 1, NULL, 0);
	while (index_getnext_slot(scan.scan, ForwardScanDirection, scan.slot))
	{
		PfsNameLeaf leaf;
		int64 lowest;

		CHECK_FOR_INTERRUPTS();
		slot_getallattrs(scan.slot);
		lowest = DatumGetInt64(scan.slot->tts_values[PFS_NAME_LEAF_LOWEST - 1]);
		if (pfs_name_leaf_check(names, lowest,
								PG_DETOAST_DATUM_PACKED(
									scan.slot->tts_values[PFS_NAME_LEAF_ENTRIES - 1]),
								&leaf))
			add_entries(verification, &leaf);
		else
			finding_report(verification, names->hashes, lowest, "the row is damaged");
	}
	pfs_name_scan_end(&scan);
}

/* Marks the entry of a row; returns false if it has none. */
static bool
digest_meet(Verification *verification, const PfsNameRow *utf8)
{
	PfsNameDigest digest = pfs_name_digest_of(verification->names, verification->key, utf8);
	uint32 low = 0;
	uint32 high = verification->entry_count;

	while (low < high)
	{
		uint32 middle = (low + high) / 2;

		if (pfs_name_digests_compare(&verification->entries[middle].digest, &digest) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	/*
	 * Equal digests are told apart by the id, so an entry is met twice only if it stands there
	 * twice.
	 */
	for (; low < verification->entry_count; low++)
	{
		Entry *entry = &verification->entries[low];

		if (pfs_name_digests_compare(&entry->digest, &digest) != 0)
			return false;
		if (!entry->is_met)
			return entry->is_met = true;
	}
	return false;
}

/* Checks that each row of a chunk has an entry, and remembers its id. */
static void
verify_chunk(const PfsNameChunk *chunk, void *argument)
{
	Verification *verification = argument;
	const PfsNameTable *names = verification->names;
	PfsNameRow rows[PFS_NAME_CHUNK_ROWS];
	const char *problem = pfs_name_chunk_check(names, chunk, rows);
	uint32 lost = 0;

	if (problem != NULL)
	{
		finding_report(verification, names->chunks, chunk->number, problem);
		return;
	}
	PFS_RESERVE_IN(verification->context, verification->sealed, verification->sealed_capacity,
				   verification->sealed_count + chunk->count);
	for (uint32 i = 0; i < chunk->count; i++)
	{
		verification->sealed[verification->sealed_count++] = rows[i].id;
		/* A name without an entry is stored again by the next writer, under a new id. */
		lost += !digest_meet(verification, &rows[i]);
	}
	if (lost > 0)
		finding_report(verification, names->chunks, chunk->number,
					   psprintf("%u names cannot be found by their content", lost));
}

static void
tell_young(TupleTableSlot *slot, void *argument)
{
	const Verification *verification = argument;

	finding_report(verification, verification->names->rows, DatumGetInt32(slot->tts_values[0]),
				   "the id is packed as well");
}

static void
names_verify(const PfsNameTable *names, PfsNameProblemFn function, void *argument)
{
	Verification verification = { names, function, argument };
	uint32 left = 0;

	verification.context = AllocSetContextCreate(CurrentMemoryContext, "profstore verification",
												 ALLOCSET_DEFAULT_SIZES);
	(void) pfs_name_key_read(GetActiveSnapshot(), verification.key);
	read_leaves(&verification);
	pfs_name_chunks_each(names, verify_chunk, &verification);
	for (uint32 i = 0; i < verification.entry_count; i++)
		left += !verification.entries[i].is_met;
	if (left > 0)
		finding_report(&verification, names->hashes, 0,
					   psprintf("%u entries refer to names that are not packed", left));
	/* An id must be in one place only. */
	if (verification.sealed_count > 0)
		pfs_rows_read(names->rows, verification.sealed,
					  pfs_ids_sort(verification.sealed, verification.sealed_count), tell_young,
					  &verification);
	MemoryContextDelete(verification.context);
}

void
pfs_names_verify(PfsNameProblemFn function, void *argument)
{
	if (!pfs_names_are_packed())
		return;
	names_verify(&pfs_function_names, function, argument);
	names_verify(&pfs_location_names, function, argument);
}
