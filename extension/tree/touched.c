/*
 * touched.c
 *		Places of leaves in the partition's shapes, or in one that is made.
 */
#include "tree/touched.h"

#include "base/arrays.h"
#include "base/id_map.h"
#include "dictionary/doubts.h"
#include "dictionary/tree_shape.h"
#include "miscadmin.h"

#define INITIAL_DEPTH 64

/* Digits that stacks are sorted by. */
#define DIGIT_BITS	11
#define DIGIT_COUNT (1 << DIGIT_BITS)

/* The stacks by the places of their leaves: sorts digit by digit. */
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
		is_sorted &= leaves[i] >= greatest;
		greatest = Max(greatest, leaves[i]);
	}
	if (is_sorted)
		return order;
	other = PFS_ARRAY(uint32, count);
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
order_leaves(PfsTouched *touched)
{
	touched->order = sort_stacks(touched->leaves, touched->stack_count);
	touched->ordered_leaves = PFS_ARRAY(uint32, touched->stack_count);
	for (uint32 i = 0; i < touched->stack_count; i++)
		touched->ordered_leaves[i] = touched->leaves[touched->order[i]];
}

/* The empty stack belongs to no partition. */
static void
touch_root(PfsTouched *touched)
{
	static const uint32 root = 0;
	static const uint32 root_end = 1;
	static const int32 no_location = 0;

	touched->shape = (PfsTreeShape){ 1, &root, &root, &root_end, &no_location };
	touched->leaves = PFS_ARRAY0(uint32, 1);
}

static void
add_part(PfsTouching *touching, const PfsTouched *part)
{
	Assert(touching->part_count < lengthof(touching->parts));
	touching->parts[touching->part_count++] = *part;
}

/* All stacks in a shape of their own; takes their leaves' indexes. */
static void
add_made(PfsTouching *touching, const PfsTree *tree, const PfsTouched *whole)
{
	PfsTouched part = *whole;

	pfs_shape_make_of(&part.shape, CurrentMemoryContext, tree, part.leaves, part.stack_count);
	add_part(touching, &part);
}

/*
 * Appends a node below the root of a made shape, where the stacks end that are not known; their leaves are marked.
 */
static void
append_unknown(PfsTouched *part)
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
	indexes[place] = PG_UINT32_MAX; /* the youngest */
	parents[place] = 0;
	ends[0] = ends[place] = place + 1;
	locations[place] = PFS_NO_STACK_LOCATION;
	part->shape = (PfsTreeShape){ place + 1, indexes, parents, ends, locations };
}

/* The same where some stacks are not in the tree: their leaves' indexes are 0. */
static void
add_with_unknown(PfsTouching *touching, const PfsTree *tree, const PfsTouched *whole)
{
	PfsTouched part = *whole;
	bool *is_unknown = PFS_ARRAY(bool, part.stack_count);

	for (uint32 i = 0; i < part.stack_count; i++)
		is_unknown[i] = part.leaves[i] == 0;
	pfs_shape_make_of(&part.shape, CurrentMemoryContext, tree, part.leaves, part.stack_count);
	for (uint32 i = 0; i < part.stack_count; i++)
		if (is_unknown[i])
			part.leaves[i] = part.shape.count;
	append_unknown(&part);
	pfree(is_unknown);
	add_part(touching, &part);
}

/* The stacks whose leaves stand in one shape, or in none: PFS_NO_SHAPE. */
static void
add_shaped(PfsTouching *touching, const PfsTree *tree, const PfsTouched *whole,
		   const uint8 *numbers, uint8 number, uint32 count)
{
	PfsTouched part = { .leaves = PFS_ARRAY(uint32, count) };
	PfsStackSum *stacks = PFS_ARRAY(PfsStackSum, count);
	uint32 place;

	for (uint32 i = 0; i < whole->stack_count; i++)
	{
		if (numbers[i] != number)
			continue;
		stacks[part.stack_count] = whole->stacks[i];
		part.leaves[part.stack_count] = whole->leaves[i];
		if (number != PFS_NO_SHAPE)
		{
			pfs_tree_place(tree, whole->leaves[i], &place);
			part.leaves[part.stack_count] = place;
		}
		part.stack_count++;
	}
	part.stacks = stacks;
	if (number == PFS_NO_SHAPE)
		add_made(touching, tree, &part);
	else
	{
		part.shape = pfs_tree_shape(tree, number);
		add_part(touching, &part);
	}
}

