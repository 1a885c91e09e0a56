/*
 * agg_kernel.h
 *		Aggregates a block: from rows to runs of equal keys, from runs to groups, and each
 *		aggregate over the runs.
 */
#ifndef PFS_AGG_KERNEL_H
#define PFS_AGG_KERNEL_H

#include "profstore.h"

#include "codec/segment.h"
#include "store/scan/block_scan.h"
#include "tableam/nodes/group_table.h"

#define PFS_AGG_KEYS_MAX 8 /* each key has a bit in the flags of nulls */

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
 * Words of an aggregate's state in a record. All kinds but COUNT_ROWS count the non-null values in
 * the first word. SUM and AVG add their sum in two words, an int128; MIN and MAX their value.
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

/* The rows of a block for one aggregate. */
typedef struct PfsAggInput
{
	PfsAggKind kind;
	uint32 state_word;	 /* position in the record */
	const int64 *values; /* NULL for COUNT_ROWS */
	/* number of rows that each value stands for, if values are sums; NULL: one row each */
	const int64 *weights;
	const bool *excluded; /* rows that are null or filtered out; or NULL */
} PfsAggInput;

/* The runs of equal keys in a block, and their groups. */
typedef struct PfsAggRuns
{
	uint32 row_count;
	uint32 run_count;
	uint16 starts[PFS_BLOCK_ROWS + 1]; /* first row of each run, and row_count after the last */
	uint32 groups[PFS_BLOCK_ROWS];
} PfsAggRuns;

/*
 * Divides the block into runs of equal keys and finds their groups. keys[] are not changed. If
 * nulls[k] is not NULL, rows with a set flag have no value of key k.
 */
void pfs_agg_find_runs(PfsGroupTable *table, uint32 row_count, const int64 *const *keys,
					   const bool *const *nulls, PfsAggRuns *runs);

/* Adds the rows of the block to the states of their groups. */
void pfs_agg_update(PfsGroupTable *table, const PfsAggRuns *runs, const PfsAggInput *input);

#endif
