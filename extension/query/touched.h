/*
 * touched.h
 *		The part of a dictionary partition that some stacks touch: their nodes and all ancestors.
 *
 * Work on it costs by what is touched, not by the partition: beside the nodes themselves there is one bit per node of
 * the partition. Positions count touched nodes in id order, so a parent's position is less than its child's;
 * position 0 is the root.
 */
#ifndef PFS_TOUCHED_H
#define PFS_TOUCHED_H

#include "profstore.h"

#include "query/stack_sums.h"
#include "query/symbols.h"

typedef struct PfsTouched
{
	uint32 count;			   /* touched nodes, the root included */
	uint32 *parents;		   /* parents[position], a position; 0 for the root itself */
	int32 *locations;		   /* locations[position]; meaningless for the root */
	const PfsStackSum *stacks; /* the partition's part of the sums */
	uint32 stack_count;
	uint32 *leaves; /* position of each stack's leaf */
} PfsTouched;

/*
 * Iterates over the dictionary partitions of some stacks: collects what the stacks from *next on touch in the
 * partition of the first of them, and moves *next behind them. False where none is left. The result lives in
 * CurrentMemoryContext. pfs_dictionary_begin has been called.
 */
bool pfs_touched_next(const PfsStackSums *stacks, uint32 *next, PfsTouched *touched);

/* What the filters make of a stack; the first that applies. */
typedef enum PfsStackVerdict
{
	PFS_STACK_PASSES,
	PFS_STACK_NOT_FOCUSED,
	PFS_STACK_IGNORED,
	PFS_STACK_WITHOUT_FRAMES /* since show and hide left none */
} PfsStackVerdict;

/*
 * Loads the locations, and judges each stack. NULL where there are no filters.
 */
PfsStackVerdict *pfs_touched_verdicts(const PfsTouched *touched, PfsSymbols *symbols);

/* The same for who only asks whether a stack passes. */
bool *pfs_touched_passing(const PfsTouched *touched, PfsSymbols *symbols);

#endif
