/*
 * agg_candidate.c
 *		Recognises relations that ProfstoreAgg can aggregate, and estimates costs.
 *
 * The cost is that of reading, less if sums replace most rows, plus an amount for each row and
 * aggregate.
 */
#include "tableam/nodes/agg_candidate.h"

#include "access/table.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "parser/parsetree.h"
#include "utils/rel.h"
#include "utils/selfuncs.h"

#include "store/segment/summary.h"
#include "tableam/nodes/agg_sums.h"
#include "tableam/nodes/custom_nodes.h"

/*
 * Costs of grouping a row and of adding it to one aggregate; the executor's cost per row is
 * cpu_tuple_cost.
 */
#define GROUP_COST_PER_ROW (cpu_tuple_cost * 0.03)
#define ADD_COST_PER_ROW   (cpu_tuple_cost * 0.02)

/*
 * Collects the tables below a relation that the planner has not pruned; returns false if one is not
 * a profstore table.
 */
static bool
collect_tables(PlannerInfo *root, RelOptInfo *rel, List **rels)
{
	RangeTblEntry *entry = planner_rt_fetch(rel->relid, root);
	ListCell *cell;

	/* inh is false for a table without children. */
	if (!entry->inh)
	{
		*rels = lappend(*rels, rel);
		return pfs_is_plain_profstore_rel(rel, entry);
	}
	/* An appendrel of UNION ALL has no table above it. */
	if (entry->rtekind != RTE_RELATION)
		return false;
	foreach(cell, root->append_rel_list)
	{
		const AppendRelInfo *child = lfirst(cell);
		RelOptInfo *child_rel;

		if (child->parent_relid != rel->relid)
			continue;
		/* The planner has no relation for a pruned child, or marks it as dummy. */
		child_rel = root->simple_rel_array[child->child_relid];
		if (child_rel == NULL || IS_DUMMY_REL(child_rel))
			continue;
		if (!collect_tables(root, child_rel, rels))
			return false;
	}
	return true;
}

static bool
translate_quals(RelOptInfo *rel, PfsAggregation *aggregation)
{
	ListCell *cell;

	foreach(cell, rel->baserestrictinfo)
	{
		const RestrictInfo *clause = lfirst(cell);
		PfsPushedQual *qual = palloc0(sizeof(PfsPushedQual));

		/* A clause that cannot become a filter would need single rows. */
		if (clause->pseudoconstant || !pfs_pushdown_translate(clause->clause, rel->relid, qual))
			return false;
		aggregation->quals = lappend(aggregation->quals, qual);
	}
	return true;
}

static int
column_count(const PfsAggregation *aggregation)
{
	Bitmapset *columns = NULL;
	ListCell *cell;

	foreach(cell, aggregation->key_columns)
		columns = bms_add_member(columns, lfirst_int(cell));
	foreach(cell, aggregation->aggregates)
		columns = bms_add_member(columns, ((const PfsAggSpec *) lfirst(cell))->attnum);
	/* 0 stands for aggregates without an argument. */
	return bms_num_members(bms_del_member(columns, 0));
}

/*
 * Returns the share of the rows that is read. In a compacted table nearly all rows have sums, and a
 * range of time leaves rows only in a few segments.
 */
static double
share_of_rows(const PfsAggregation *aggregation)
{
	/* The planner holds the lock. */
	Relation relation = table_open(aggregation->table, NoLock);
	bool has_sums = pfs_enable_summaries && pfs_agg_sums(aggregation, relation) != PFS_PART_ROWS;

	table_close(relation, NoLock);
	return has_sums ? 1.0 / PFS_ROWS_PER_SUM : 1.0;
}

bool
pfs_agg_candidate_begin(PlannerInfo *root, RelOptInfo *input, PfsAggCandidate *candidate)
{
	memset(candidate, 0, sizeof(*candidate));
	candidate->input = input;
	/* A lateral reference would make the node aggregate all rows again for each outer row. */
	if (input->reloptkind != RELOPT_BASEREL || input->rtekind != RTE_RELATION ||
		IS_DUMMY_REL(input) || !bms_is_empty(input->lateral_relids) ||
		!collect_tables(root, input, &candidate->rels) ||
		!translate_quals(input, &candidate->aggregation))
		return false;
	candidate->aggregation.table = planner_rt_fetch(input->relid, root)->relid;
	return true;
}

bool
pfs_agg_candidate_add_key(PfsAggCandidate *candidate, Expr *key)
{
	PfsAggregation *aggregation = &candidate->aggregation;
	AttrNumber attnum;

	/* A key that occurs twice, as in GROUP BY a, b, a, has one column. */
	if (list_member(aggregation->keys, key))
		return true;
	if (list_length(aggregation->keys) == PFS_AGG_KEYS_MAX ||
		!pfs_agg_translate_key(key, candidate->input->relid, &attnum))
		return false;
	aggregation->keys = lappend(aggregation->keys, key);
	aggregation->key_columns = lappend_int(aggregation->key_columns, attnum);
	return true;
}

bool
pfs_agg_candidate_add_aggregate(PfsAggCandidate *candidate, Aggref *aggref)
{
	PfsAggregation *aggregation = &candidate->aggregation;
	PfsAggSpec *spec;

	/* An aggregate that occurs in the output and in HAVING is computed once. */
	if (list_member(aggregation->aggrefs, aggref))
		return true;
	spec = palloc(sizeof(PfsAggSpec));
	if (!pfs_agg_translate(aggref, candidate->input->relid, spec))
		return false;
	aggregation->aggrefs = lappend(aggregation->aggrefs, aggref);
	aggregation->aggregates = lappend(aggregation->aggregates, spec);
	return true;
}

void
pfs_agg_candidate_cost(PlannerInfo *root, PfsAggCandidate *candidate)
{
	PfsAggregation *aggregation = &candidate->aggregation;
	int columns = column_count(aggregation);
	double share = share_of_rows(aggregation);
	Cost per_row = GROUP_COST_PER_ROW + ADD_COST_PER_ROW * list_length(aggregation->aggregates);
	ListCell *cell;

	foreach(cell, candidate->rels)
	{
		RelOptInfo *rel = lfirst(cell);
		PfsReadCost cost = pfs_read_cost(root, rel, rel->baserestrictinfo, columns);

		/* Tables are read one after the other, so both costs add up. */
		candidate->startup += cost.startup;
		candidate->run += share * (cost.run + per_row * Min(cost.row_count, rel->rows));
		candidate->pages += rel->pages;
		aggregation->scanned =
			lappend_oid(aggregation->scanned, planner_rt_fetch(rel->relid, root)->relid);
	}
	candidate->group_count = 1;
	if (aggregation->keys != NIL)
		candidate->group_count =
			estimate_num_groups(root, aggregation->keys, candidate->input->rows, NULL, NULL);
}

int
pfs_agg_candidate_workers(const PfsAggCandidate *candidate)
{
	return candidate->input->consider_parallel
			   ? compute_parallel_worker(candidate->input, candidate->pages, -1,
										 max_parallel_workers_per_gather)
			   : 0;
}