/* Parts by shape, where stacks stand in several, or some in none. */
static void
split_by_shape(PfsTouching *touching, const PfsTree *tree, const PfsTouched *whole)
{
	uint8 *numbers = PFS_ARRAY(uint8, whole->stack_count);
	uint32 counts[PG_UINT8_MAX + 1] = { 0 };
	bool in_order = true; /* mostly: later shapes have greater ids */
	uint32 place;

	for (uint32 i = 0; i < whole->stack_count; i++)
	{
		numbers[i] = pfs_tree_place(tree, whole->leaves[i], &place);
		counts[numbers[i]]++;
		in_order &= i == 0 || numbers[i - 1] <= numbers[i];
	}
	if (touching->in_order && !in_order)
		add_made(touching, tree, whole);
	else if (counts[numbers[0]] == whole->stack_count && numbers[0] != PFS_NO_SHAPE)
	{
		PfsTouched part = *whole;

		part.shape = pfs_tree_shape(tree, numbers[0]);
		for (uint32 i = 0; i < part.stack_count; i++)
			pfs_tree_place(tree, part.leaves[i], &part.leaves[i]);
		add_part(touching, &part);
	}
	else
	{
		for (uint32 number = 0; number < lengthof(counts); number++)
			if (counts[number] > 0)
				add_shaped(touching, tree, whole, numbers, (uint8) number, counts[number]);
		pfree(whole->leaves);
	}
	pfree(numbers);
}

static void
touch_partition(PfsTouching *touching, const PfsTree *tree, PfsTouched *whole)
{
	uint32 count = whole->stack_count;
	uint32 *leaves = PFS_ARRAY(uint32, count);
	uint32 index = 0;
	uint32 unknown = 0;

	for (uint32 i = 0; i < count; i++)
	{
		leaves[i] = pfs_tree_find(tree, whole->stacks[i].stack_id, index);
		if (leaves[i] == 0)
			unknown++;
		else
			index = leaves[i];
	}
	whole->leaves = leaves;
	pfs_doubt(PFS_DOUBT_STACKS, unknown);
	if (unknown > 0)
		add_with_unknown(touching, tree, whole);
	else if (pfs_tree_shapes(tree, leaves, count) == 0)
		add_made(touching, tree, whole);
	else
		split_by_shape(touching, tree, whole);
}

PfsTouching
pfs_touching_begin(const PfsStackSums *stacks, bool in_order)
{
	return (PfsTouching){ .stacks = stacks, .in_order = in_order };
}

/* Finds what the stacks of the next partition touch. */
static void
begin_partition(PfsTouching *touching)
{
	const PfsStackSum *first = &touching->stacks->sums[touching->next];
	const PfsStackSum *end = &touching->stacks->sums[touching->stacks->count];
	PfsTouched whole = { .stacks = first, .stack_count = 1 };

	touching->part_count = touching->next_part = 0;
	if (first->stack_id == 0)
	{
		touch_root(&whole);
		add_part(touching, &whole);
	}
	else
	{
		int32 partition = pfs_stack_partition(first->stack_id);

		while (first + whole.stack_count < end &&
			   pfs_stack_partition(first[whole.stack_count].stack_id) == partition)
			whole.stack_count++;
		touch_partition(touching, pfs_tree_get(partition), &whole);
	}
	touching->next += whole.stack_count;
}

bool
pfs_touching_next(PfsTouching *touching, PfsTouched *touched)
{
	if (touching->next_part == touching->part_count)
	{
		if (touching->next == touching->stacks->count)
			return false;
		begin_partition(touching);
	}
	*touched = touching->parts[touching->next_part++];
	order_leaves(touched);
	return true;
}

PfsTrail
pfs_trail_begin(const PfsTreeShape *shape)
{
	return (PfsTrail){ .shape = shape,
					   .path = PFS_ARRAY(uint32, INITIAL_DEPTH),
					   .capacity = INITIAL_DEPTH };
}

void
pfs_trail_go(PfsTrail *trail, uint32 leaf)
{
	const uint32 *parents = trail->shape->parents;
	const uint32 *ends = trail->shape->ends;
	uint32 shared = trail->depth;
	uint32 depth;
	uint32 above;

	while (shared > 0 && leaf >= ends[trail->path[shared - 1]])
		shared--;
	above = shared == 0 ? 0 : trail->path[shared - 1];
	depth = shared;
	for (uint32 place = leaf; place != above; place = parents[place])
		depth++;
	if (depth > trail->capacity)
	{
		trail->capacity = Max(depth, trail->capacity * 2);
		trail->path = repalloc_huge(trail->path, (Size) trail->capacity * sizeof(uint32));
	}
	trail->shared = shared;
	trail->depth = depth;
	for (uint32 place = leaf; place != above; place = parents[place])
		trail->path[--depth] = place;
}

