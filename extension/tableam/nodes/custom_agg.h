/*
 * custom_agg.h
 *		ProfstoreAgg and its state. custom_agg_begin.c sets the state up, custom_agg_exec.c uses it.
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
	/* for each attribute of the aggregation's table, the table's attribute number */
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
	int column; /* column of the argument in blocks; -1: no argument */
	uint32 state_word;
	PfsPushdown *filter; /* NULL: none */
	/* filters of the FILTER clause; their attnum is the number of a column in blocks + 1 */
	PfsBlockFilter *filters;
	bool excluded[PFS_BLOCK_ROWS];
} AggAggregate;

/* State in shared memory: counters, and the offsets of the tables' shared scans, which follow. */
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
	AttrNumber *columns; /* attribute numbers of these columns in the aggregation's table */
	PfsValueKind *column_kinds;
	/* for each attribute number from 0, the number of its column in blocks + 1, or 0 */
	AttrNumber *column_of_attnum;
	PfsSegmentPart sums;  /* sums that may be read instead of rows */
	int row_count_column; /* column of row counts; only set if sums is not PFS_PART_ROWS */
	int key_count;
	AggKey *keys;
	int aggregate_count;
	AggAggregate *aggregates;
	uint32 state_words; /* words of a record for the states of all aggregates */
	PfsPushdown *pushdown;
	ExprContext *filter_context;

	SharedAgg *shared;			 /* NULL: not parallel */
	MemoryContext table_context; /* memory for the group table */
	MemoryContext scan_context;	 /* for the filters and the block scan of one table */
	PfsGroupTable *groups;		 /* NULL before the first block is read */
	int next_table;				 /* index of the next table to scan */
	PfsBlockScan *blocks;		 /* NULL: no table is being scanned */
	bool is_filled;				 /* groups are complete and are being returned */
	bool is_whole;				 /* groups has all groups, not only those of one pass */
	uint32 next_group;
	int64 pass_count; /* number of times that the tables were read again */
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
