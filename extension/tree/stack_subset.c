/*
 * stack_subset.c
 *		Finds the places of leaves in the shapes of their partition, or makes a shape for them.
 */
#include "tree/stack_subset.h"

#include "base/arrays.h"
#include "dictionary/cache/doubts.h"
#include "dictionary/tree/tree_shape.h"
#include "tree/node_path.h"

/* Digits of the radix sort. */
#define DIGIT_BITS	11
#define DIGIT_COUNT (1 << DIGIT_BITS)

/* Sorts the stacks by the places of their leaves, digit by digit. */
static uint32 *
sort_stacks(const uint32 *leaves, uint32 count)
{
	uint32 *order = PFS_ARRAY(uint32, count);
	uint32 *other;
	uint32 greatest = 0;
	bool is_sorted = true;

	for (uint32 i = 0; i < count; i++)
	{
		order[i] = i;
		/*
		 * Ids of a program mostly ascend with the places of its nodes, so the test often spares the
		 * sort.
		 */
		is_sorted &= leaves[i] >= greatest;
		greatest = Max(greatest, leaves[i]);
	}
	if (is_sorted)
		return order;
	other = PFS_ARRAY(uint32, count);
	/* Digits above those of the greatest place are all 0. */
	for (unsigned shift = 0; shift < 32 && greatest >> shift > 0; shift += DIGIT_BITS)
	{
		uint32 starts[DIGIT_COUNT] = { 0 };
		uint32 *sorted = other;
		uint32 start = 0;

		for (uint32 i = 0; i < count; i++)
			starts[(leaves[i] >> shift) & (DIGIT_COUNT - 1)]++;
		for (uint32 digit = 0; digit < DIGIT_COUNT; digit++)
		{
			uint32 digit_count = starts[digit];

			/* Numbers become the place of each digit's first element. */
			starts[digit] = start;
			start += digit_count;
		}
		for (uint32 i = 0; i < count; i++)
			sorted[starts[(leaves[order[i]] >> shift) & (DIGIT_COUNT - 1)]++] = order[i];
		other = order;
		order = sorted;
	}
	pfree(other);
	return order;
}

static void
order_leaves(PfsStackSubset *subset)
{
	subset->order = sort_stacks(subset->leaves, subset->stack_count);
	subset->ordered_leaves = PFS_ARRAY(uint32, subset->stack_count);
	for (uint32 i = 0; i < subset->stack_count; i++)
		subset->ordered_leaves[i] = subset->leaves[subset->order[i]];
}

/* Adds the root to the subset of the empty stack, which belongs to no partition. */
static void
touch_root(PfsStackSubset *subset)
{
	static const uint32 root = 0;
	static const uint32 root_end = 1;
	static const int32 no_location = 0;

	/* A shape of one node, which is its own parent. */
	subset->shape = (PfsTreeShape){ 1, &root, &root, &root_end, &no_location };
	subset->leaves = PFS_ARRAY0(uint32, 1);
}

static void
subsets_add_part(PfsStackSubsets *subsets, const PfsStackSubset *part)
{
	Assert(subsets->part_count < lengthof(subsets->parts));
	subsets->parts[subsets->part_count++] = *part;
}

/*
 * Adds all stacks with a shape made for them. The leaves' places in that shape replace their
 * indexes.
 */
static void
add_made(PfsStackSubsets *subsets, const PfsTree *tree, const PfsStackSubset *whole)
{
	PfsStackSubset part = *whole;

	pfs_shape_make_of(&part.shape, CurrentMemoryContext, tree, part.leaves, part.stack_count);
	subsets_add_part(subsets, &part);
}

/* Appends a node below the root of a made shape, as the leaf of unknown stacks. */
static void
append_unknown(PfsStackSubset *part)
{
	const PfsTreeShape *made = &part->shape;
	uint32 place = made->count;
	uint32 *indexes = PFS_ARRAY(uint32, (Size) place + 1);
	uint32 *parents = PFS_ARRAY(uint32, (Size) place + 1);
	uint32 *ends = PFS_ARRAY(uint32, (Size) place + 1);
	int32 *locations = PFS_ARRAY(int32, (Size) place + 1);

	memcpy(indexes, made->indexes, place * sizeof(uint32));
	memcpy(parents, made->parents, place * sizeof(uint32));
	memcpy(ends, made->ends, place * sizeof(uint32));
	memcpy(locations, made->locations, place * sizeof(int32));
	indexes[place] = PG_UINT32_MAX; /* younger than all others */
	parents[place] = 0;
	/* The node comes last in depth-first order, as the last child of the root. */
	ends[0] = ends[place] = place + 1;
	locations[place] = PFS_NO_STACK_LOCATION;
	part->shape = (PfsTreeShape){ place + 1, indexes, parents, ends, locations };
}

/*
 * Like add_made(), but for stacks of which some are not in the tree: the indexes of their leaves
 * are 0.
 */
static void
add_with_unknown(PfsStackSubsets *subsets, const PfsTree *tree, const PfsStackSubset *whole)
{
	PfsStackSubset part = *whole;
	bool *is_unknown = PFS_ARRAY(bool, part.stack_count);

	for (uint32 i = 0; i < part.stack_count; i++)
		/*
		 * pfs_shape_make_of() replaces the indexes by places, so unknown stacks, whose index is 0,
		 * are noted before.
		 */
		is_unknown[i] = part.leaves[i] == 0;
	pfs_shape_make_of(&part.shape, CurrentMemoryContext, tree, part.leaves, part.stack_count);
	for (uint32 i = 0; i < part.stack_count; i++)
		if (is_unknown[i])
			part.leaves[i] = part.shape.count;
	append_unknown(&part);
	pfree(is_unknown);
	subsets_add_part(subsets, &part);
}

