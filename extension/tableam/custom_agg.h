/*
 * custom_agg.h
 *		ProfstoreAgg's state: how the node is set up (custom_agg_begin.c) for its work
 *		(custom_agg_exec.c).
 */
#ifndef PFS_CUSTOM_AGG_H
#define PFS_CUSTOM_AGG_H

#include "tableam/custom_nodes.h"

#include "store/segment/value.h"
#include "tableam/agg_spec.h"
#include "tableam/computed_key.h"

/* A table to scan. */
typedef struct AggTable
{
	Relation relation;
	AttrNumber *attnums; /* the table's, by those of the aggregation's table, from 0 */
	PfsSharedScan *shared;
} AggTable;

typedef struct AggKey
{
	int column;
	PfsComputedKey *computed; /* NULL: the column itself */
} AggKey;

typedef struct AggAggregate
{
	PfsAggSpec spec;
	int column; /* -1: none */
	uint32 state_word;
	PfsPushdown *filter;	 /* NULL: none */
	PfsBlockFilter *filters; /* of the filter clause; their attnum is a column's number + 1 */
	bool excluded[PFS_BLOCK_ROWS];
} AggAggregate;

/*
 * In shared memory: the counters, the offset of each table's shared scan, and these.
 */
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

	int column_count;	 /* of each block */
	AttrNumber *columns; /* attribute numbers of the aggregation's table */
	PfsValueKind *column_kinds;
	AttrNumber *column_of_attnum; /* number + 1, from 0 */
	PfsSegmentPart sums;		  /* what may be read for rows */
	int row_count_column;		  /* where sums is not PFS_PART_ROWS */
	int key_count;
	AggKey *keys;
	int aggregate_count;
	AggAggregate *aggregates;
	uint32 state_words; /* of a record */
	PfsPushdown *pushdown;
	ExprContext *filter_context;

	SharedAgg *shared;			 /* NULL: not parallel */
	MemoryContext table_context; /* the group table */
	MemoryContext scan_context;	 /* filters and block scan of one table */
	PfsGroupTable *groups;		 /* NULL: not begun */
	int next_table;				 /* to scan */
	PfsBlockScan *blocks;		 /* NULL: none is being scanned */
	bool is_filled;				 /* groups are returned */
	bool is_whole;				 /* they are all, not those of a pass */
	uint32 next_group;
	int64 pass_count; /* times that the tables have been read, beyond the first */
	PfsAggRuns runs;
	PfsScanCounters counters;
} BlockAggState;

/* BeginCustomScan and EndCustomScan. */
void pfs_custom_agg_begin(CustomScanState *node, EState *estate, int flags);
void pfs_custom_agg_end(CustomScanState *node);

#endif
