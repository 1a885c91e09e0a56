/*
 * group_table.h
 *		Groups of an aggregation: one record each, found by a hash of the group's keys.
 *
 * A record is an array of int64 words: the keys (0 if null), a word with a bit for each null key,
 * and the states of the aggregates, which start as zeros. Group 0 collects rows to be ignored.
 * Groups 1 .. count are real.
 *
 * If the groups do not fit in memory, they are aggregated in passes: a table keeps the groups whose
 * hash begins with the bits of its pass and sends the others to group 0. Each time a table is
 * halved, another pass is left to do.
 */
#ifndef PFS_GROUP_TABLE_H
#define PFS_GROUP_TABLE_H

#include "profstore.h"

#include "nodes/pg_list.h"

/* Most keys of one pfs_group_table_find(): as many as a block has rows. */
#define PFS_GROUP_BATCH 1024

typedef struct PfsGroupBucket
{
	uint32 tag;	  /* bits of the hash */
	uint32 group; /* 0: free */
} PfsGroupBucket;

typedef struct PfsGroupPass
{
	uint32 bits;  /* number of hash bits that select the pass */
	uint64 value; /* value of these bits */
} PfsGroupPass;

typedef struct PfsGroupTable
{
	MemoryContext context;
	uint32 key_count;
	uint32 record_words;
	uint32 state_word; /* position of the first word of the states */
	Size memory_limit;
	uint32 count;
	uint32 capacity;
	int64 *records;
	uint32 bucket_mask;
	PfsGroupBucket *buckets;
	PfsGroupPass pass;
	List *passes_left; /* the passes that are left, as PfsGroupPass */
} PfsGroupTable;

/* Creates a table in CurrentMemoryContext. */
PfsGroupTable *pfs_group_table_create(uint32 key_count, uint32 state_words, Size memory_limit);

/*
 * Finds the groups of count <= PFS_GROUP_BATCH keys, and adds new ones. keys[k] are the values of
 * key k, 0 if null; nulls has a bit for each null key, or is NULL if there are none.
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
/* Removes all groups. */
void pfs_group_table_clear(PfsGroupTable *table);
/* Empties the table for the next pass; returns false if none is left. */
bool pfs_group_table_next_pass(PfsGroupTable *table);

#endif
