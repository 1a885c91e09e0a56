/*
 * custom_agg.h
 *		ProfstoreAgg, and its state: custom_agg_begin.c sets it up, custom_agg_exec.c uses it.
 */
#ifndef PFS_CUSTOM_AGG_H
#define PFS_CUSTOM_AGG_H

#include "tableam/nodes/custom_nodes.h"

#include "store/segment/value.h"
#include "tableam/nodes/agg_spec.h"
#include "tableam/nodes/computed_key.h"

/* A table to scan. */
typedef struct AggTable
{
	Relation relation;
	/* the table's attribute number for each one of the aggregation's table, from 0 */
	AttrNumber *attnums;
	PfsSharedScan *shared;
} AggTable;

typedef struct AggKey
{
	int column;
	PfsComputedKey *computed; /* NULL: the key is the column itself */
} AggKey;

typedef struct AggAggregate
{
	PfsAggSpec spec;
	int column; /* -1: none */
	uint32 state_word;
	PfsPushdown *filter;	 /* NULL: none */
	PfsBlockFilter *filters; /* of the FILTER clause; their attnum is a column's number + 1 */
	bool excluded[PFS_BLOCK_ROWS];
} AggAggregate;

/* In shared memory: counters, and the offset of each table's shared scan, which follow. */
typedef struct SharedAgg
{
	PfsSharedCounters counters;
	Size scan_offsets[FLEXIBLE_ARRAY_MEMBER];
} SharedAgg;

typedef struct BlockAggState
{
	CustomScanState css;
	PfsAggregation *aggregation;
	int table_count;
	AggTable *tables;

	int column_count;	 /* columns of each block */
	AttrNumber *columns; /* their attribute numbers in the aggregation's table */
	PfsValueKind *column_kinds;
	/* by attribute number from 0: number of the column + 1; 0: none */
	AttrNumber *column_of_attnum;
	PfsSegmentPart sums;  /* sums that may be read instead of rows */
	int row_count_column; /* if sums is not PFS_PART_ROWS */
	int key_count;
	AggKey *keys;
	int aggregate_count;
	AggAggregate *aggregates;
	uint32 state_words; /* words of a record for the states of all aggregates */
	PfsPushdown *pushdown;
	ExprContext *filter_context;

	SharedAgg *shared;			 /* NULL: not parallel */
	MemoryContext table_context; /* for the group table */
	MemoryContext scan_context;	 /* for filters and block scan of one table */
	PfsGroupTable *groups;		 /* NULL: not begun */
	int next_table;				 /* index of the next table to scan */
	PfsBlockScan *blocks;		 /* NULL: no table is being scanned */
	bool is_filled;				 /* groups are being returned */
	bool is_whole;				 /* they are all groups, not only those of a pass */
	uint32 next_group;
	int64 pass_count; /* how often the tables were read again */
	PfsAggRuns runs;
	PfsScanCounters counters;
} BlockAggState;

/* custom_agg_path.c: registers the node and its planner hooks; called when the module is loaded. */
void pfs_custom_agg_init(void);

/* custom_agg_exec.c: makes a state for the executor. */
Node *pfs_custom_agg_create_state(CustomScan *plan);

/* custom_agg_begin.c: implement BeginCustomScan and EndCustomScan. */
void pfs_custom_agg_begin(CustomScanState *node, EState *estate, int flags);
void pfs_custom_agg_end(CustomScanState *node);

#endif
