/*
 * flame_cut.c
 *		Keeps nodes best first: the next node to keep is the largest of all nodes whose parent is
 *		kept.
 */
#include "tree/flame_cut.h"

#include "utils/memutils.h"

#include "base/arrays.h"

/* A child of a kept node. The largest candidate comes first, among equals the oldest. */
typedef struct Candidate
{
	uint64 size;
	uint64 oldest;
	uint32 node;
} Candidate;

/* Some nodes are removed from memory whenever at least this many have been added. */
#define MIN_FORGOTTEN 256

typedef struct Cut
{
	PfsFrameTree *tree;
	uint32 *cut_children; /* see PfsFlameCut */
	uint32 capacity;
	/* number of kept nodes, plus one for each of them that has cut children */
	uint32 row_count;
	Candidate *candidates; /* a heap: candidate i comes before 2 i + 1 and 2 i + 2 */
	uint32 candidate_count;
	uint32 candidate_capacity;
} Cut;

static uint64
sides_magnitude(int64 value)
{
	return value < 0 ? -(uint64) value : (uint64) value;
}

static uint64
size_of(PfsSides total)
{
	uint64 value = sides_magnitude(total.value);
	uint64 size = value + sides_magnitude(total.base);

	/* The sum has wrapped; nodes so large are equal in size. */
	return size < value ? PG_UINT64_MAX : size;
}

static inline Candidate
candidate_of(const PfsFrameTree *tree, uint32 node)
{
	return (Candidate){ size_of(tree->nodes[node].total), tree->nodes[node].oldest, node };
}

static inline bool
comes_first(const Candidate *a, const Candidate *b)
{
	if (a->size != b->size)
		return a->size > b->size;
	/* Age makes the choice independent of the order in which nodes were created. */
	return a->oldest != b->oldest ? a->oldest < b->oldest : a->node < b->node;
}

/*
 * Adds a candidate to the heap. lib/binaryheap.h is not used, because its heaps do not grow and
 * hold pointers instead of the candidates themselves.
 */
static void
add_candidate(Cut *cut, const Candidate *candidate)
{
	/* The hole moves up until the parent comes first. */
	uint32 at = cut->candidate_count++;

	PFS_RESERVE(cut->candidates, cut->candidate_capacity, cut->candidate_count);
	for (; at > 0 && comes_first(candidate, &cut->candidates[(at - 1) / 2]); at = (at - 1) / 2)
		cut->candidates[at] = cut->candidates[(at - 1) / 2];
	cut->candidates[at] = *candidate;
}

/* Removes the first candidate of the heap, which is not empty. */
static Candidate
take_candidate(Cut *cut)
{
	Candidate *candidates = cut->candidates;
	Candidate first = candidates[0];
	uint32 count = --cut->candidate_count;
	uint32 at = 0;

	for (;;)
	{
		uint32 next = 2 * at + 1;

		if (next >= count)
			break;
		/* The child that comes first. */
		next += next + 1 < count && comes_first(&candidates[next + 1], &candidates[next]);
		if (!comes_first(&candidates[next], &candidates[count]))
			break;
		candidates[at] = candidates[next];
		at = next;
	}
	candidates[at] = candidates[count];
	return first;
}

/* Expands a node. The arrays grow with the tree. */
static const PfsFrameNode *
cut_expand(Cut *cut, uint32 node)
{
	PfsFrameTree *tree = cut->tree;

	pfs_frame_tree_expand(tree, node);
	if (tree->count > cut->capacity)
	{
		uint32 old = cut->capacity;

		cut->capacity = tree->capacity;
		cut->cut_children = repalloc_huge(cut->cut_children, (Size) cut->capacity * sizeof(uint32));
		/* New nodes are not kept until keep_node() says so. */
		for (uint32 i = old; i < cut->capacity; i++)
			cut->cut_children[i] = PFS_NODE_NOT_KEPT;
	}
	return &tree->nodes[node];
}

/*
 * Keeps a node whose parent is kept, unless that takes more than max_rows; its children become
 * candidates.
 */
static bool
keep_node(Cut *cut, uint32 node, uint32 max_rows)
{
	const PfsFrameNode *kept = cut_expand(cut, node);
	/* Children are cut at first, so a node with children needs a row "other". */
	uint32 row_count = cut->row_count + 1 + (kept->child_count > 0);

	if (node != 0)
		/* the parent's last cut child stays, so the parent needs no row "other" any more */
		row_count -= cut->cut_children[kept->parent] == 1;
	/* The node stays expanded, which harms nothing: its children are not candidates. */
	if (row_count > max_rows)
		return false;
	if (node != 0)
		cut->cut_children[kept->parent]--;
	cut->row_count = row_count;
	/* Each child that is kept later reduces this number. */
	cut->cut_children[node] = kept->child_count;
	for (uint32 i = 0; i < kept->child_count; i++)
	{
		Candidate candidate = candidate_of(cut->tree, kept->first_child + i);

		add_candidate(cut, &candidate);
	}
	return true;
}

