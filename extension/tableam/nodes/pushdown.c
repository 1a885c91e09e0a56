/*
 * pushdown.c
 *		Recognises clauses that a block scan can evaluate, and makes filters of them.
 *
 * 1. For the planner: translates a clause that compares a stored column with a value that is
 *    constant during a scan, by an operator whose order is that of values; also = ANY, booleans and
 *    null tests.
 * 2. For the executor: evaluates the constants, and makes each clause a filter: a range, sorted
 *    keys, nulls only, or nothing.
 * 3. For EXPLAIN: prints the clauses.
 */
#include "tableam/nodes/pushdown.h"

#include "access/stratnum.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "lib/stringinfo.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"

#include "base/arrays.h"

StaticAssertDecl(PFS_TEST_LESS == BTLessStrategyNumber &&
					 PFS_TEST_GREATER == BTGreaterStrategyNumber,
				 "tests 1 to 5 are btree strategies");

/* Positions in the list of a qual's numbers in a plan. */
enum
{
	NUMBER_ATTNUM,
	NUMBER_TEST,
	NUMBER_COLUMN_TYPE,
	NUMBER_VALUE_TYPE
};

static Expr *
strip_relabel(Expr *expression)
{
	while (expression != NULL && IsA(expression, RelabelType))
		expression = ((RelabelType *) expression)->arg;
	return expression;
}

bool
pfs_is_stored_column(Expr *expression, Index index, AttrNumber *attnum, Oid *type)
{
	/* A domain is compared like its base type. */
	Oid outer_type = getBaseType(exprType((Node *) expression));
	const Var *column = (const Var *) strip_relabel(expression);

	/*
	 * A cast between types of one representation, such as int4 to oid, keeps the stored value's
	 * order only if both have the same kind.
	 */
	if (!IsA(column, Var) || (Index) column->varno != index || column->varlevelsup != 0 ||
		column->varattno <= 0 || pfs_value_kind(column->vartype) != pfs_value_kind(outer_type))
		return false;
	*attnum = column->varattno;
	*type = outer_type;
	return true;
}

/* Returns true if an expression has one value for the whole scan. */
static bool
is_scan_constant(Expr *value, Index index)
{
	/*
	 * The flags prevent errors: clauses of a scan contain no aggregates or window functions, and a
	 * placeholder is refused below.
	 */
	List *vars = pull_var_clause((Node *) value, PVC_RECURSE_AGGREGATES | PVC_RECURSE_WINDOWFUNCS |
													 PVC_INCLUDE_PLACEHOLDERS);
	ListCell *cell;

	foreach(cell, vars)
	{
		const Node *node = lfirst(cell);

		/* columns of other relations become parameters */
		if (!IsA(node, Var) || (Index) ((const Var *) node)->varno == index)
			return false;
	}
	list_free(vars);
	/*
	 * A volatile function may return another value for each row, and a subplan may depend on the
	 * row.
	 */
	return !contain_volatile_functions((Node *) value) && !contain_subplans((Node *) value);
}

/* Returns true if values of the type can be compared with the column's by their keys. */
static bool
has_comparable_keys(Oid column_type, Oid value_type)
{
	PfsValueKind column = pfs_value_kind(column_type);
	PfsValueKind value = pfs_value_kind(value_type);
	bool column_is_float = column == PFS_VALUE_FLOAT32 || column == PFS_VALUE_FLOAT64;

	if (column_type == value_type)
		return true;
	/* value_key() converts dates, and timestamps without time zone, to the column's type. */
	if (column_type == TIMESTAMPTZOID)
		return value_type == DATEOID || value_type == TIMESTAMPOID;
	if (column_type == TIMESTAMPOID)
		return value_type == DATEOID;
	/* Keys of both widths are comparable. */
	if (column_is_float)
		return value == PFS_VALUE_FLOAT32 || value == PFS_VALUE_FLOAT64;
	return (column_type == INT2OID || column_type == INT4OID || column_type == INT8OID) &&
		   (value_type == INT2OID || value_type == INT4OID || value_type == INT8OID);
}

