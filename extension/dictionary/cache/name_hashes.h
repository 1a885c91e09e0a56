/*
 * name_hashes.h
 *		Index of sealed rows by content: rows of function_hashes and location_hashes, called
 *		leaves; internal to the room.
 *
 * An entry is the first bytes of a content's digest, and an id. Entries are sorted by their bytes.
 * A leaf holds those from its lowest key (a digest's first eight bytes) up to that of the next
 * leaf. Each sealed id has exactly one entry, and there are no others.
 *
 * entries  offset  0  u32  CRC-32C of all after it
 *                  4  u8   PFS_NAME_LEAF_VERSION
 *                  5  u8   bytes of a digest
 *                  6  u16  0
 *                  8       entries: digest, u32 id
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

/* The digest of a content that is searched for or added. */
typedef struct PfsNameDigest
{
	uint8 bytes[PFS_SIPHASH_BYTES];
	uint32 item; /* a number of the caller's, such as its position or id */
} PfsNameDigest;

/* A stored leaf. */
typedef struct PfsNameLeaf
{
	int64 lowest;
	uint32 count;
	const uint8 *entries; /* points into the tuple */
} PfsNameLeaf;

/* Reads the key of digests. Returns false if there is none, and so no sealed row. */
bool pfs_name_key_read(Snapshot snapshot, uint8 *key);

/*
 * Returns the digest by which a row is found: as many bytes as are stored, then zeros. Its item is
 * the row's id.
 */
PfsNameDigest pfs_name_digest_of(const PfsNameTable *names, const uint8 *key,
								 const PfsNameRow *utf8);

/*
 * Compares two entries in the order in which entries are stored: by bytes, then by item. For
 * qsort().
 */
int pfs_name_digests_compare(const void *a, const void *b);
void pfs_name_digests_sort(PfsNameDigest *digests, uint32 count);

/*
 * Returns the key by which leaves are ordered: the digest's first eight bytes, padded with zeros if
 * it is shorter.
 */
int64 pfs_name_digest_key(const PfsNameTable *names, const uint8 *digest);

static inline uint32
pfs_name_entry_bytes(const PfsNameTable *names)
{
	return names->digest_bytes + (uint32) sizeof(uint32);
}

/* Fills in a leaf; returns false if it is damaged. */
bool pfs_name_leaf_check(const PfsNameTable *names, int64 lowest, const struct varlena *entries,
						 PfsNameLeaf *leaf);

/* Returns an entry of a leaf as a digest whose item is the entry's id. */
PfsNameDigest pfs_name_leaf_entry(const PfsNameTable *names, const PfsNameLeaf *leaf, uint32 entry);

/* Begins a scan that finds leaves by key. */
void pfs_name_leaves_begin(PfsNameScan *scan, const PfsNameTable *names, Snapshot snapshot,
						   LOCKMODE lock);

/*
 * Finds the leaf in which a key belongs; returns false if there is none. It is valid until the next
 * call.
 */
bool pfs_name_leaves_find(PfsNameScan *scan, int64 key, PfsNameLeaf *leaf);

/* Calls a function for each pair of an item and an id with the same digest. Sorts the digests. */
typedef void (*PfsNameFoundFn)(uint32 item, int32 id, void *argument);
void pfs_name_hashes_find(const PfsNameTable *names, PfsNameDigest *digests, uint32 count,
						  PfsNameFoundFn function, void *argument);

#endif
