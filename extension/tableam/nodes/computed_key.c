/*
 * computed_key.c
 *		Evaluates a key's expression once for each value that recurs.
 */
#include "tableam/nodes/computed_key.h"

#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"

#include "store/segment/value.h"

#define REMEMBERED_BITS	 12
#define REMEMBERED_COUNT (1 << REMEMBERED_BITS)

/* Cached key of a value. Its position in the cache is a hash of the value. */
typedef struct PfsRememberedKey
{
	int64 value;
	int64 key;
	bool is_known;
	bool is_null;
} PfsRememberedKey;

/* Replaces the column by a CaseTestExpr, through which the column's value is passed. */
static Node *
replace_column(Node *node, void *context)
{
	const Var *column = (const Var *) node;
	CaseTestExpr *value;

	if (node == NULL)
		return NULL;
	/* Exactly one column occurs in the expression, see pfs_agg_translate_key(). */
	if (!IsA(node, Var))
		return expression_tree_mutator(node, replace_column, context);
	value = makeNode(CaseTestExpr);
	value->typeId = column->vartype;
	value->typeMod = column->vartypmod;
	value->collation = column->varcollid;
	return (Node *) value;
}

PfsComputedKey *
pfs_computed_key_init(Expr *expression, PlanState *parent)
{
	PfsComputedKey *key = palloc(sizeof(PfsComputedKey));

	key->state = ExecInitExpr((Expr *) replace_column((Node *) expression, NULL), parent);
	key->kind = pfs_value_kind(exprType((Node *) expression));
	key->context = CreateExprContext(parent->state);
	key->remembered = palloc0(sizeof(PfsRememberedKey) * REMEMBERED_COUNT);
	return key;
}

static int64
computed_key_evaluate(PfsComputedKey *key, int64 value, bool value_is_null, bool *is_null)
{
	MemoryContext outer = MemoryContextSwitchTo(key->context->ecxt_per_tuple_memory);
	Datum result;

	ResetExprContext(key->context);
	key->context->caseValue_datum = pfs_datum_of_value(value);
	key->context->caseValue_isNull = value_is_null;
	result = ExecEvalExpr(key->state, key->context, is_null);
	MemoryContextSwitchTo(outer);
	return *is_null ? 0 : pfs_value_of_datum(key->kind, result);
}

static inline const PfsRememberedKey *
computed_key_remember(PfsComputedKey *key, int64 value)
{
	/* Fibonacci hashing: the highest bits of the product depend on all bits of the value. */
	uint64 hash = (uint64) value * UINT64CONST(0x9e3779b97f4a7c15);
	PfsRememberedKey *remembered = &key->remembered[hash >> (64 - REMEMBERED_BITS)];

	if (!remembered->is_known || remembered->value != value)
	{
		/* mark the entry as invalid first, because the expression may raise an error */
		remembered->is_known = false;
		remembered->value = value;
		remembered->key = computed_key_evaluate(key, value, false, &remembered->is_null);
		remembered->is_known = true;
	}
	return remembered;
}

const bool *
pfs_computed_key_evaluate(PfsComputedKey *key, uint32 row_count, const int64 *values,
						  const bool *nulls)
{
	bool has_nulls = false;

	for (uint32 row = 0; row < row_count; row++)
	{
		/* NULL has no value to hash. */
		if (nulls != NULL && nulls[row])
			key->values[row] = computed_key_evaluate(key, 0, true, &key->nulls[row]);
		else
		{
			const PfsRememberedKey *remembered = computed_key_remember(key, values[row]);

			key->values[row] = remembered->key;
			key->nulls[row] = remembered->is_null;
		}
		has_nulls |= key->nulls[row];
	}
	/* Without nulls the caller can skip its tests. */
	return has_nulls ? key->nulls : NULL;
}
