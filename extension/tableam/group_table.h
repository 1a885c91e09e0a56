/*
 * group_table.h
 *		Groups of an aggregation: a record each, found by hashing the group's keys.
 *
 * A record is an array of int64 words: the keys (0 where null), a word with a bit for each key that
 * is null, and then the states of the aggregates, which begin as zeros. Group 0 is nobody's: it
 * takes what is to be dropped. Groups 1 .. count are real.
 *
 * Too many groups for memory are aggregated in passes: a table keeps those whose hash begins with
 * the bits of its pass and sends the others to group 0; each halving leaves a pass to do later.
 */
#ifndef PFS_GROUP_TABLE_H
#define PFS_GROUP_TABLE_H

#include "profstore.h"

#include "nodes/pg_list.h"

/* As many as a block has rows; find takes no more keys at once. */
#define PFS_GROUP_BATCH 1024

typedef struct PfsGroupBucket
{
	uint32 tag;	  /* bits of the hash */
	uint32 group; /* 0: free */
} PfsGroupBucket;

typedef struct PfsGroupPass
{
	uint32 bits;  /* number of bits that belong to the pass */
	uint64 value; /* of these bits */
} PfsGroupPass;

typedef struct PfsGroupTable
{
	MemoryContext context;
	uint32 key_count;
	uint32 record_words;
	uint32 state_word; /* the first word of the states */
	Size memory_limit;
	uint32 count;
	uint32 capacity;
	int64 *records;
	uint32 bucket_mask;
	PfsGroupBucket *buckets;
	PfsGroupPass pass;
	List *passes_left; /* of PfsGroupPass */
} PfsGroupTable;

/* Memory comes from CurrentMemoryContext. */
PfsGroupTable *pfs_group_table_create(uint32 key_count, uint32 state_words, Size memory_limit);

/*
 * The groups of count <= PFS_GROUP_BATCH keys; new ones are made. keys[k] are the values of key k,
 * 0 where null; nulls has a bit for each key that is null, or is NULL where none is.
 */
void pfs_group_table_find(PfsGroupTable *table, uint32 count, const int64 *const *keys,
						  const uint8 *nulls, uint32 *groups);

static inline int64 *
pfs_group_record(const PfsGroupTable *table, uint32 group)
{
	return table->records + (Size) group * table->record_words;
}

bool pfs_group_table_is_full(const PfsGroupTable *table);
/* Drops about half of the groups, until the table is not full, and leaves them to later passes. */
void pfs_group_table_halve(PfsGroupTable *table);
/* Forgets all groups. */
void pfs_group_table_clear(PfsGroupTable *table);
/* Empties the table for the next pass; false if none is left. */
bool pfs_group_table_next_pass(PfsGroupTable *table);
/* Empties the table for the first of all passes. */
void pfs_group_table_restart(PfsGroupTable *table);

#endif
