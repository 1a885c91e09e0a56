/*
 * touched.c
 *		Places of leaves in the partition's shape, or in one that is made: ancestors are marked in a bitmap, marked nodes
 *		renumbered by rank.
 */
#include "query/touched.h"

#include "dictionary/tree_shape.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "query/allocate.h"
#include "query/id_map.h"

#define WORD_BITS	  64
#define INITIAL_DEPTH 64

/* Digits that stacks are sorted by. */
#define DIGIT_BITS	11
#define DIGIT_COUNT (1 << DIGIT_BITS)

typedef struct NodeSet
{
	uint64 *words;
	uint32 *ranks; /* members before each word */
	uint32 word_count;
} NodeSet;

static bool
is_member(const NodeSet *set, uint32 node)
{
	return (set->words[node / WORD_BITS] >> (node % WORD_BITS)) & 1;
}

static void
add_member(NodeSet *set, uint32 node)
{
	set->words[node / WORD_BITS] |= UINT64CONST(1) << (node % WORD_BITS);
}

/* Number of members below a node. */
static uint32
rank_of(const NodeSet *set, uint32 node)
{
	uint64 below = set->words[node / WORD_BITS] & ((UINT64CONST(1) << (node % WORD_BITS)) - 1);

	return set->ranks[node / WORD_BITS] + (uint32) pg_popcount64(below);
}

/* Fills in the ranks; returns the number of members. */
static uint32
rank_members(NodeSet *set)
{
	uint32 count = 0;

	for (uint32 i = 0; i < set->word_count; i++)
	{
		set->ranks[i] = count;
		if (set->words[i] != 0)
			count += (uint32) pg_popcount64(set->words[i]);
	}
	return count;
}

static NodeSet
mark_ancestors(const PfsTree *tree, const uint32 *leaves, uint32 leaf_count)
{
	NodeSet set;

	set.word_count = tree->node_count / WORD_BITS + 1;
	set.words = PFS_ARRAY0(uint64, set.word_count);
	set.ranks = PFS_ARRAY(uint32, set.word_count);
	add_member(&set, 0);
	for (uint32 i = 0; i < leaf_count; i++)
	{
		for (uint32 node = leaves[i]; !is_member(&set, node); node = tree->parents[node])
			add_member(&set, node);
	}
	return set;
}

/*
 * The shape of what some nodes touch, in CurrentMemoryContext; turns the nodes' indexes into places.
 */
static PfsTreeShape
make_shape(const PfsTree *tree, uint32 *leaves, uint32 leaf_count)
{
	NodeSet set = mark_ancestors(tree, leaves, leaf_count);
	uint32 count = rank_members(&set);
	uint32 *nodes = PFS_ARRAY(uint32, count);
	uint32 *parents = PFS_ARRAY(uint32, count);
	int32 *locations = PFS_ARRAY(int32, count);
	uint32 position = 0;
	PfsTreeShape shape;
	uint32 *indexes;

	for (uint32 word = 0; word < set.word_count; word++)
	{
		for (uint64 bits = set.words[word]; bits != 0; bits &= bits - 1)
		{
			uint32 node = word * WORD_BITS + (uint32) pg_rightmost_one_pos64(bits);

			nodes[position] = node;
			parents[position] = node == 0 ? 0 : rank_of(&set, tree->parents[node]);
			locations[position++] = tree->locations[node];
		}
	}
	pfs_tree_shape_make(&shape, CurrentMemoryContext, count, parents, locations);
	for (uint32 i = 0; i < leaf_count; i++)
		leaves[i] = shape.places[rank_of(&set, leaves[i])];
	indexes = unconstify(uint32 *, shape.indexes);
	for (uint32 place = 0; place < count; place++)
		indexes[place] = nodes[indexes[place]];
	pfree(set.words);
	pfree(set.ranks);
	pfree(nodes);
	pfree(parents);
	pfree(locations);
	return shape;
}

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

	touched->shape = (PfsTreeShape){ 1, &root, &root, &root, &root_end, &no_location };
	touched->leaves = PFS_ARRAY0(uint32, 1);
}

/*
 * Where the partition's shape lacks some nodes, stacks that need none of these come first, by themselves.
 */
static void
touch_partition(const PfsTree *tree, PfsTouched *touched)
{
	uint32 count = touched->stack_count;
	uint32 *leaves = PFS_ARRAY(uint32, count);
	uint32 index = 0;

	for (uint32 i = 0; i < count; i++)
		leaves[i] = index = pfs_tree_index(tree, touched->stacks[i].stack_id, index);
	touched->shape = pfs_tree_shape(tree, leaves, count);
	if (touched->shape.count <= leaves[0])
		touched->shape = make_shape(tree, leaves, count);
	else
	{
		while (leaves[count - 1] >= touched->shape.count)
			count--;
		for (uint32 i = 0; i < count; i++)
			leaves[i] = touched->shape.places[leaves[i]];
	}
	touched->stack_count = count;
	touched->leaves = leaves;
}

bool
pfs_touched_next(const PfsStackSums *stacks, uint32 *next, PfsTouched *touched)
{
	uint32 first = *next;
	uint32 end = first + 1;

	if (first == stacks->count)
		return false;
	touched->stacks = &stacks->sums[first];
	touched->stack_count = 1;
	if (stacks->sums[first].stack_id == 0)
		touch_root(touched);
	else
	{
		int32 partition = pfs_stack_partition(stacks->sums[first].stack_id);

		while (end < stacks->count && pfs_stack_partition(stacks->sums[end].stack_id) == partition)
			end++;
		touched->stack_count = end - first;
		touch_partition(pfs_tree_get(partition), touched);
	}
	order_leaves(touched);
	*next = first + touched->stack_count;
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
		passing[i] = verdicts[i] == PFS_STACK_PASSES;
	pfree(verdicts);
	return passing;
}
