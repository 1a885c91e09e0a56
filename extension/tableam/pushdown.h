/*
 * pushdown.h
 *		Quals that a block scan can evaluate itself: from the planner's clauses to filters.
 *
 * A clause is pushed down if it compares a column with a value that is the same for the whole scan:
 * with =, <, <=, >, >= or = ANY (array), or if it tests the column for null, or if it is a boolean
 * column or its negation. The operators are those of the type's default btree operator family,
 * which is all that may be assumed of them. Values are expressions without columns and without
 * volatile functions; they are evaluated when the scan begins.
 *
 * Evaluating such a clause reads values and calls no function per row, so it cannot leak a row that
 * row security hides, and the order of clauses does not matter.
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
	/* btree strategies */
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
	Oid column_type; /* base type */
	Oid value_type;	 /* base type; of an array: its elements' */
	Expr *value;	 /* NULL for the null tests */
} PfsPushedQual;

/* Whether the clause on relation index can be pushed down, and if so, as what. */
bool pfs_pushdown_translate(Expr *clause, Index index, PfsPushedQual *qual);

/* Whether expression is a column of the relation, perhaps relabelled; its number and base type. */
bool pfs_is_stored_column(Expr *expression, Index index, AttrNumber *attnum, Oid *type);

/*
 * Quals as plans carry them: numbers for custom_private, values appended to custom_exprs. Reading
 * takes the values from *next on, and moves it behind them.
 */
List *pfs_pushdown_numbers(const List *quals, List **values);
List *pfs_pushdown_quals(const List *numbers, const List *values, int *next);

/* Quals in execution. */
typedef struct PfsPushdown
{
	int count;
	PfsPushedQual *quals;
	ExprState **values; /* NULL for null tests */
} PfsPushdown;

/* Quals are what pfs_pushdown_quals returns. */
PfsPushdown *pfs_pushdown_init(const List *quals, PlanState *parent);

/*
 * Evaluates the values and makes a filter of each qual, in CurrentMemoryContext. attnums maps the
 * quals' attribute numbers (from 1) to those of the scanned table, or is NULL.
 */
PfsBlockFilter *pfs_pushdown_filters(const PfsPushdown *pushdown, ExprContext *context,
									 const AttrNumber *attnums);

/* The quals as SQL for EXPLAIN; relation_id is the table whose columns they name. */
char *pfs_pushdown_deparse(const List *quals, Oid relation_id, PlanState *planstate,
						   List *ancestors, ExplainState *es);

#endif
