/*
 * computed_key.h
 *		A group key that is an expression of one column, such as date_bin('1 min', time,
 *		'2000-01-01').
 *
 * The executor evaluates it, so it means exactly what it means everywhere; results are remembered,
 * because blocks repeat values.
 */
#ifndef PFS_COMPUTED_KEY_H
#define PFS_COMPUTED_KEY_H

#include "profstore.h"

#include "nodes/execnodes.h"

#include "codec/segment.h"
#include "store/segment/value.h"

typedef struct PfsComputedKey
{
	ExprState *state;
	ExprContext *context;
	PfsValueKind kind; /* of the result */
	struct PfsRememberedKey *remembered;
	bool nulls[PFS_BLOCK_ROWS];
	int64 values[PFS_BLOCK_ROWS];
} PfsComputedKey;

/* Columns in the expression are all the same one. */
PfsComputedKey *pfs_computed_key_init(Expr *expression, PlanState *parent);

/*
 * The key of each row, in key->values; returns key->nulls, or NULL where none is null. nulls may be
 * NULL.
 */
const bool *pfs_computed_key_evaluate(PfsComputedKey *key, uint32 row_count, const int64 *values,
									  const bool *nulls);

#endif