/* Returns the btree strategy of "column operator value"; 0 for other operators. */
static int
comparison_strategy(Oid operator, Oid column_type, Oid *value_type)
{
	/* An operator that is not in the type's default btree family has no known order. */
	TypeCacheEntry *type = lookup_type_cache(column_type, TYPECACHE_BTREE_OPFAMILY);
	Oid left_type;
	Oid right_type;

	if (!OidIsValid(operator) || !OidIsValid(type->btree_opf))
		return 0;
	op_input_types(operator, & left_type, &right_type);
	/* types such as regclass are compared as oid */
	if (left_type != column_type &&
		!(left_type == OIDOID && pfs_value_kind(column_type) == PFS_VALUE_UINT32))
		return 0;
	/*
	 * The type of the operator's right side, which may differ from the column's, as in int8 = int4.
	 */
	*value_type = right_type;
	if (!has_comparable_keys(left_type, right_type))
		return 0;
	/* 0 if the operator is not in the family, for example <>. */
	return get_op_opfamily_strategy(operator, type->btree_opf);
}

/* Translates "column operator value", or "value operator column" by the commutator. */
static bool
translate_operator(const OpExpr *clause, Index index, PfsPushedQual *qual)
{
	Oid operator= clause->opno;
	Expr *left;
	Expr *right;

	if (list_length(clause->args) != 2)
		return false;
	left = linitial(clause->args);
	right = lsecond(clause->args);
	/* "5 < column" becomes "column > 5". */
	if (!pfs_is_stored_column(left, index, &qual->attnum, &qual->column_type))
	{
		Expr *swapped = left;

		left = right;
		right = swapped;
		operator= get_commutator(operator);
		if (!pfs_is_stored_column(left, index, &qual->attnum, &qual->column_type))
			return false;
	}
	qual->test =
		(PfsPushedTest) comparison_strategy(operator, qual->column_type, &qual->value_type);
	qual->value = right;
	return qual->test != 0 && is_scan_constant(right, index);
}

/* Translates "column = ANY (array)". */
static bool
translate_any(const ScalarArrayOpExpr *clause, Index index, PfsPushedQual *qual)
{
	Expr *array = lsecond(clause->args);

	/* Filters have sets of keys for equality only. */
	if (!clause->useOr ||
		!pfs_is_stored_column(linitial(clause->args), index, &qual->attnum, &qual->column_type) ||
		comparison_strategy(clause->opno, qual->column_type, &qual->value_type) != PFS_TEST_EQUAL)
		return false;
	qual->test = PFS_TEST_ANY;
	qual->value = array;
	/*
	 * The operator compares elements, so the array's element type must be the operator's right
	 * type.
	 */
	return getBaseType(get_element_type(getBaseType(exprType((Node *) array)))) ==
			   qual->value_type &&
		   is_scan_constant(array, index);
}

static bool
translate_boolean(Expr *column, bool value, Index index, PfsPushedQual *qual)
{
	qual->test = PFS_TEST_EQUAL;
	qual->value_type = BOOLOID;
	/* A boolean column as a clause means "column = true". */
	qual->value = (Expr *) makeBoolConst(value, false);
	return pfs_is_stored_column(column, index, &qual->attnum, &qual->column_type) &&
		   qual->column_type == BOOLOID;
}

static bool
translate_null_test(const NullTest *clause, Index index, PfsPushedQual *qual)
{
	qual->test = clause->nulltesttype == IS_NULL ? PFS_TEST_NULL : PFS_TEST_NOT_NULL;
	qual->value_type = InvalidOid;
	qual->value = NULL;
	return !clause->argisrow &&
		   pfs_is_stored_column(clause->arg, index, &qual->attnum, &qual->column_type);
}

bool
pfs_pushdown_translate(Expr *clause, Index index, PfsPushedQual *qual)
{
	const BoolExpr *negation = (const BoolExpr *) clause;
	const BooleanTest *test = (const BooleanTest *) clause;

	if (IsA(clause, OpExpr))
		return translate_operator((const OpExpr *) clause, index, qual);
	if (IsA(clause, ScalarArrayOpExpr))
		return translate_any((const ScalarArrayOpExpr *) clause, index, qual);
	if (IsA(clause, NullTest))
		return translate_null_test((const NullTest *) clause, index, qual);
	if (IsA(clause, BoolExpr) && negation->boolop == NOT_EXPR)
		return translate_boolean(linitial(negation->args), false, index, qual);
	if (IsA(clause, BooleanTest) &&
		(test->booltesttype == IS_TRUE || test->booltesttype == IS_FALSE))
		return translate_boolean(test->arg, test->booltesttype == IS_TRUE, index, qual);
	/* Any other clause can only be a boolean column itself. */
	return translate_boolean(clause, true, index, qual);
}

