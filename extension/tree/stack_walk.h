/*
 * stack_walk.h
 *		Walks stacks frame by frame, from the root or from the leaf.
 *
 * A walker represents stacks with the same path so far. From the root these are all stacks below a
 * node, and walkers of the node's children replace it when it moves on. From the leaf there is one
 * walker per stack. Lists are linked through walkers, so a walker is in one list at a time, and
 * dividing a list by the next frame costs only the walk. Nodes that no list reaches cost nothing:
 * the stacks below a node are a range, whose sum is a difference.
 */
#ifndef PFS_STACK_WALK_H
#define PFS_STACK_WALK_H

#include "profstore.h"

#include "merge/stack_sums.h"
#include "tree/frames/symbols.h"

#define PFS_NO_WALKER PG_UINT32_MAX

typedef struct PfsStackWalk PfsStackWalk;

/* A walker that has moved to its next frame. */
typedef struct PfsStep
{
	uint32 walker;
	uint64 age;		/* less for older nodes; in a walk from the leaf, less for older stacks */
	PfsSides total; /* modulo 2^64 if the walk is wide */
	int32 location;
	PfsFrame frame;
} PfsStep;

/*
 * Creates a walk without stacks. If function is a symbol other than PFS_NO_SYMBOL, the path begins
 * at that function's outermost frame in each stack, and other stacks have no path: from the root it
 * leads to callees, from the leaf to callers. Lives in CurrentMemoryContext, and is valid as long
 * as the shapes of the dictionary.
 */
PfsStackWalk *pfs_stack_walk_create(PfsSymbols *symbols, bool inverted, uint32 function);

/*
 * Adds the stacks that pass the filters of symbols. Their walkers, before the first frame, are
 * added to list, and the sum of their values to total. If the list is not empty, the ids of the new
 * stacks must be greater than those before. sums may be freed afterwards.
 */
void pfs_stack_walk_add(PfsStackWalk *walk, const PfsStackSums *sums, uint32 *list,
						PfsWideSides *total);

/* Returns the number of stacks that fit the query's memory budget when walked in this direction. */
Size pfs_stack_walk_room(bool inverted, uint32 function);

/*
 * pfs_stack_walk_is_wide() returns true if sums of some of the stacks may exceed int8.
 * pfs_stack_walk_total() returns the exact sum over all walkers in a list.
 */
bool pfs_stack_walk_is_wide(const PfsStackWalk *walk);
PfsWideSides pfs_stack_walk_total(const PfsStackWalk *walk, uint32 list);

/*
 * Removes all stacks and their walkers, to add more with greater ids. Memory allocated by the last
 * pfs_stack_walk_add() may be freed: it is in the context that was current then.
 */
void pfs_stack_walk_clear(PfsStackWalk *walk);

/*
 * Takes walkers off the list until one has a next frame; returns false when the list is empty.
 * Values of stacks that end before another frame are added to ended.
 */
bool pfs_stack_walk_next(PfsStackWalk *walk, uint32 *list, PfsStep *step, PfsWideSides *ended);

/* Puts the walker of a step at the front of a list. */
void pfs_stack_walk_link(PfsStackWalk *walk, uint32 walker, uint32 *list);

/*
 * pfs_stack_walk_mark() returns the number of walkers made so far; pfs_stack_walk_release() returns
 * to such a number. Walkers made since must not be in a list.
 */
uint32 pfs_stack_walk_mark(const PfsStackWalk *walk);
void pfs_stack_walk_release(PfsStackWalk *walk, uint32 mark);

/* Callbacks of a visit of all frames, from the root on, whatever the direction of the walk. */
typedef struct PfsFrameVisitor
{
	void (*enter)(void *state, uint64 age, int32 location, PfsFrame frame);
	/*
	 * total is the sum of all stacks with this frame. If it may exceed int8, wide is the exact sum,
	 * otherwise NULL.
	 */
	void (*leave)(void *state, PfsFrame frame, PfsSides total, const PfsWideSides *wide);
	void (*end)(void *state, uint64 age, uint32 symbol,
				/* called at the end of a stack with its last frame, or with PFS_NO_SYMBOL */
				PfsSides value);
} PfsFrameVisitor;

/* Visits each frame of each node on the paths of the added stacks once, depth first. */
void pfs_stack_walk_visit(PfsStackWalk *walk, const PfsFrameVisitor *visitor, void *state);

#endif
