/*
 * groups.h
 *		Groups: neighbouring rows of one block that agree in all key columns.
 *
 * In a segment sorted by its keys they are its distinct keys, but for those that a block's end cuts
 * in two. Key columns keep one value per group; other columns may encode their blocks beside the
 * groups, which are stored once.
 */
#ifndef PFS_GROUPS_H
#define PFS_GROUPS_H

#include "codec/stream.h"

/* so that the sum of a block's rows is a value */
#define PFS_SUM_MAX_UNITS (UINT64_C(1) << 50)

/* The groups of rows that are being encoded. */
typedef struct PfsGroups
{
	uint32_t count; /* 0: rows are not grouped, and there is nothing to free */
	uint32_t row_count;
	int64_t *lengths;		/* rows of each group, minus 1 */
	PfsBlockGroups *blocks; /* of each block of rows */
} PfsGroups;

/*
 * Finds the groups, unless there are no keys, a key has nulls, or most groups are single rows.
 * False: out of memory.
 */
bool pfs_groups_find(const PfsColumn *columns, uint32_t column_count, uint32_t row_count,
					 PfsAllocator allocator, PfsGroups *groups);
void pfs_groups_free(PfsGroups *groups, PfsAllocator allocator);

/* The value that each group's rows share; the caller frees it. NULL: out of memory. */
int64_t *pfs_groups_fold(const PfsGroups *groups, const int64_t *values, PfsAllocator allocator);

/* The sums of the groups' values in one column, and blocks that know them. */
typedef struct PfsGroupSums
{
	int64_t *sums;
	PfsBlockGroups *blocks; /* of each block of rows */
	PfsBlockGroups *values; /* of each block of groups, which has a value for each */
} PfsGroupSums;

/*
 * Adds up what the values have above least, in units; for each value that is at most
 * PFS_SUM_MAX_UNITS. False: out of memory, and nothing to free.
 */
bool pfs_groups_add_up(const PfsGroups *groups, const int64_t *values, int64_t least, uint64_t unit,
					   PfsAllocator allocator, PfsGroupSums *sums);
void pfs_group_sums_free(PfsGroupSums *sums, PfsAllocator allocator);

/* Encodes the groups stream. False: out of memory, and nothing to free. */
bool pfs_groups_encode(const PfsGroups *groups, PfsEffort effort, PfsAllocator allocator,
					   PfsBytes *bytes);

/* A decoder of the groups stream. */
typedef struct PfsGroupsDecoder PfsGroupsDecoder;

/* Keeps the pointer to the bytes, whose CRC the caller has checked. */
PfsStatus pfs_groups_open(const uint8_t *bytes, size_t length, uint32_t row_count,
						  uint32_t group_count, PfsAllocator allocator, PfsGroupsDecoder **decoder,
						  PfsError *error);
void pfs_groups_close(PfsGroupsDecoder *decoder); /* accepts NULL */

/* The groups of a block of rows, until the next call; *first is the number of the first of them. */
PfsStatus pfs_groups_block(PfsGroupsDecoder *decoder, uint32_t block, PfsBlockGroups *groups,
						   uint32_t *first, PfsError *error);

/* The first group of a block of rows, and how many there are. */
void pfs_groups_place(const PfsGroupsDecoder *decoder, uint32_t block, uint32_t *first,
					  uint32_t *count);

/* The stream of the lengths, minus 1. */
PfsStreamDecoder *pfs_groups_lengths_stream(PfsGroupsDecoder *decoder);

/* Lengths, minus 1, of up to PFS_BLOCK_ROWS groups from any one on. */
PfsStatus pfs_groups_lengths(PfsGroupsDecoder *decoder, uint32_t first, uint32_t count,
							 int64_t *lengths, PfsError *error);

#endif