void
pfs_trail_load_names(const PfsTreeShape *shape, const uint32 *leaves, uint32 count)
{
	PfsTrail trail = pfs_trail_begin(shape);
	uint32 capacity = INITIAL_DEPTH;
	int32 *ids = PFS_ARRAY(int32, capacity);
	uint32 id_count = 0;
	/* those in ids: nodes are many times as many as locations */
	PfsIdMap met = { .context = AllocSetContextCreate(CurrentMemoryContext, "profstore met ids",
													  ALLOCSET_DEFAULT_SIZES) };

	for (uint32 i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		pfs_trail_go(&trail, leaves[i]);
		for (uint32 depth = trail.shared; depth < trail.depth; depth++)
		{
			int32 id = shape->locations[trail.path[depth]];
			uint32 *slot;

			if (pfs_location_is_cached(id))
				continue;
			slot = pfs_id_map_slot(&met, id);
			if (*slot != 0)
				continue;
			*slot = 1;
			if (id_count == capacity)
			{
				capacity = capacity > PG_UINT32_MAX / 2 ? PG_UINT32_MAX : capacity * 2;
				ids = repalloc_huge(ids, (Size) capacity * sizeof(int32));
			}
			ids[id_count++] = id;
		}
	}
	MemoryContextDelete(met.context);
	pfs_locations_load(ids, id_count);
	pfree(ids);
	pfree(trail.path);
}

void
pfs_touched_load_names(const PfsTouched *touched)
{
	pfs_trail_load_names(&touched->shape, touched->ordered_leaves, touched->stack_count);
}

/* Names that are not cached are loaded for all nodes at once. */
static pg_noinline uint32
judge_location(const PfsTouched *touched, PfsSymbols *symbols, int32 location)
{
	if (!pfs_location_is_cached(location))
		pfs_touched_load_names(touched);
	return pfs_symbols_judge(symbols, location);
}

/*
 * Marks the stacks, in the order of their leaves, on whose ways some location has a verdict: those below the nodes
 * nearest to the root that have. Each node is looked at once, and none below one that has the verdict. Of the nodes on
 * the way to a leaf, those at or before the leaf before are also on the way to that.
 */
static void
mark_stacks(const PfsTouched *touched, PfsSymbols *symbols, PfsLocationVerdict verdict,
			uint8 *marks)
{
	const PfsIdMap *verdicts = pfs_symbols_verdicts(symbols);
	const PfsTreeShape *shape = &touched->shape;
	uint32 before = 0;
	uint32 marked_end = 0;

	for (uint32 i = 0; i < touched->stack_count; i++)
	{
		uint32 leaf = touched->ordered_leaves[i];
		uint32 highest = 0;

		CHECK_FOR_INTERRUPTS();
		if (leaf >= marked_end)
		{
			for (uint32 place = leaf; place > before; place = shape->parents[place])
			{
				uint32 said = pfs_id_map_find(verdicts, shape->locations[place]);

				if (said == 0)
					said = judge_location(touched, symbols, shape->locations[place]);
				if (said & verdict)
					highest = place;
			}
			if (highest > 0)
				marked_end = shape->ends[highest];
		}
		if (leaf < marked_end)
			marks[i] |= (uint8) verdict;
		before = leaf;
	}
}

PfsStackVerdict *
pfs_touched_verdicts(const PfsTouched *touched, PfsSymbols *symbols)
{
	const PfsFilters *filters = pfs_symbols_filters(symbols);
	bool may_hide = filters->show != NULL || filters->hide != NULL;
	PfsStackVerdict *verdicts;
	uint8 *marks;

	if (!pfs_filters_any(filters))
		return NULL;
	marks = PFS_ARRAY0(uint8, touched->stack_count);
	if (filters->focus != NULL)
		mark_stacks(touched, symbols, PFS_LOCATION_FOCUSED, marks);
	if (filters->ignore != NULL)
		mark_stacks(touched, symbols, PFS_LOCATION_IGNORED, marks);
	if (may_hide)
		mark_stacks(touched, symbols, PFS_LOCATION_FRAMED, marks);
	verdicts = PFS_ARRAY(PfsStackVerdict, touched->stack_count);
	for (uint32 i = 0; i < touched->stack_count; i++)
		verdicts[touched->order[i]] =
			filters->focus != NULL && !(marks[i] & PFS_LOCATION_FOCUSED) ? PFS_STACK_NOT_FOCUSED
			: marks[i] & PFS_LOCATION_IGNORED							 ? PFS_STACK_IGNORED
			: may_hide && !(marks[i] & PFS_LOCATION_FRAMED)				 ? PFS_STACK_WITHOUT_FRAMES
																		 : PFS_STACK_PASSES;
	pfree(marks);
	return verdicts;
}

bool *
pfs_touched_passing(const PfsTouched *touched, PfsSymbols *symbols)
{
	PfsStackVerdict *verdicts = pfs_touched_verdicts(touched, symbols);
	bool *passing;

	if (verdicts == NULL)
		return NULL;
	passing = PFS_ARRAY(bool, touched->stack_count);
	for (uint32 i = 0; i < touched->stack_count; i++)
	{
		PfsSides sides = touched->stacks[i].sides;

		passing[i] = verdicts[i] == PFS_STACK_PASSES;
		if (!passing[i])
			pfs_symbols_drop(symbols, sides.value, sides.base);
	}
	pfree(verdicts);
	return passing;
}
