/*
 * custom_nodes.c
 *		Settings, costs, counters and EXPLAIN of the custom nodes.
 */
#include "tableam/nodes/custom_nodes.h"

#include "access/sysattr.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/guc.h"
#include "utils/rel.h"

#include "store/segment/row_order.h"
#include "tableam/nodes/pushdown.h"
#include "tableam/table_am.h"

/*
 * Decoding a value costs about 2 ns. The executor takes 50 ns for a row, whose cost is
 * cpu_tuple_cost (0.01).
 */
#define DECODE_COST_PER_VALUE (cpu_tuple_cost * 0.04)
/*
 * Cost of reading a segment's directory row and header, and of starting a scan, expressed in rows
 * of the executor.
 */
#define SCAN_STARTUP_ROWS	  500.0
#define SMALLEST_READ_ROWS	  1024.0

bool pfs_enable_scan = true;
bool pfs_enable_agg = true;

bool
pfs_is_plain_profstore_rel(const RelOptInfo *rel, const RangeTblEntry *entry)
{
	Relation relation;
	bool is_ours;

	/* An appendrel, a sample of a table, and foreign or partitioned tables have other scans. */
	if (entry->rtekind != RTE_RELATION || entry->inh || entry->tablesample != NULL ||
		(entry->relkind != RELKIND_RELATION && entry->relkind != RELKIND_MATVIEW) ||
		(rel->reloptkind != RELOPT_BASEREL && rel->reloptkind != RELOPT_OTHER_MEMBER_REL))
		return false;
	/* The planner holds the lock. */
	relation = table_open(entry->relid, NoLock);
	is_ours = pfs_is_profstore_table(relation);
	table_close(relation, NoLock);
	return is_ours;
}

Bitmapset *
pfs_used_columns(Index index, int column_count, List *expressions)
{
	Bitmapset *offset = NULL;
	Bitmapset *columns = NULL;
	int member = -1;

	pull_varattnos((Node *) expressions, index, &offset);
	while ((member = bms_next_member(offset, member)) >= 0)
	{
		/* Bitmapsets have no negative members, so numbers of system columns are shifted. */
		int attnum = member + FirstLowInvalidHeapAttributeNumber;

		if (attnum > 0)
			columns = bms_add_member(columns, attnum);
		else if (attnum == InvalidAttrNumber && column_count > 0)
			/* Number 0 is a reference to the whole row. */
			columns = bms_add_range(columns, 1, column_count);
	}
	bms_free(offset);
	return columns;
}

/* Returns the clauses on the columns by which segments are sorted and blocks are pruned. */
static List *
clauses_on_key(PlannerInfo *root, const RelOptInfo *rel, List *clauses)
{
	Relation relation = table_open(planner_rt_fetch(rel->relid, root)->relid, NoLock);
	PfsRowKey key = pfs_row_key(relation);
	List *on_key = NIL;
	ListCell *cell;

	foreach(cell, clauses)
	{
		RestrictInfo *clause = lfirst(cell);
		PfsPushedQual qual;

		/* Only these clauses skip blocks; others are tested for all rows of a block. */
		if (pfs_pushdown_translate(clause->clause, rel->relid, &qual) &&
			(qual.attnum == key.time || qual.attnum == key.series))
			on_key = lappend(on_key, clause);
	}
	table_close(relation, NoLock);
	return on_key;
}

PfsReadCost
pfs_read_cost(PlannerInfo *root, RelOptInfo *rel, List *pushed_clauses, int column_count)
{
	PfsReadCost cost;
	double rows = Max(rel->tuples, 1);
	double share = clauselist_selectivity(root, clauses_on_key(root, rel, pushed_clauses), 0,
										  JOIN_INNER, NULL);
	double column_share = Min(1.0, (double) Max(column_count, 1) / Max(rel->max_attr, 1));

	/* At least a block is read, whatever the selectivity is. */
	cost.row_count = Min(rows, Max(rows * share, SMALLEST_READ_ROWS));
	share = cost.row_count / rows;
	cost.startup = SCAN_STARTUP_ROWS * cpu_tuple_cost;
	/* Pages of the columns that are read, and the decoding of their values. */
	cost.run = rel->pages * share * column_share * seq_page_cost +
			   cost.row_count * column_count * DECODE_COST_PER_VALUE;
	return cost;
}

double
pfs_parallel_divisor(int workers)
{
	/* PostgreSQL's own estimate: the leader helps less, the more workers it serves. */
	double leader_share = 1.0 - 0.3 * workers;

	if (workers == 0)
		return 1;
	return workers + (parallel_leader_participation && leader_share > 0 ? leader_share : 0);
}

void
pfs_explain_counters(const PfsScanCounters *counters, ExplainState *es)
{
	ExplainPropertyInteger("Segments Total", NULL, (int64) counters->segments_total, es);
	ExplainPropertyInteger("Segments Skipped", NULL, (int64) counters->segments_skipped, es);
	ExplainPropertyInteger("Segments Summed", NULL, (int64) counters->segments_summed, es);
	ExplainPropertyInteger("Segments Read", NULL, (int64) counters->segments_read, es);
	ExplainPropertyInteger("Blocks Read", NULL, (int64) counters->blocks_read, es);
	ExplainPropertyInteger("Blocks Skipped", NULL, (int64) counters->blocks_skipped, es);
	ExplainPropertyInteger("Bytes Read", NULL, (int64) counters->bytes_read, es);
}

void
pfs_custom_nodes_init(void)
{
	DefineCustomBoolVariable("profstore.enable_scan",
							 "Lets the planner read profstore tables by blocks and columns.", NULL,
							 &pfs_enable_scan, true, PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);
	DefineCustomBoolVariable("profstore.enable_agg",
							 "Lets the planner aggregate profstore tables by blocks.", NULL,
							 &pfs_enable_agg, true, PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);
}