List *
pfs_pushdown_numbers(const List *quals, List **values)
{
	List *numbers = NIL;
	ListCell *cell;

	foreach(cell, quals)
	{
		const PfsPushedQual *qual = lfirst(cell);

		/*
		 * a list of oids loses the sign that an int2 may have, but attribute numbers are positive
		 * here
		 */
		numbers = lappend(numbers, list_make4_oid((Oid) qual->attnum, (Oid) qual->test,
												  qual->column_type, qual->value_type));
		/* Tests of nulls have no value. */
		if (qual->value != NULL)
			*values = lappend(*values, qual->value);
	}
	return numbers;
}

List *
pfs_pushdown_quals(const List *numbers, const List *values, int *next)
{
	List *quals = NIL;
	ListCell *cell;

	foreach(cell, numbers)
	{
		const List *of_qual = lfirst(cell);
		PfsPushedQual *qual = palloc0(sizeof(PfsPushedQual));

		qual->attnum = (AttrNumber) list_nth_oid(of_qual, NUMBER_ATTNUM);
		qual->test = (PfsPushedTest) list_nth_oid(of_qual, NUMBER_TEST);
		qual->column_type = list_nth_oid(of_qual, NUMBER_COLUMN_TYPE);
		qual->value_type = list_nth_oid(of_qual, NUMBER_VALUE_TYPE);
		/* Values follow in the order of the quals that have one. */
		if (qual->test < PFS_TEST_NULL)
			qual->value = list_nth(values, (*next)++);
		quals = lappend(quals, qual);
	}
	return quals;
}

PfsPushdown *
pfs_pushdown_init(const List *quals, PlanState *parent)
{
	PfsPushdown *pushdown = palloc0(sizeof(PfsPushdown));
	ListCell *cell;

	pushdown->quals = palloc(sizeof(PfsPushedQual) * (Size) Max(list_length(quals), 1));
	pushdown->values = palloc0(sizeof(ExprState *) * (Size) Max(list_length(quals), 1));
	foreach(cell, quals)
	{
		PfsPushedQual *qual = &pushdown->quals[pushdown->count];

		*qual = *(const PfsPushedQual *) lfirst(cell);
		if (qual->value != NULL)
			pushdown->values[pushdown->count] = ExecInitExpr(qual->value, parent);
		pushdown->count++;
	}
	return pushdown;
}

/* Returns the key of a value, comparable with the keys of the column. */
static int64
value_key(const PfsPushedQual *qual, Datum value)
{
	int overflow = 0;
	int64 time;

	/*
	 * Stored times are microseconds, so dates become the same unit. A conversion that depends on
	 * the time zone is done once per scan.
	 */
	if (qual->value_type == DATEOID && qual->column_type == TIMESTAMPTZOID)
		time = date2timestamptz_opt_overflow(DatumGetDateADT(value), &overflow);
	else if (qual->value_type == DATEOID && qual->column_type == TIMESTAMPOID)
		time = date2timestamp_opt_overflow(DatumGetDateADT(value), &overflow);
	else if (qual->value_type == TIMESTAMPOID && qual->column_type == TIMESTAMPTZOID)
		time = timestamp2timestamptz_opt_overflow(DatumGetTimestamp(value), &overflow);
	else
	{
		PfsValueKind kind = pfs_value_kind(qual->value_type);

		return pfs_value_key(kind, pfs_value_of_datum(kind, value));
	}
	/* a date outside the range of timestamps gets a key between infinity and all finite times */
	if (overflow != 0)
		return overflow > 0 ? END_TIMESTAMP : PG_INT64_MIN + 1;
	return time;
}

static void
keep_nothing(PfsBlockFilter *filter)
{
	/* No key is at least 1 and at most 0. */
	filter->low = 1;
	filter->high = 0;
}

static void
pushdown_set_range(PfsBlockFilter *filter, PfsPushedTest test, int64 key)
{
	/* A test bounds the key below, above, or on both sides. */
	if (test == PFS_TEST_EQUAL || test == PFS_TEST_GREATER_EQUAL || test == PFS_TEST_GREATER)
		filter->low = key;
	if (test == PFS_TEST_EQUAL || test == PFS_TEST_LESS_EQUAL || test == PFS_TEST_LESS)
		filter->high = key;
	/* key + 1 and key - 1 would overflow; nothing is beyond these keys. */
	if ((test == PFS_TEST_GREATER && key == PG_INT64_MAX) ||
		(test == PFS_TEST_LESS && key == PG_INT64_MIN))
		keep_nothing(filter);
	else if (test == PFS_TEST_GREATER)
		filter->low = key + 1;
	else if (test == PFS_TEST_LESS)
		filter->high = key - 1;
}

