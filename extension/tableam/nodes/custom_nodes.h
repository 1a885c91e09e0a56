/*
 * custom_nodes.h
 *		Code that the custom scan and the custom aggregate share: settings, costs, counters of
 *		parallel processes, EXPLAIN.
 */
#ifndef PFS_CUSTOM_NODES_H
#define PFS_CUSTOM_NODES_H

#include "profstore.h"

#include "commands/explain.h"
#include "nodes/execnodes.h"
#include "nodes/extensible.h"
#include "nodes/pathnodes.h"
#include "port/atomics.h"

#include "store/scan/block_scan.h"

extern bool pfs_enable_scan;
extern bool pfs_enable_agg;

/* Defines the settings above. */
void pfs_custom_nodes_init(void);

/* Returns true if the relation is a profstore table that is read without inheritance. */
bool pfs_is_plain_profstore_rel(const RelOptInfo *rel, const RangeTblEntry *entry);

/*
 * Returns the columns of relation index that expressions use, as numbers from 1; all columns if an
 * expression uses the whole row.
 */
Bitmapset *pfs_used_columns(Index index, int column_count, List *expressions);

/*
 * Estimated cost of reading some columns. The scan skips rows outside the ranges of key columns;
 * the planner's clauses (RestrictInfo) on these columns give the share of rows that it reads.
 */
typedef struct PfsReadCost
{
	Cost startup;
	Cost run;
	double row_count; /* number of rows that are read and tested by filters */
} PfsReadCost;

PfsReadCost pfs_read_cost(PlannerInfo *root, RelOptInfo *rel, List *pushed_clauses,
						  int column_count);

/* Returns the number of processes among which the planner divides the work; 1 without workers. */
double pfs_parallel_divisor(int workers);

void pfs_explain_counters(const PfsScanCounters *counters, ExplainState *es);

#endif
