/*
 * stack_subset.h
 *		Some stacks of a dictionary partition, and the nodes from the root to their leaves.
 *
 * Nodes stand at the places of a shape (dictionary.h): one of the partition's where the cache has
 * it, else one of these nodes alone, made for the query. So work costs by the stacks, not by the
 * partition. A shape that is made takes one bit per node of the partition.
 *
 * Stacks in the order of their leaves' places make ranges: those below a node are neighbours.
 */
#ifndef PFS_STACK_SUBSET_H
#define PFS_STACK_SUBSET_H

#include "profstore.h"

#include "dictionary/cache/dictionary.h"
#include "merge/stack_sums.h"

/* The shapes of a tree, and one that is made for what has no place in them. */
#define PFS_MAX_SUBSET_PARTS (PFS_MAX_SHAPES + 1)

typedef struct PfsStackSubset
{
	PfsTreeShape shape; /* of all these nodes, and perhaps others; indexes are those of the tree */
	const PfsStackSum *stacks; /* of the partition, or some of them */
	uint32 stack_count;
	uint32 *leaves;			/* place of each stack's leaf */
	uint32 *order;			/* the stacks' numbers by the places of their leaves */
	uint32 *ordered_leaves; /* those places, ascending */
} PfsStackSubset;

/* An iteration over the dictionary partitions of some stacks, each of which may come in parts. */
typedef struct PfsStackSubsets
{
	const PfsStackSums *stacks;
	bool in_order;
	uint32 next;								/* stack, of the next partition */
	PfsStackSubset parts[PFS_MAX_SUBSET_PARTS]; /* of this one */
	uint32 part_count;
	uint32 next_part;
} PfsStackSubsets;

/*
 * Begins with the first stack; pfs_dictionary_begin has been called. Who wants stacks in the order
 * of their ids gets a partition in one part, where its shapes are not in that order.
 */
PfsStackSubsets pfs_stack_subsets_begin(const PfsStackSums *stacks, bool in_order);

/*
 * The next; false where none is left. It lives in CurrentMemoryContext, and as long as the shapes
 * of the dictionary.
 */
bool pfs_stack_subsets_next(PfsStackSubsets *subsets, PfsStackSubset *subset);

/*
 * Brings the locations on the paths to the stacks' leaves into the dictionary's cache, in one
 * batch.
 */
void pfs_stack_subset_load_names(const PfsStackSubset *subset);

#endif