/*
 * Sets the keys of a filter to the elements of an array, sorted and without duplicates and NULLs.
 */
static void
set_keys(PfsBlockFilter *filter, const PfsPushedQual *qual, ArrayType *array)
{
	int16 width;
	bool by_value;
	char align;
	Datum *elements;
	bool *nulls;
	int count;
	int64 *keys;

	get_typlenbyvalalign(ARR_ELEMTYPE(array), &width, &by_value, &align);
	deconstruct_array(array, ARR_ELEMTYPE(array), width, by_value, align, &elements, &nulls,
					  &count);
	keys = palloc_extended(sizeof(int64) * (Size) Max(count, 1), MCXT_ALLOC_HUGE);
	for (int i = 0; i < count; i++)
		/* An element NULL equals no value. */
		if (!nulls[i])
			keys[filter->key_count++] = value_key(qual, elements[i]);
	qsort(keys, filter->key_count, sizeof(int64), pfs_compare_int64);
	/* remove duplicate keys */
	for (uint32 i = 1, kept = 1, all = filter->key_count; i < all; i++)
	{
		if (keys[i] != keys[kept - 1])
			keys[kept++] = keys[i];
		filter->key_count = kept;
	}
	filter->keys = keys;
}

/* Evaluates the operand of a pushed clause and makes the block filter of it. */
static void
pushdown_make_filter(const PfsPushedQual *qual, ExprState *state, ExprContext *context,
					 PfsBlockFilter *filter)
{
	/*
	 * What the expression allocates is needed only until the filter has its keys;
	 * ResetExprContext() frees it.
	 */
	MemoryContext outer = MemoryContextSwitchTo(context->ecxt_per_tuple_memory);
	Datum value = 0;
	bool is_null = true;

	if (state != NULL)
		value = ExecEvalExpr(state, context, &is_null);
	MemoryContextSwitchTo(outer);

	/* The default range keeps every value that is not null. */
	filter->low = PG_INT64_MIN;
	filter->high = PG_INT64_MAX;
	if (qual->test == PFS_TEST_NULL)
		filter->keeps_nulls = true;
	else if (qual->test == PFS_TEST_NOT_NULL)
		return;
	else if (is_null)
		keep_nothing(filter);
	else if (qual->test == PFS_TEST_ANY)
		set_keys(filter, qual, DatumGetArrayTypeP(value));
	else
		pushdown_set_range(filter, qual->test, value_key(qual, value));
}

PfsBlockFilter *
pfs_pushdown_filters(const PfsPushdown *pushdown, ExprContext *context, const AttrNumber *attnums)
{
	PfsBlockFilter *filters = palloc0(sizeof(PfsBlockFilter) * (Size) Max(pushdown->count, 1));

	/* Frees the values of the previous call. */
	ResetExprContext(context);
	for (int i = 0; i < pushdown->count; i++)
	{
		AttrNumber attnum = pushdown->quals[i].attnum;

		filters[i].attnum = attnums != NULL ? attnums[attnum - 1] : attnum;
		pushdown_make_filter(&pushdown->quals[i], pushdown->values[i], context, &filters[i]);
	}
	return filters;
}

static const char *
test_symbol(PfsPushedTest test)
{
	static const char *const symbols[] = { "",	"<",	 "<=",		"=",		  ">=",
										   ">", "= ANY", "IS NULL", "IS NOT NULL" };

	return symbols[test];
}

char *
pfs_pushdown_deparse(const List *quals, Oid relation_id, PlanState *planstate, List *ancestors,
					 ExplainState *es)
{
	List *context = set_deparse_context_plan(es->deparse_cxt, planstate->plan, ancestors);
	StringInfoData text;
	ListCell *cell;

	initStringInfo(&text);
	foreach(cell, quals)
	{
		const PfsPushedQual *qual = lfirst(cell);
		const char *column = quote_identifier(get_attname(relation_id, qual->attnum, false));

		if (text.len > 0)
			appendStringInfoString(&text, " AND ");
		appendStringInfo(&text, "(%s %s", column, test_symbol(qual->test));
		if (qual->value != NULL)
		{
			const char *value = deparse_expression((Node *) qual->value, context, false, false);

			appendStringInfo(&text, qual->test == PFS_TEST_ANY ? " (%s)" : " %s", value);
		}
		appendStringInfoChar(&text, ')');
	}
	return text.data;
}
