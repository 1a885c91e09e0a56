/*
 * group_table.c
 *		A hash table with open addressing over records in one array.
 *
 * A bucket has a tag of 32 bits of the hash, so a probe seldom reads the record of another group.
 * Keys come in batches, so that the buckets of a whole batch are being fetched into the cache
 * before the first is read.
 */
#include "tableam/nodes/group_table.h"

#include "utils/memutils.h"

#define INITIAL_CAPACITY 256
/* A table with fewer groups than this is never full, whatever the memory limit. */
#define ALWAYS_ROOM		 4096
#define PASS_BITS_MAX	 24

static inline uint64
group_table_mix(uint64 hash)
{
	/* Finalizer of MurmurHash3: each bit of a key affects all bits of the hash. */
	hash ^= hash >> 33;
	hash *= UINT64CONST(0xff51afd7ed558ccd);
	hash ^= hash >> 33;
	hash *= UINT64CONST(0xc4ceb9fe1a85ec53);
	return hash ^ hash >> 33;
}

static inline uint32
tag_of(uint64 hash)
{
	/*
	 * Buckets are chosen by the lowest bits and passes by the highest ones; the tag has mostly
	 * others.
	 */
	return (uint32) (hash >> 24);
}

static uint64
hash_record(const PfsGroupTable *table, const int64 *record)
{
	/* Null keys have the value 0, and the flags begin the hash, so (NULL) and (0) differ. */
	uint64 hash = (uint64) record[table->key_count];

	for (uint32 k = 0; k < table->key_count; k++)
		hash = group_table_mix(hash + (uint64) record[k]);
	return hash;
}

static bool
in_pass(const PfsGroupTable *table, uint64 hash)
{
	return table->pass.bits == 0 || hash >> (64 - table->pass.bits) == table->pass.value;
}

static void
allocate_buckets(PfsGroupTable *table)
{
	/*
	 * Twice as many buckets as groups keep probes short. The sizes are powers of two for the mask.
	 */
	Size bytes = sizeof(PfsGroupBucket) * (Size) table->capacity * 2;

	if (table->buckets != NULL)
		pfree(table->buckets);
	table->bucket_mask = table->capacity * 2 - 1;
	table->buckets = MemoryContextAllocHuge(table->context, bytes);
	memset(table->buckets, 0, bytes);
}

PfsGroupTable *
pfs_group_table_create(uint32 key_count, uint32 state_words, Size memory_limit)
{
	PfsGroupTable *table = palloc0(sizeof(PfsGroupTable));

	table->context = CurrentMemoryContext;
	table->key_count = key_count;
	table->state_word = key_count + 1;
	table->record_words = table->state_word + state_words;
	table->memory_limit = memory_limit;
	table->capacity = INITIAL_CAPACITY;
	/* one record more than the capacity, for group 0 */
	table->records = palloc0(sizeof(int64) * table->record_words * (Size) (table->capacity + 1));
	allocate_buckets(table);
	return table;
}

static void
insert_bucket(PfsGroupTable *table, uint64 hash, uint32 group)
{
	uint32 at = (uint32) hash & table->bucket_mask;

	/* The table always has free buckets, because it has twice the capacity. */
	while (table->buckets[at].group != 0)
		at = (at + 1) & table->bucket_mask;
	table->buckets[at] = (PfsGroupBucket){ tag_of(hash), group };
}

static void
fill_buckets(PfsGroupTable *table)
{
	for (uint32 group = 1; group <= table->count; group++)
		insert_bucket(table, hash_record(table, pfs_group_record(table, group)), group);
}

/* Makes room for a batch of new groups, so that nothing moves during the search. */
static void
group_table_reserve(PfsGroupTable *table, uint32 count)
{
	if (table->count + count <= table->capacity)
		return;
	while (table->count + count > table->capacity)
		table->capacity *= 2;
	table->records = repalloc_huge(table->records, sizeof(int64) * table->record_words *
													   (Size) (table->capacity + 1));
	/* Groups are numbered, so growing changes buckets but no group's number. */
	allocate_buckets(table);
	fill_buckets(table);
}

static inline bool
record_matches(const PfsGroupTable *table, const int64 *record, const int64 *const *keys,
			   int64 nulls, uint32 i)
{
	/* Keys are compared without branches; the tag has excluded nearly all other groups. */
	bool matches = record[table->key_count] == nulls;

	for (uint32 k = 0; k < table->key_count; k++)
		matches &= record[k] == keys[k][i];
	return matches;
}

static uint32
new_group(PfsGroupTable *table, const int64 *const *keys, int64 nulls, uint32 i)
{
	uint32 group = ++table->count;
	int64 *record = pfs_group_record(table, group);

	/* Zeros are the initial states of all aggregates. */
	memset(record, 0, sizeof(int64) * table->record_words);
	for (uint32 k = 0; k < table->key_count; k++)
		record[k] = keys[k][i];
	record[table->key_count] = nulls;
	return group;
}