/* Marks kept nodes, and each kept node's last child, which may later replace the row "other". */
static void
mark_kept(const Cut *cut, bool *stays)
{
	const PfsFrameTree *tree = cut->tree;

	for (uint32 node = 0; node < tree->count; node++)
	{
		uint32 first = tree->nodes[node].first_child;
		uint32 end = first + tree->nodes[node].child_count;
		Candidate last;

		/* Children of nodes that are not kept are never shown. */
		if (cut->cut_children[node] == PFS_NODE_NOT_KEPT)
			continue;
		stays[node] = true;
		if (first == end)
			continue;
		last = candidate_of(tree, first);
		for (uint32 child = first + 1; child < end; child++)
		{
			Candidate candidate = candidate_of(tree, child);

			if (comes_first(&last, &candidate))
				last = candidate;
		}
		stays[last.node] = true;
	}
}

/*
 * Removes nodes that cannot be kept, because max_rows candidates are larger. So the nodes in memory
 * are bounded by max_rows and the number of children of one node.
 */
static void
forget_small(Cut *cut, uint32 max_rows)
{
	PfsFrameTree *tree = cut->tree;
	uint32 old_count = tree->count;
	uint32 count = Min(max_rows, cut->candidate_count);
	bool *stays = PFS_ARRAY0(bool, old_count);
	uint32 *places = PFS_ARRAY(uint32, old_count);
	Candidate *greatest = PFS_ARRAY(Candidate, count);

	for (uint32 i = 0; i < count; i++)
	{
		/* Taken in order, so greatest[] is sorted. */
		greatest[i] = take_candidate(cut);
		stays[greatest[i].node] = true;
	}
	/* Parents of candidates are kept, so every node that stays has its parent. */
	mark_kept(cut, stays);
	pfs_frame_tree_retain(tree, stays, places);
	for (uint32 i = 0; i < old_count; i++)
	{
		/* places[i] <= i, so no entry is overwritten before it is moved. */
		if (stays[i])
			cut->cut_children[places[i]] = cut->cut_children[i];
	}
	for (uint32 i = tree->count; i < old_count; i++)
		cut->cut_children[i] = PFS_NODE_NOT_KEPT;
	/* sorted candidates are a heap */
	for (uint32 i = 0; i < count; i++)
	{
		cut->candidates[i] = greatest[i];
		cut->candidates[i].node = places[greatest[i].node];
	}
	cut->candidate_count = count;
	pfree(greatest);
	pfree(places);
	pfree(stays);
}

static bool
is_leaf(Cut *cut, uint32 node)
{
	const PfsFrameTree *tree = cut->tree;
	uint32 number = tree->nodes[node].walkers;

	/* In a file the number of nodes below shows it, without expanding the node. */
	if (tree->file != NULL && number != PFS_NO_WALKER)
		return pfs_frame_file_get(tree->file, number).size == 1;
	return cut_expand(cut, node)->child_count == 0;
}

/* Returns the only child of a node that is not kept. */
static uint32
find_cut_child(const Cut *cut, uint32 node)
{
	uint32 child = cut->tree->nodes[node].first_child;

	/* Exactly one child is not kept, so the loop ends within the children. */
	while (cut->cut_children[child] != PFS_NODE_NOT_KEPT)
		child++;
	return child;
}

/* Shows a leaf instead of a row "other" that would represent only this leaf. */
static void
keep_single_leaves(Cut *cut)
{
	/* Nodes that is_leaf() appends are not kept, so they have no cut children. */
	uint32 count = cut->tree->count;

	for (uint32 node = 0; node < count; node++)
	{
		uint32 child;

		if (cut->cut_children[node] != 1)
			continue;
		child = find_cut_child(cut, node);
		if (is_leaf(cut, child))
			/* The leaf's row replaces the row "other", so the number of rows stays. */
			keep_node(cut, child, cut->row_count);
	}
}

/*
 * A node is never larger than its parent, so taking the largest candidate first finds the largest
 * of all nodes. If values have both signs, a child may be larger; then it is considered after its
 * parent.
 */
PfsFlameCut
pfs_flame_cut(PfsFrameTree *tree, uint32 max_rows)
{
	Cut cut = { .tree = tree };
	uint64 many = Max(max_rows, MIN_FORGOTTEN);

	cut.cut_children = PFS_ARRAY(uint32, 1);
	/* The root is always shown. */
	keep_node(&cut, 0, max_rows);
	while (cut.candidate_count > 0 && keep_node(&cut, take_candidate(&cut).node, max_rows))
	{
		/* Walkers bound the nodes of a tree in memory; those read from a file are bounded here. */
		if (tree->file != NULL && tree->count > many)
		{
			forget_small(&cut, max_rows);
			many = (uint64) tree->count + Max(max_rows, MIN_FORGOTTEN);
		}
	}
	keep_single_leaves(&cut);
	if (cut.candidates != NULL)
		pfree(cut.candidates);
	return (PfsFlameCut){ cut.cut_children };
}