/* Adds the stacks whose leaves are in one shape, or in none (PFS_NO_SHAPE). */
static void
add_shaped(PfsStackSubsets *subsets, const PfsTree *tree, const PfsStackSubset *whole,
		   const uint8 *numbers, uint8 number, uint32 count)
{
	PfsStackSubset part = { .leaves = PFS_ARRAY(uint32, count) };
	PfsStackSum *stacks = PFS_ARRAY(PfsStackSum, count);
	uint32 place;

	for (uint32 i = 0; i < whole->stack_count; i++)
	{
		if (numbers[i] != number)
			continue;
		stacks[part.stack_count] = whole->stacks[i];
		part.leaves[part.stack_count] = whole->leaves[i];
		/* add_made() needs indexes, so places replace them only in shapes that exist. */
		if (number != PFS_NO_SHAPE)
		{
			pfs_tree_place(tree, whole->leaves[i], &place);
			part.leaves[part.stack_count] = place;
		}
		part.stack_count++;
	}
	part.stacks = stacks;
	if (number == PFS_NO_SHAPE)
		add_made(subsets, tree, &part);
	else
	{
		part.shape = pfs_tree_shape(tree, number);
		subsets_add_part(subsets, &part);
	}
}

/* Divides the stacks by shape, if their leaves are in several shapes, or some in none. */
static void
split_by_shape(PfsStackSubsets *subsets, const PfsTree *tree, const PfsStackSubset *whole)
{
	uint8 *numbers = PFS_ARRAY(uint8, whole->stack_count);
	uint32 counts[PG_UINT8_MAX + 1] = { 0 };
	bool in_order = true; /* usually true, because later shapes have greater ids */
	uint32 place;

	for (uint32 i = 0; i < whole->stack_count; i++)
	{
		numbers[i] = pfs_tree_place(tree, whole->leaves[i], &place);
		counts[numbers[i]]++;
		in_order &= i == 0 || numbers[i - 1] <= numbers[i];
	}
	/* The caller needs stacks in order of their ids, which a division by shapes would change. */
	if (subsets->in_order && !in_order)
		add_made(subsets, tree, whole);
	else if (counts[numbers[0]] == whole->stack_count && numbers[0] != PFS_NO_SHAPE)
	{
		PfsStackSubset part = *whole;

		part.shape = pfs_tree_shape(tree, numbers[0]);
		for (uint32 i = 0; i < part.stack_count; i++)
			pfs_tree_place(tree, part.leaves[i], &part.leaves[i]);
		subsets_add_part(subsets, &part);
	}
	else
	{
		for (uint32 number = 0; number < lengthof(counts); number++)
			if (counts[number] > 0)
				add_shaped(subsets, tree, whole, numbers, (uint8) number, counts[number]);
		pfree(whole->leaves);
	}
	pfree(numbers);
}

/* Finds the leaves of a partition's stacks and divides the stacks into subsets. */
static void
touch_partition(PfsStackSubsets *subsets, const PfsTree *tree, PfsStackSubset *whole)
{
	uint32 count = whole->stack_count;
	uint32 *leaves = PFS_ARRAY(uint32, count);
	uint32 index = 0;
	uint32 unknown = 0;

	for (uint32 i = 0; i < count; i++)
	{
		/* Ids ascend, so the search begins at the index of the stack before. */
		leaves[i] = pfs_tree_find(tree, whole->stacks[i].stack_id, index);
		if (leaves[i] == 0)
			unknown++;
		else
			index = leaves[i];
	}
	whole->leaves = leaves;
	pfs_doubt(PFS_DOUBT_STACKS, unknown);
	if (unknown > 0)
		add_with_unknown(subsets, tree, whole);
	else if (pfs_tree_shapes(tree, leaves, count) == 0)
		add_made(subsets, tree, whole);
	else
		split_by_shape(subsets, tree, whole);
}

PfsStackSubsets
pfs_stack_subsets_begin(const PfsStackSums *stacks, bool in_order)
{
	return (PfsStackSubsets){ .stacks = stacks, .in_order = in_order };
}

/* Finds the subsets of the next dictionary partition. */
static void
begin_partition(PfsStackSubsets *subsets)
{
	const PfsStackSum *first = &subsets->stacks->sums[subsets->next];
	const PfsStackSum *end = &subsets->stacks->sums[subsets->stacks->count];
	PfsStackSubset whole = { .stacks = first, .stack_count = 1 };

	subsets->part_count = subsets->next_part = 0;
	/* Stack 0 has no frames and is in every dictionary. */
	if (first->stack_id == 0)
	{
		touch_root(&whole);
		subsets_add_part(subsets, &whole);
	}
	else
	{
		int32 partition = pfs_stack_partition(first->stack_id);

		/* Ids of a partition are neighbours, because the upper bits of an id are its partition. */
		while (first + whole.stack_count < end &&
			   pfs_stack_partition(first[whole.stack_count].stack_id) == partition)
			whole.stack_count++;
		touch_partition(subsets, pfs_tree_get(partition), &whole);
	}
	subsets->next += whole.stack_count;
}

bool
pfs_stack_subsets_next(PfsStackSubsets *subsets, PfsStackSubset *subset)
{
	if (subsets->next_part == subsets->part_count)
	{
		if (subsets->next == subsets->stacks->count)
			return false;
		begin_partition(subsets);
	}
	*subset = subsets->parts[subsets->next_part++];
	order_leaves(subset);
	return true;
}

void
pfs_stack_subset_load_names(const PfsStackSubset *subset)
{
	pfs_node_paths_load_names(&subset->shape, subset->ordered_leaves, subset->stack_count);
}
