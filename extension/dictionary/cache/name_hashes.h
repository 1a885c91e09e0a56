/*
 * name_hashes.h
 *		Sealed rows by content: rows of function_hashes and location_hashes, the leaves; internal to
 *		the room.
 *
 * An entry is the first bytes of a content's digest, and an id. All entries stand in the order of
 * their bytes; a leaf has those from its lowest key, a digest's first eight bytes, to that of the
 * next leaf. Each sealed id has one entry, and there is no other.
 *
 *	entries  offset  0  u32  CRC-32C of all behind it
 *	                 4  u8   PFS_NAME_LEAF_VERSION
 *	                 5  u8   bytes of a digest
 *	                 6  u16  0
 *	                 8       entries: digest, u32 id
 */
#ifndef PFS_NAME_HASHES_H
#define PFS_NAME_HASHES_H

#include "profstore.h"

#include "access/genam.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"

#include "dictionary/cache/name_rows.h"

#define PFS_NAME_LEAF_VERSION	  1
#define PFS_NAME_LEAF_HEADER_SIZE 8

/* Columns of the tables. */
enum
{
	PFS_NAME_LEAF_LOWEST = 1,
	PFS_NAME_LEAF_ENTRIES,
	PFS_NAME_LEAF_COLUMNS = PFS_NAME_LEAF_ENTRIES
};

/* A content that is looked for, or added. */
typedef struct PfsNameDigest
{
	uint8 bytes[PFS_SIPHASH_BYTES];
	uint32 item; /* whatever the caller counts: its place, its id */
} PfsNameDigest;

/* A leaf as it is stored. */
typedef struct PfsNameLeaf
{
	int64 lowest;
	uint32 count;
	const uint8 *entries; /* points into the tuple */
} PfsNameLeaf;

/* The key of digests. False: there is none, so nothing is sealed. */
bool pfs_name_key_read(Snapshot snapshot, uint8 *key);

/* What a row is found by: so much of its digest as is stored, then zeros; its item is the id. */
PfsNameDigest pfs_name_digest_of(const PfsNameTable *names, const uint8 *key,
								 const PfsNameRow *utf8);

/* By their bytes, then by item, as entries are stored. Compare is for qsort. */
int pfs_name_digests_compare(const void *a, const void *b);
void pfs_name_digests_sort(PfsNameDigest *digests, uint32 count);

/* The order of leaves: the first eight bytes, fewer where a digest has fewer. */
int64 pfs_name_digest_key(const PfsNameTable *names, const uint8 *digest);

static inline uint32
pfs_name_entry_bytes(const PfsNameTable *names)
{
	return names->digest_bytes + (uint32) sizeof(uint32);
}

/* False where it is damaged. */
bool pfs_name_leaf_check(const PfsNameTable *names, int64 lowest, const struct varlena *entries,
						 PfsNameLeaf *leaf);

/* The same; raises DATA_CORRUPTED. */
void pfs_name_leaf_read(const PfsNameTable *names, int64 lowest, const struct varlena *entries,
						PfsNameLeaf *leaf);

/* An entry of it; its item is the id. */
PfsNameDigest pfs_name_leaf_entry(const PfsNameTable *names, const PfsNameLeaf *leaf, uint32 entry);

/* Leaves by keys. */
typedef struct PfsNameLeafScan
{
	const PfsNameTable *names;
	Relation table;
	Relation index;
	IndexScanDesc scan;
	TupleTableSlot *slot;
	MemoryContext context; /* of what the scan keeps from one row to the next */
} PfsNameLeafScan;

void pfs_name_leaves_begin(PfsNameLeafScan *scan, const PfsNameTable *names, Snapshot snapshot,
						   LOCKMODE lock);

/* The leaf that a key belongs in. False: there is none. It holds until the next call. */
bool pfs_name_leaves_find(PfsNameLeafScan *scan, int64 key, PfsNameLeaf *leaf);

/* Leaves the lock. */
void pfs_name_leaves_end(PfsNameLeafScan *scan);

/* Calls a function for each item and each id that its digest has; sorts digests. */
typedef void (*PfsNameFoundFn)(uint32 item, int32 id, void *argument);
void pfs_name_hashes_find(const PfsNameTable *names, PfsNameDigest *digests, uint32 count,
						  PfsNameFoundFn function, void *argument);

#endif