/* Returns the group of a key, which may be new; 0 if it belongs to another pass. */
static uint32
find_one(PfsGroupTable *table, uint64 hash, const int64 *const *keys, int64 nulls, uint32 i)
{
	uint32 at = (uint32) hash & table->bucket_mask;
	uint32 tag = tag_of(hash);

	/* groups of other passes get group 0, which is ignored */
	if (!in_pass(table, hash))
		return 0;
	for (;;)
	{
		PfsGroupBucket *bucket = &table->buckets[at];

		if (bucket->group == 0)
		{
			*bucket = (PfsGroupBucket){ tag, new_group(table, keys, nulls, i) };
			return bucket->group;
		}
		if (bucket->tag == tag &&
			record_matches(table, pfs_group_record(table, bucket->group), keys, nulls, i))
			return bucket->group;
		at = (at + 1) & table->bucket_mask;
	}
}

void
pfs_group_table_find(PfsGroupTable *table, uint32 count, const int64 *const *keys,
					 const uint8 *nulls, uint32 *groups)
{
	uint64 hashes[PFS_GROUP_BATCH];

	Assert(count <= PFS_GROUP_BATCH);
	group_table_reserve(table, count);
	/* Hashes are those of hash_record(), computed by column because keys come in columns. */
	for (uint32 i = 0; i < count; i++)
		hashes[i] = nulls != NULL ? nulls[i] : 0;
	for (uint32 k = 0; k < table->key_count; k++)
		for (uint32 i = 0; i < count; i++)
			hashes[i] = group_table_mix(hashes[i] + (uint64) keys[k][i]);
	/* The fetches of all buckets overlap, instead of one wait for memory per key. */
	for (uint32 i = 0; i < count; i++)
		__builtin_prefetch(&table->buckets[(uint32) hashes[i] & table->bucket_mask]);
	for (uint32 i = 0; i < count; i++)
		groups[i] = find_one(table, hashes[i], keys, nulls != NULL ? nulls[i] : 0, i);
}

static Size
bytes_used(const PfsGroupTable *table)
{
	return (Size) table->capacity * (sizeof(int64) * table->record_words) +
		   sizeof(PfsGroupBucket) * ((Size) table->bucket_mask + 1);
}

/* Returns true if the next batch might need more memory than is allowed. */
bool
pfs_group_table_is_full(const PfsGroupTable *table)
{
	/* Growing doubles both arrays, so the next size is what must fit. */
	return table->count >= ALWAYS_ROOM && table->count + PFS_GROUP_BATCH > table->capacity &&
		   bytes_used(table) * 2 > table->memory_limit;
}

void
pfs_group_table_halve(PfsGroupTable *table)
{
	/*
	 * Halving again helps if one half has nearly all groups. PASS_BITS_MAX ends it for equal
	 * hashes.
	 */
	while (pfs_group_table_is_full(table) && table->pass.bits < PASS_BITS_MAX)
	{
		uint32 kept = 0;
		PfsGroupPass *later = MemoryContextAlloc(table->context, sizeof(PfsGroupPass));
		MemoryContext outer = MemoryContextSwitchTo(table->context);

		/*
		 * The pass keeps the lower half of its hashes; the upper half is read later, in another
		 * pass.
		 */
		table->pass = (PfsGroupPass){ table->pass.bits + 1, table->pass.value << 1 };
		*later = (PfsGroupPass){ table->pass.bits, table->pass.value | 1 };
		/* The newest pass comes first: its groups are the other half of the present table. */
		table->passes_left = lcons(later, table->passes_left);
		MemoryContextSwitchTo(outer);

		/* Records move only to lower numbers, so none is overwritten before it was tested. */
		for (uint32 group = 1; group <= table->count; group++)
		{
			int64 *record = pfs_group_record(table, group);

			if (in_pass(table, hash_record(table, record)))
				memmove(pfs_group_record(table, ++kept), record,
						sizeof(int64) * table->record_words);
		}
		table->count = kept;
		/* Numbers of groups have changed, so all buckets are built anew. */
		memset(table->buckets, 0, sizeof(PfsGroupBucket) * ((Size) table->bucket_mask + 1));
		fill_buckets(table);
	}
}

void
pfs_group_table_clear(PfsGroupTable *table)
{
	table->count = 0;
	memset(table->buckets, 0, sizeof(PfsGroupBucket) * ((Size) table->bucket_mask + 1));
}

bool
pfs_group_table_next_pass(PfsGroupTable *table)
{
	PfsGroupPass *next;

	if (table->passes_left == NIL)
		return false;
	next = linitial(table->passes_left);
	table->passes_left = list_delete_first(table->passes_left);
	table->pass = *next;
	pfree(next);
	pfs_group_table_clear(table);
	return true;
}
