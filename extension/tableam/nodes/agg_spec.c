/*
 * agg_spec.c
 *		Recognises keys and aggregates, and stores them in the plan.
 */
#include "tableam/nodes/agg_spec.h"

#include "catalog/pg_aggregate.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

typedef struct KnownAggregate
{
	Oid function;
	PfsAggKind kind;
} KnownAggregate;

/*
 * Floats are not supported: their sums depend on the order of rows, and their minima and maxima on
 * which of two zeros comes first.
 */
static const KnownAggregate known_aggregates[] = {
	{ F_COUNT_, PFS_AGG_COUNT_ROWS }, { F_COUNT_ANY, PFS_AGG_COUNT },
	{ F_SUM_INT2, PFS_AGG_SUM },	  { F_SUM_INT4, PFS_AGG_SUM },
	{ F_SUM_INT8, PFS_AGG_SUM },	  { F_AVG_INT2, PFS_AGG_AVG },
	{ F_AVG_INT4, PFS_AGG_AVG },	  { F_AVG_INT8, PFS_AGG_AVG },
	{ F_MIN_INT2, PFS_AGG_MIN },	  { F_MIN_INT4, PFS_AGG_MIN },
	{ F_MIN_INT8, PFS_AGG_MIN },	  { F_MIN_OID, PFS_AGG_MIN },
	{ F_MIN_DATE, PFS_AGG_MIN },	  { F_MIN_TIME, PFS_AGG_MIN },
	{ F_MIN_TIMESTAMP, PFS_AGG_MIN }, { F_MIN_TIMESTAMPTZ, PFS_AGG_MIN },
	{ F_MAX_INT2, PFS_AGG_MAX },	  { F_MAX_INT4, PFS_AGG_MAX },
	{ F_MAX_INT8, PFS_AGG_MAX },	  { F_MAX_OID, PFS_AGG_MAX },
	{ F_MAX_DATE, PFS_AGG_MAX },	  { F_MAX_TIME, PFS_AGG_MAX },
	{ F_MAX_TIMESTAMP, PFS_AGG_MAX }, { F_MAX_TIMESTAMPTZ, PFS_AGG_MAX },
};

static bool
translate_filter(Expr *filter, Index index, List **quals)
{
	ListCell *cell;

	*quals = NIL;
	/* FILTER (WHERE a AND b) becomes two filters. */
	foreach(cell, make_ands_implicit(filter))
	{
		PfsPushedQual *qual = palloc0(sizeof(PfsPushedQual));

		if (!pfs_pushdown_translate(lfirst(cell), index, qual))
			return false;
		*quals = lappend(*quals, qual);
	}
	return true;
}

static bool
translate_argument(const Aggref *aggref, Index index, PfsAggSpec *spec)
{
	Expr *argument;

	if (aggref->aggstar)
		return spec->kind == PFS_AGG_COUNT_ROWS;
	if (list_length(aggref->args) != 1)
		return false;
	argument = linitial_node(TargetEntry, aggref->args)->expr;
	/* count(1) counts rows, as count(*) does. */
	if (spec->kind == PFS_AGG_COUNT && IsA(argument, Const) &&
		!((const Const *) argument)->constisnull)
	{
		spec->kind = PFS_AGG_COUNT_ROWS;
		return true;
	}
	return pfs_is_stored_column(argument, index, &spec->attnum, &spec->type);
}

bool
pfs_agg_translate(const Aggref *aggref, Index index, PfsAggSpec *spec)
{
	memset(spec, 0, sizeof(*spec));
	/*
	 * Ordered sets, ORDER BY and DISTINCT inside the aggregate need single rows; an aggregate of an
	 * outer query is not computed here.
	 */
	if (aggref->aggkind != AGGKIND_NORMAL || aggref->aggorder != NIL ||
		aggref->aggdistinct != NIL || aggref->aggvariadic || aggref->agglevelsup != 0 ||
		aggref->aggsplit != AGGSPLIT_SIMPLE)
		return false;
	for (size_t i = 0; i < lengthof(known_aggregates); i++)
		if (known_aggregates[i].function == aggref->aggfnoid)
		{
			spec->kind = known_aggregates[i].kind;
			return translate_argument(aggref, index, spec) &&
				   translate_filter(aggref->aggfilter, index, &spec->filter);
		}
	return false;
}

