/*
 * stack_walk.h
 *		Stacks frame by frame, from the root or from the leaf.
 *
 * A walker stands for some stacks that have the same path behind them. Root first these are all
 * stacks below a node, and walkers of the node's children take over when it goes on. Leaf first
 * there is one per stack. Lists are chained through walkers, so a walker is in one list at a time,
 * and splitting a list by the next frame costs nothing but the walk. Nodes that no list comes to
 * cost nothing: stacks below a node are a range, whose sum is a difference.
 */
#ifndef PFS_STACK_WALK_H
#define PFS_STACK_WALK_H

#include "profstore.h"

#include "merge/stack_sums.h"
#include "tree/symbols.h"

#define PFS_NO_WALKER PG_UINT32_MAX

typedef struct PfsStackWalk PfsStackWalk;

/* A walker that has come to its next frame. */
typedef struct PfsStep
{
	uint32 walker;
	uint64 age;		/* less for older nodes (leaf first: stacks) */
	PfsSides total; /* modulo 2^64 where the walk is wide */
	int32 location;
	PfsFrame frame;
} PfsStep;

/*
 * A walk without stacks. Where function is a symbol, and not PFS_NO_SYMBOL, the path begins at that
 * function's outermost frame in each stack, and other stacks have none: root first come what it
 * calls, leaf first its callers. Lives in CurrentMemoryContext, and as long as the shapes of the
 * dictionary.
 */
PfsStackWalk *pfs_stack_walk_create(PfsSymbols *symbols, bool inverted, uint32 function);

/*
 * Adds the stacks that the filters of symbols let pass: their walkers before their first frame to a
 * list, the sum of their values to total. Stacks that are added to a list that is not empty have
 * ids that follow. The sums may go.
 */
void pfs_stack_walk_add(PfsStackWalk *walk, const PfsStackSums *sums, uint32 *list,
						PfsWideSides *total);

/* So many stacks, in one direction, take what such a query may take for them. */
Size pfs_stack_walk_room(bool inverted, uint32 function);

/*
 * Whether sums of some of the stacks may not fit int8, and what the walkers of a list have
 * together.
 */
bool pfs_stack_walk_is_wide(const PfsStackWalk *walk);
PfsWideSides pfs_stack_walk_total(const PfsStackWalk *walk, uint32 list);

/*
 * Forgets all stacks and their walkers, for more of them, with ids that follow. What the last
 * pfs_stack_walk_add allocated may go: it was in the context that was current then.
 */
void pfs_stack_walk_clear(PfsStackWalk *walk);

/*
 * Takes walkers off the list until one has a next frame. False when the list is empty. What ends
 * before another frame is added to ended.
 */
bool pfs_stack_walk_next(PfsStackWalk *walk, uint32 *list, PfsStep *step, PfsWideSides *ended);

/* Puts the walker of a step before a list. */
void pfs_stack_walk_link(PfsStackWalk *walk, uint32 walker, uint32 *list);

/*
 * The number of walkers that were made, and back to that: those that were made since are in no list
 * any more.
 */
uint32 pfs_stack_walk_mark(const PfsStackWalk *walk);
void pfs_stack_walk_release(PfsStackWalk *walk, uint32 mark);

/* What a visit of all frames calls, from the root on, whatever the direction of the walk. */
typedef struct PfsFrameVisitor
{
	void (*enter)(void *state, uint64 age, int32 location, PfsFrame frame);
	/*
	 * the total is of all stacks with this frame; where it may not fit int8, wide has it, else that
	 * is NULL
	 */
	void (*leave)(void *state, PfsFrame frame, PfsSides total, const PfsWideSides *wide);
	void (*end)(void *state, uint64 age, uint32 symbol,
				PfsSides value); /* a stack, by its last frame, or PFS_NO_SYMBOL */
} PfsFrameVisitor;

/* Visits each frame of each node on the paths of the stacks that were added once, depth first. */
void pfs_stack_walk_visit(PfsStackWalk *walk, const PfsFrameVisitor *visitor, void *state);

#endif
