/*
 * subset.h
 *		The part of a dictionary partition that some stacks touch: their nodes and all ancestors, depth first.
 *
 * Nodes stand at the places of a shape (dictionary.h): one of the partition's where the cache has it, else one of
 * the subset nodes alone, made for the query. So work costs by what is subset, not by the partition; a shape that is made
 * takes one bit per node of the partition.
 *
 * Stacks in the order of their leaves' places make ranges: those below a node are neighbours.
 */
#ifndef PFS_STACK_SUBSET_H
#define PFS_STACK_SUBSET_H

#include "profstore.h"

#include "dictionary/dictionary.h"
#include "merge/stack_sums.h"
#include "tree/symbols.h"

/* The shapes of a tree, and one that is made for what has no place in them. */
#define PFS_MAX_SUBSET_PARTS (PFS_MAX_SHAPES + 1)

typedef struct PfsStackSubset
{
	PfsTreeShape shape; /* of all subset nodes, and perhaps others; indexes are those of the tree */
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
 * Begins with the first stack; pfs_dictionary_begin has been called. Who wants stacks in the order of their ids gets a
 * partition in one part, where its shapes are not in that order.
 */
PfsStackSubsets pfs_stack_subsets_begin(const PfsStackSums *stacks, bool in_order);

/*
 * What some of the stacks touch, all of one partition. False where none is left. The result lives in
 * CurrentMemoryContext, and as long as the shapes of the dictionary.
 */
bool pfs_stack_subsets_next(PfsStackSubsets *subsets, PfsStackSubset *subset);

/* The path from the root to a leaf, for who goes from leaf to leaf. */
typedef struct PfsNodePath
{
	const PfsTreeShape *shape;
	uint32 *places; /* below the root, the leaf's last; in the context that was current at first */
	uint32 depth;
	uint32 shared; /* so many are those of the leaf before */
	uint32 capacity;
} PfsNodePath;

/* Begins before the first leaf. */
PfsNodePath pfs_node_path_begin(const PfsTreeShape *shape);

/* Goes on to a leaf at a greater place than the one before. */
void pfs_node_path_go(PfsNodePath *path, uint32 leaf);

/* Brings the locations on the paths to leaves, which are in ascending order, into the dictionary's cache, in one batch. */
void pfs_node_paths_load_names(const PfsTreeShape *shape, const uint32 *leaves, uint32 count);
void pfs_stack_subset_load_names(const PfsStackSubset *subset);

/* What the filters make of a stack; the first that applies. */
typedef enum PfsStackVerdict
{
	PFS_STACK_PASSES,
	PFS_STACK_NOT_FOCUSED,
	PFS_STACK_IGNORED,
	PFS_STACK_WITHOUT_FRAMES /* since show and hide left none */
} PfsStackVerdict;

/* Judges each stack. NULL where there are no filters. */
PfsStackVerdict *pfs_stack_subset_verdicts(const PfsStackSubset *subset, PfsSymbols *symbols);

/* The same for who only asks whether a stack passes, and adds up what does not (pfs_symbols_dropped): each stack once. */
bool *pfs_stack_subset_passing(const PfsStackSubset *subset, PfsSymbols *symbols);

#endif
