/*
 * pushdown.h
 *		Quals that a block scan evaluates itself: from the planner's clauses to filters.
 *
 * A clause is pushed down if it compares a column by =, <, <=, >, >= or = ANY (array) with a value
 * that is constant during the scan, if it tests the column for null, or if it is a boolean column
 * or its negation. The operators must belong to the type's default btree operator family; nothing
 * else is assumed about them. Values are expressions without columns and volatile functions; they
 * are evaluated when the scan begins.
 *
 * Evaluating such a clause only compares values and calls no function per row. So it cannot leak a
 * row that row security hides, and the order of clauses does not matter.
 */
#ifndef PFS_PUSHDOWN_H
#define PFS_PUSHDOWN_H

#include "profstore.h"

#include "commands/explain.h"
#include "nodes/execnodes.h"
#include "nodes/pathnodes.h"

#include "store/scan/block_scan.h"
#include "store/segment/value.h"

typedef enum PfsPushedTest
{
	/* strategy numbers of a btree operator family */
	PFS_TEST_LESS = 1,
	PFS_TEST_LESS_EQUAL,
	PFS_TEST_EQUAL,
	PFS_TEST_GREATER_EQUAL,
	PFS_TEST_GREATER,
	PFS_TEST_ANY, /* = ANY (array) */
	PFS_TEST_NULL,
	PFS_TEST_NOT_NULL
} PfsPushedTest;

typedef struct PfsPushedQual
{
	AttrNumber attnum;
	PfsPushedTest test;
	Oid column_type; /* type of the column, or the base type of its domain */
	/* type of the value, or the base type of its domain; for an array, the type of its elements */
	Oid value_type;
	Expr *value; /* NULL for the null tests */
} PfsPushedQual;

/* Returns true if the clause on relation index can be pushed down, and fills in qual. */
bool pfs_pushdown_translate(Expr *clause, Index index, PfsPushedQual *qual);

/*
 * Returns true if expression is a column of the relation, perhaps with a RelabelType; sets its
 * number and base type.
 */
bool pfs_is_stored_column(Expr *expression, Index index, AttrNumber *attnum, Oid *type);

/*
 * pfs_pushdown_numbers() converts quals to the lists of a plan: numbers for custom_private, and
 * values appended to custom_exprs. pfs_pushdown_quals() converts them back; it takes the values
 * from *next on, and advances *next.
 */
List *pfs_pushdown_numbers(const List *quals, List **values);
List *pfs_pushdown_quals(const List *numbers, const List *values, int *next);

/* Quals during execution. */
typedef struct PfsPushdown
{
	int count;
	PfsPushedQual *quals;
	ExprState **values; /* states of the values' expressions; NULL for null tests */
} PfsPushdown;

/* Prepares quals, as pfs_pushdown_quals() returns them. */
PfsPushdown *pfs_pushdown_init(const List *quals, PlanState *parent);

/*
 * Evaluates the values and makes a filter of each qual, in CurrentMemoryContext. attnums maps the
 * quals' attribute numbers (from 1) to those of the scanned table, or is NULL.
 */
PfsBlockFilter *pfs_pushdown_filters(const PfsPushdown *pushdown, ExprContext *context,
									 const AttrNumber *attnums);

/* Returns the quals as SQL for EXPLAIN. relation_id is the table whose columns they use. */
char *pfs_pushdown_deparse(const List *quals, Oid relation_id, PlanState *planstate,
						   List *ancestors, ExplainState *es);

#endif
