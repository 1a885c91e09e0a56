/*
 * computed_key.h
 *		A group key that is an expression of one column, such as date_bin('1 min', time,
 *		'2000-01-01').
 *
 * The executor evaluates it, so it has its usual meaning. Results are cached, because blocks repeat
 * values.
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
	PfsValueKind kind; /* kind of the result */
	struct PfsRememberedKey *remembered;
	bool nulls[PFS_BLOCK_ROWS];
	int64 values[PFS_BLOCK_ROWS];
} PfsComputedKey;

/* Sets up a key. The expression may use only one column. */
PfsComputedKey *pfs_computed_key_init(Expr *expression, PlanState *parent);

/*
 * Computes the key of each row into key->values. Returns key->nulls, or NULL if no key is null.
 * nulls may be NULL.
 */
const bool *pfs_computed_key_evaluate(PfsComputedKey *key, uint32 row_count, const int64 *values,
									  const bool *nulls);

#endif
