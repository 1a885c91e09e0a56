/*
 * agg_kernel.h
 *		Aggregating a block: rows to runs of equal keys, runs to groups, and each aggregate over the
 *		runs.
 */
#ifndef PFS_AGG_KERNEL_H
#define PFS_AGG_KERNEL_H

#include "profstore.h"

#include "codec/segment.h"
#include "store/scan/block_scan.h"
#include "tableam/group_table.h"

#define PFS_AGG_KEYS_MAX 8 /* a bit each in the flags of nulls */

typedef enum PfsAggKind
{
	PFS_AGG_COUNT_ROWS,
	PFS_AGG_COUNT,
	PFS_AGG_SUM,
	PFS_AGG_AVG,
	PFS_AGG_MIN,
	PFS_AGG_MAX
} PfsAggKind;

/*
 * States in words of a record. All but COUNT_ROWS count the values that are not null, in their
 * first word; then SUM and AVG have their sum in two words, an int128, MIN and MAX their value.
 */
#define PFS_AGG_COUNT_WORD 0
#define PFS_AGG_VALUE_WORD 1

static inline uint32
pfs_agg_state_words(PfsAggKind kind)
{
	switch (kind)
	{
		case PFS_AGG_SUM:
		case PFS_AGG_AVG:
			return 3;
		case PFS_AGG_MIN:
		case PFS_AGG_MAX:
			return 2;
		case PFS_AGG_COUNT_ROWS:
		case PFS_AGG_COUNT:
			break;
	}
	return 1;
}

static inline int128
pfs_agg_get_sum(const int64 *state)
{
	int128 sum;

	memcpy(&sum, &state[PFS_AGG_VALUE_WORD], sizeof(sum));
	return sum;
}

/* One aggregate's rows of a block. */
typedef struct PfsAggInput
{
	PfsAggKind kind;
	uint32 state_word;	  /* of the record */
	const int64 *values;  /* NULL for COUNT_ROWS */
	const int64 *weights; /* how many rows each stands for, its value being their sum; NULL: one */
	const bool *excluded; /* rows that are null or filtered out, or NULL */
} PfsAggInput;

/* A block's keys and runs. */
typedef struct PfsAggRuns
{
	uint32 row_count;
	uint32 run_count;
	uint16 starts[PFS_BLOCK_ROWS + 1]; /* the last one is row_count */
	uint32 groups[PFS_BLOCK_ROWS];
} PfsAggRuns;

/*
 * Cuts the block in runs of equal keys and finds their groups. keys[k] may be overwritten at no
 * time; where nulls[k] is not NULL, rows whose flag is set have no value.
 */
void pfs_agg_find_runs(PfsGroupTable *table, uint32 row_count, const int64 *const *keys,
					   const bool *const *nulls, PfsAggRuns *runs);

/* Adds the rows of the block to the states of their groups. */
void pfs_agg_update(PfsGroupTable *table, const PfsAggRuns *runs, const PfsAggInput *input);

#endif
