/*
 * groups.h
 *		Groups: neighbouring rows of one block that agree in all key columns.
 *
 * In a segment sorted by its keys the groups are its distinct keys, except that the end of a block
 * cuts a group in two. Key columns store one value per group; other columns may encode their blocks
 * beside the groups, which are stored once.
 */
#ifndef PFS_GROUPS_H
#define PFS_GROUPS_H

#include "codec/stream.h"

/* bounds each value in units, so that the sum of a block's rows still fits an int64 */
#define PFS_SUM_MAX_UNITS (UINT64_C(1) << 50)

/* The groups of rows that are being encoded. */
typedef struct PfsGroups
{
	uint32_t count; /* 0: rows are not grouped, and there is nothing to free */
	uint32_t row_count;
	int64_t *lengths;		/* rows of each group, minus 1 */
	PfsBlockGroups *blocks; /* one per block of rows; points into lengths */
} PfsGroups;

/*
 * Finds the groups. There are none if no column is a key, a key has nulls, or most groups would be
 * single rows. Returns false if out of memory.
 */
bool pfs_groups_find(const PfsColumn *columns, uint32_t column_count, uint32_t row_count,
					 PfsAllocator allocator, PfsGroups *groups);
void pfs_groups_free(PfsGroups *groups, PfsAllocator allocator);

/*
 * Returns one value per group, of a column whose rows agree in each group. The caller frees it.
 * NULL: out of memory.
 */
int64_t *pfs_groups_fold(const PfsGroups *groups, const int64_t *values, PfsAllocator allocator);

/* Sums of the groups' values in one column, and the groups of blocks with these sums. */
typedef struct PfsGroupSums
{
	int64_t *sums;
	PfsBlockGroups *blocks; /* one per block of rows */
	PfsBlockGroups *values; /* one per block of groups, which has one value for each group */
} PfsGroupSums;

/*
 * For each group, sums (value - least) / unit. No value may exceed PFS_SUM_MAX_UNITS units. Returns
 * false, with nothing to free, if out of memory.
 */
bool pfs_groups_add_up(const PfsGroups *groups, const int64_t *values, int64_t least, uint64_t unit,
					   PfsAllocator allocator, PfsGroupSums *sums);
void pfs_group_sums_free(PfsGroupSums *sums, PfsAllocator allocator);

/* Encodes the groups stream. Returns false, with nothing to free, if out of memory. */
bool pfs_groups_encode(const PfsGroups *groups, PfsEffort effort, PfsAllocator allocator,
					   PfsBytes *bytes);

/* Decodes the groups stream. */
typedef struct PfsGroupsDecoder PfsGroupsDecoder;

/* Parses the groups stream. Keeps the pointer to the bytes, whose CRC the caller has checked. */
PfsStatus pfs_groups_open(const uint8_t *bytes, size_t length, uint32_t row_count,
						  uint32_t group_count, PfsAllocator allocator, PfsGroupsDecoder **decoder,
						  PfsError *error);
void pfs_groups_close(PfsGroupsDecoder *decoder); /* accepts NULL */

/*
 * Returns the groups of a block of rows, valid until the next call; *first is the number of the
 * first of them.
 */
PfsStatus pfs_groups_block(PfsGroupsDecoder *decoder, uint32_t block, PfsBlockGroups *groups,
						   uint32_t *first, PfsError *error);

/* Returns the number of the first group of a block of rows, and how many groups the block has. */
void pfs_groups_place(const PfsGroupsDecoder *decoder, uint32_t block, uint32_t *first,
					  uint32_t *count);

/* Returns the stream with the number of rows of each group, minus 1. */
PfsStreamDecoder *pfs_groups_lengths_stream(PfsGroupsDecoder *decoder);

/*
 * Copies the numbers of rows, each minus 1, of count groups from number first on. count is at most
 * PFS_BLOCK_ROWS.
 */
PfsStatus pfs_groups_lengths(PfsGroupsDecoder *decoder, uint32_t first, uint32_t count,
							 int64_t *lengths, PfsError *error);

#endif