/* Returns true if an expression has nodes other than functions, constants and columns. */
static bool
has_other_nodes(Node *node, void *context)
{
	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		/*
		 * The listed nodes have no effects beside their value, and none depends on the row other
		 * than by the column.
		 */
		case T_List:
		case T_Var:
		case T_Const:
		case T_FuncExpr:
		case T_OpExpr:
		case T_RelabelType:
			return expression_tree_walker(node, has_other_nodes, context);
		default:
			return true; /* stops the walk */
	}
}

bool
pfs_agg_translate_key(Expr *key, Index index, AttrNumber *attnum)
{
	Oid type;
	List *columns;
	ListCell *cell;

	/* Groups compare stored words, so equal values must have equal words; floats do not. */
	if (!pfs_value_is_ordered(pfs_value_kind(exprType((Node *) key))))
		return false;
	if (pfs_is_stored_column(key, index, attnum, &type))
		return true;
	if (has_other_nodes((Node *) key, NULL) || contain_volatile_functions((Node *) key) ||
		expression_returns_set((Node *) key))
		return false;
	/*
	 * All columns of the expression must be the same one, whose values index the memory of results.
	 */
	columns = pull_var_clause((Node *) key, 0);
	*attnum = InvalidAttrNumber;
	foreach(cell, columns)
	{
		AttrNumber column;

		if (!pfs_is_stored_column(lfirst(cell), index, &column, &type) ||
			(*attnum != InvalidAttrNumber && *attnum != column))
			return false;
		*attnum = column;
	}
	return *attnum != InvalidAttrNumber;
}

bool
pfs_agg_key_is_column(Expr *key)
{
	/* pfs_agg_translate_key() has accepted only keys with one column. */
	const Var *column = linitial(pull_var_clause((Node *) key, 0));
	AttrNumber attnum;
	Oid type;

	return pfs_is_stored_column(key, (Index) column->varno, &attnum, &type);
}

List *
pfs_aggregation_to_private(const PfsAggregation *aggregation, List **values)
{
	List *aggregates = NIL;
	List *quals = pfs_pushdown_numbers(aggregation->quals, values);
	ListCell *cell;

	foreach(cell, aggregation->aggregates)
	{
		const PfsAggSpec *spec = lfirst(cell);

		/*
		 * Node lists survive copyObject() and the transfer to workers; structs of our own do not.
		 */
		aggregates =
			lappend(aggregates,
					list_make2(list_make3_oid((Oid) spec->kind, (Oid) spec->attnum, spec->type),
							   pfs_pushdown_numbers(spec->filter, values)));
	}
	return list_make5(list_make2_oid(aggregation->table, (Oid) aggregation->is_partial),
					  /*
					   * The order of the elements is that in which pfs_aggregation_of_plan() reads
					   * them.
					   */
					  aggregation->scanned, aggregation->key_columns, quals, aggregates);
}

PfsAggregation *
pfs_aggregation_of_plan(const CustomScan *plan)
{
	PfsAggregation *aggregation = palloc0(sizeof(PfsAggregation));
	const List *private = plan->custom_private;
	List *aggregates = list_nth(private, 4);
	int next_value = 0;
	ListCell *cell;

	aggregation->table = linitial_oid((List *) linitial(private));
	aggregation->is_partial = lsecond_oid((List *) linitial(private)) != 0;
	aggregation->scanned = lsecond(private);
	aggregation->key_columns = lthird(private);
	/*
	 * custom_exprs holds the values of all quals one after another: first those of WHERE, then
	 * those of each FILTER.
	 */
	aggregation->quals = pfs_pushdown_quals(lfourth(private), plan->custom_exprs, &next_value);
	foreach(cell, aggregates)
	{
		const List *parts = lfirst(cell);
		const List *numbers = linitial(parts);
		PfsAggSpec *spec = palloc(sizeof(PfsAggSpec));

		spec->kind = (PfsAggKind) linitial_oid(numbers);
		spec->attnum = (AttrNumber) lsecond_oid(numbers);
		spec->type = lthird_oid(numbers);
		spec->filter = pfs_pushdown_quals(lsecond(parts), plan->custom_exprs, &next_value);
		aggregation->aggregates = lappend(aggregation->aggregates, spec);
	}
	foreach(cell, plan->custom_scan_tlist)
	{
		Expr *expression = lfirst_node(TargetEntry, cell)->expr;

		/* Keys precede aggregates in the node's output. */
		if (foreach_current_index(cell) < list_length(aggregation->key_columns))
			aggregation->keys = lappend(aggregation->keys, expression);
		else
			aggregation->aggrefs = lappend(aggregation->aggrefs, expression);
	}
	return aggregation;
}
