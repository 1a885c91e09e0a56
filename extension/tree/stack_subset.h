/*
 * stack_subset.h
 *		Some stacks of a dictionary partition, and the nodes from the root to their leaves.
 *
 * Nodes are at the places of a shape (dictionary.h): a shape of the partition if the cache has one,
 * otherwise a shape of these nodes only, made for the query. So the work depends on the stacks, not
 * on the partition. A shape that is made takes one bit per node of the partition.
 *
 * Sorted by the places of their leaves, stacks below a node are neighbours.
 */
#ifndef PFS_STACK_SUBSET_H
#define PFS_STACK_SUBSET_H

#include "profstore.h"

#include "dictionary/cache/dictionary.h"
#include "merge/stack_sums.h"

/*
 * At most one part for each shape of a tree, and one for nodes that have no place in a shape yet.
 */
#define PFS_MAX_SUBSET_PARTS (PFS_MAX_SHAPES + 1)

typedef struct PfsStackSubset
{
	/* shape that contains all these nodes, and perhaps others; its indexes are those of the tree */
	PfsTreeShape shape;
	const PfsStackSum *stacks; /* stacks of the partition, or some of them */
	uint32 stack_count;
	uint32 *leaves;			/* place of each stack's leaf */
	uint32 *order;			/* the stacks' numbers, sorted by the places of their leaves */
	uint32 *ordered_leaves; /* the places of the leaves in ascending order */
} PfsStackSubset;

/*
 * An iteration over the dictionary partitions of some stacks. Each partition may come in several
 * parts.
 */
typedef struct PfsStackSubsets
{
	const PfsStackSums *stacks;
	bool in_order;
	/* number of the first stack of the next partition */
	uint32 next;
	PfsStackSubset parts[PFS_MAX_SUBSET_PARTS]; /* parts of the current partition */
	uint32 part_count;
	uint32 next_part;
} PfsStackSubsets;

/*
 * Begins before the first stack, after pfs_dictionary_begin(). With in_order, a partition comes in
 * one part if its parts would not be in the order of ids.
 */
PfsStackSubsets pfs_stack_subsets_begin(const PfsStackSums *stacks, bool in_order);

/*
 * Returns the next subset; false if none is left. It lives in CurrentMemoryContext, and is valid as
 * long as the shapes of the dictionary.
 */
bool pfs_stack_subsets_next(PfsStackSubsets *subsets, PfsStackSubset *subset);

/*
 * Loads the locations on the paths to the stacks' leaves into the dictionary's cache, in one batch.
 */
void pfs_stack_subset_load_names(const PfsStackSubset *subset);

#endif
