/*
 * touched.c
 *		Marks ancestors in a bitmap, then renumbers the marked nodes by rank.
 */
#include "query/touched.h"

#include "dictionary/dictionary.h"
#include "port/pg_bitutils.h"
#include "query/allocate.h"

#define WORD_BITS 64

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

static PfsTouched
collect(const PfsTree *tree, const PfsStackSum *stacks, uint32 stack_count)
{
	PfsTouched touched = { .stacks = stacks, .stack_count = stack_count };
	NodeSet set;
	uint32 position = 0;

	touched.leaves = PFS_ARRAY(uint32, stack_count);
	for (uint32 i = 0; i < stack_count; i++)
		touched.leaves[i] = pfs_tree_index(tree, stacks[i].stack_id);
	set = mark_ancestors(tree, touched.leaves, stack_count);
	touched.count = rank_members(&set);
	touched.parents = PFS_ARRAY(uint32, touched.count);
	touched.locations = PFS_ARRAY(int32, touched.count);

	for (uint32 word = 0; word < set.word_count; word++)
	{
		for (uint64 bits = set.words[word]; bits != 0; bits &= bits - 1)
		{
			uint32 node = word * WORD_BITS + (uint32) pg_rightmost_one_pos64(bits);

			touched.parents[position] = node == 0 ? 0 : rank_of(&set, tree->parents[node]);
			touched.locations[position] = tree->locations[node];
			position++;
		}
	}
	for (uint32 i = 0; i < stack_count; i++)
		touched.leaves[i] = rank_of(&set, touched.leaves[i]);
	pfree(set.words);
	pfree(set.ranks);
	return touched;
}

bool
pfs_touched_next(const PfsStackSums *stacks, uint32 *next, PfsTouched *touched)
{
	static const uint32 no_parent = 0;
	static const int32 no_location = 0;
	static const int64 empty_stack = 0;
	static const PfsTree no_nodes = { 0, 0, &empty_stack, &no_parent, &no_location };
	uint32 first = *next;
	int32 partition;

	if (first == stacks->count)
		return false;
	partition = pfs_stack_partition(stacks->sums[first].stack_id);
	while (*next < stacks->count && pfs_stack_partition(stacks->sums[*next].stack_id) == partition)
		(*next)++;
	/* the empty stack belongs to no partition */
	*touched = collect(partition == 0 ? &no_nodes : pfs_tree_get(partition), &stacks->sums[first],
					   *next - first);
	return true;
}

/*
 * Verdicts flow from the root to the leaves: a stack is what its ancestors made it.
 */
PfsStackVerdict *
pfs_touched_verdicts(const PfsTouched *touched, PfsSymbols *symbols)
{
	const PfsFilters *filters = pfs_symbols_filters(symbols);
	bool *focused;
	bool *ignored;
	bool *framed; /* some frame is left */
	PfsStackVerdict *verdicts;

	pfs_symbols_load(symbols, touched->locations + 1, touched->count - 1);
	if (!pfs_filters_any(filters))
		return NULL;
	focused = PFS_ARRAY0(bool, touched->count);
	ignored = PFS_ARRAY0(bool, touched->count);
	framed = PFS_ARRAY0(bool, touched->count);
	verdicts = PFS_ARRAY(PfsStackVerdict, touched->stack_count);
	focused[0] = filters->focus == NULL;
	framed[0] = filters->show == NULL && filters->hide == NULL;
	for (uint32 i = 1; i < touched->count; i++)
	{
		PfsFrames frames = pfs_symbols_frames(symbols, touched->locations[i]);
		uint32 parent = touched->parents[i];

		focused[i] = focused[parent] || frames.focused;
		ignored[i] = ignored[parent] || frames.ignored;
		framed[i] = framed[parent] || frames.count > 0;
	}
	for (uint32 i = 0; i < touched->stack_count; i++)
	{
		uint32 leaf = touched->leaves[i];

		verdicts[i] = !focused[leaf]  ? PFS_STACK_NOT_FOCUSED
					  : ignored[leaf] ? PFS_STACK_IGNORED
					  : framed[leaf]  ? PFS_STACK_PASSES
									  : PFS_STACK_WITHOUT_FRAMES;
	}
	pfree(focused);
	pfree(ignored);
	pfree(framed);
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
