/*
 * flame_rows.c
 *		Choosing the nodes that are shown, and their order.
 */
#include "tree/flame_rows.h"

#include "base/arrays.h"
#include "tree/flame_label.h"
#include "utils/memutils.h"

/* A child of a kept node; the largest comes first, the oldest among equals. */
typedef struct Candidate
{
	uint64 size;
	uint64 oldest;
	uint32 node;
} Candidate;

typedef struct Cut
{
	PfsFrameTree *tree;
	uint32 *
		cut_children; /* children of a kept node that are not kept; NOT_KEPT for others. NULL: all are kept */
	uint32 capacity;
	uint32 row_count;	   /* kept nodes, and one for each of them that has cut children */
	Candidate *candidates; /* a heap: candidate i comes before 2 i + 1 and 2 i + 2 */
	uint32 candidate_count;
	uint32 candidate_capacity;
} Cut;

#define NOT_KEPT PG_UINT32_MAX

/* A row that comes later: child of a node on the way to the latest row. */
typedef struct Child
{
	uint32 node; /* OTHER: stands in for what is cut */
	uint64 oldest;
	PfsSides total;
	const text *label; /* with a zero byte behind it */
} Child;

#define OTHER 0

/* The children of a node on the way: those that were not shown yet are next and behind it, up to the next level's. */
typedef struct Level
{
	PfsFrameMark mark; /* of the tree before the node was expanded */
	uint32 first;
	uint32 next;
} Level;

struct PfsFlameScan
{
	Cut cut;
	bool forgets; /* nodes whose rows have been shown */
	bool only_root;
	bool has_begun;
	Level *levels;
	uint32 depth;
	uint32 level_capacity;
	Child *children;
	uint32 child_count;
	uint32 child_capacity;
	const text *other; /* label of what is cut */
};

#define INITIAL_ROWS 64

/* So many nodes more make it worth while to look for some to forget. */
#define MIN_FORGOTTEN 256

static uint64
magnitude(int64 value)
{
	return value < 0 ? -(uint64) value : (uint64) value;
}

static uint64
size_of(PfsSides total)
{
	uint64 value = magnitude(total.value);
	uint64 size = value + magnitude(total.base);

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
	return a->oldest != b->oldest ? a->oldest < b->oldest : a->node < b->node;
}

static void *
grow_array(void *array, uint32 *capacity, Size element_bytes)
{
	*capacity = Max(*capacity * 2, INITIAL_ROWS);
	return array == NULL ? palloc_extended(*capacity * element_bytes, MCXT_ALLOC_HUGE)
						 : repalloc_huge(array, *capacity * element_bytes);
}

static void
add_candidate(Cut *cut, const Candidate *candidate)
{
	uint32 at = cut->candidate_count++;

	if (at == cut->candidate_capacity)
		cut->candidates = grow_array(cut->candidates, &cut->candidate_capacity, sizeof(Candidate));
	for (; at > 0 && comes_first(candidate, &cut->candidates[(at - 1) / 2]); at = (at - 1) / 2)
		cut->candidates[at] = cut->candidates[(at - 1) / 2];
	cut->candidates[at] = *candidate;
}

/* Takes the first candidate off the heap, which is not empty. */
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
		next += next + 1 < count && comes_first(&candidates[next + 1], &candidates[next]);
		if (!comes_first(&candidates[next], &candidates[count]))
			break;
		candidates[at] = candidates[next];
		at = next;
	}
	candidates[at] = candidates[count];
	return first;
}

/* Expands a node, which may make the tree larger. */
static const PfsFrameNode *
expand(Cut *cut, uint32 node)
{
	PfsFrameTree *tree = cut->tree;

	pfs_frame_tree_expand(tree, node);
	if (tree->count > cut->capacity)
	{
		uint32 old = cut->capacity;

		cut->capacity = tree->capacity;
		cut->cut_children = repalloc_huge(cut->cut_children, (Size) cut->capacity * sizeof(uint32));
		for (uint32 i = old; i < cut->capacity; i++)
			cut->cut_children[i] = NOT_KEPT;
	}
	return &tree->nodes[node];
}

/*
 * Keeps a node whose parent is kept, unless that takes more than max_rows; its children become candidates.
 */
static bool
keep_node(Cut *cut, uint32 node, uint32 max_rows)
{
	const PfsFrameNode *kept = expand(cut, node);
	uint32 row_count = cut->row_count + 1 + (kept->child_count > 0);

	if (node != 0)
		row_count -= cut->cut_children[kept->parent] == 1;
	if (row_count > max_rows)
		return false;
	if (node != 0)
		cut->cut_children[kept->parent]--;
	cut->row_count = row_count;
	cut->cut_children[node] = kept->child_count;
	for (uint32 i = 0; i < kept->child_count; i++)
	{
		Candidate candidate = candidate_of(cut->tree, kept->first_child + i);

		add_candidate(cut, &candidate);
	}
	return true;
}

/* Marks kept nodes, and of the children of each the last, which may come to be shown in place of "other". */
static void
mark_kept(const Cut *cut, bool *stays)
{
	const PfsFrameTree *tree = cut->tree;

	for (uint32 node = 0; node < tree->count; node++)
	{
		uint32 first = tree->nodes[node].first_child;
		uint32 end = first + tree->nodes[node].child_count;
		Candidate last;

		if (cut->cut_children[node] == NOT_KEPT)
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
 * Forgets what will not be kept, since max_rows candidates are greater. So what is in memory is bounded by max_rows, and by the
 * children of one node.
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
		greatest[i] = take_candidate(cut);
		stays[greatest[i].node] = true;
	}
	mark_kept(cut, stays);
	pfs_frame_tree_retain(tree, stays, places);
	for (uint32 i = 0; i < old_count; i++)
	{
		if (stays[i])
			cut->cut_children[places[i]] = cut->cut_children[i];
	}
	for (uint32 i = tree->count; i < old_count; i++)
		cut->cut_children[i] = NOT_KEPT;
	/* in order, they are a heap */
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

	if (tree->file != NULL && number != PFS_NO_WALKER)
		return pfs_frame_file_get(tree->file, number).size == 1;
	return expand(cut, node)->child_count == 0;
}

/* The only child of a node that is not kept. */
static uint32
find_cut_child(const Cut *cut, uint32 node)
{
	uint32 child = cut->tree->nodes[node].first_child;

	while (cut->cut_children[child] != NOT_KEPT)
		child++;
	return child;
}

/*
 * Shows a leaf in place of a row "other" that would stand for it alone.
 */
static void
keep_single_leaves(Cut *cut)
{
	uint32 count = cut->tree->count;

	for (uint32 node = 0; node < count; node++)
	{
		uint32 child;

		if (cut->cut_children[node] != 1)
			continue;
		child = find_cut_child(cut, node);
		if (is_leaf(cut, child))
			keep_node(cut, child, cut->row_count);
	}
}

/*
 * Best first: no node is larger than its parent, so the largest of all nodes are the largest candidates. (With
 * values of both signs a child may be larger; then it follows its parent.)
 */
static Cut
choose_nodes(PfsFrameTree *tree, uint32 max_rows)
{
	Cut cut = { .tree = tree };
	uint64 many = Max(max_rows, MIN_FORGOTTEN);

	cut.cut_children = PFS_ARRAY(uint32, 1);
	keep_node(&cut, 0, max_rows);
	while (cut.candidate_count > 0 && keep_node(&cut, take_candidate(&cut).node, max_rows))
	{
		if (tree->file != NULL && tree->count > many)
		{
			forget_small(&cut, max_rows);
			many = (uint64) tree->count + Max(max_rows, MIN_FORGOTTEN);
		}
	}
	keep_single_leaves(&cut);
	if (cut.candidates != NULL)
		pfree(cut.candidates);
	return cut;
}

/* Orders siblings: by falling total, then label, then age, since labels may be alike. */
static int
compare_children(const void *a, const void *b)
{
	const Child *left = a;
	const Child *right = b;
	int128 left_total = (int128) left->total.value + left->total.base;
	int128 right_total = (int128) right->total.value + right->total.base;
	int order;

	if (left_total != right_total)
		return left_total > right_total ? -1 : 1;
	order = strcmp(VARDATA(left->label), VARDATA(right->label));
	return order != 0 ? order : (left->oldest > right->oldest) - (left->oldest < right->oldest);
}

static bool
is_kept(const Cut *cut, uint32 node)
{
	return cut->cut_children == NULL || cut->cut_children[node] != NOT_KEPT;
}

static void
add_child(PfsFlameScan *scan, const Child *child)
{
	if (scan->child_count == scan->child_capacity)
		scan->children = grow_array(scan->children, &scan->child_capacity, sizeof(Child));
	scan->children[scan->child_count++] = *child;
}

/* What is left of a total that is the nearest int8 has no other sign than the total. */
static int64
rest_of(int128 rest, int64 total)
{
	if (total == PG_INT64_MAX)
		rest = Max(rest, 0);
	else if (total == PG_INT64_MIN)
		rest = Min(rest, 0);
	return pfs_clip(rest);
}

/* Goes down to a node: its rows come next, in the order in which they are shown. */
static const PfsFrameNode *
enter_node(PfsFlameScan *scan, uint32 index)
{
	PfsFrameTree *tree = scan->cut.tree;
	Level level = { pfs_frame_tree_mark(tree), scan->child_count, scan->child_count };
	const PfsFrameNode *node;
	PfsWideSides rest; /* not yet shown */

	pfs_frame_tree_expand(tree, index);
	node = &tree->nodes[index];
	rest = (PfsWideSides){ (int128) node->total.value - node->self.value,
						   (int128) node->total.base - node->self.base };
	for (uint32 i = node->first_child; i < node->first_child + node->child_count; i++)
	{
		const PfsFrameNode *child = &tree->nodes[i];

		if (!is_kept(&scan->cut, i))
			continue;
		add_child(scan, &(Child){ i, child->oldest, child->total,
								  pfs_symbol_label(tree->symbols, child->symbol) });
		rest.value -= child->total.value;
		rest.base -= child->total.base;
	}
	if (scan->cut.cut_children != NULL && scan->cut.cut_children[index] > 0)
	{
		PfsSides cut = { rest_of(rest.value, node->total.value),
						 rest_of(rest.base, node->total.base) };

		add_child(scan, &(Child){ OTHER, 0, cut, scan->other });
	}
	qsort(scan->children + level.first, scan->child_count - level.first, sizeof(Child),
		  compare_children);
	if (scan->depth == scan->level_capacity)
		scan->levels = grow_array(scan->levels, &scan->level_capacity, sizeof(Level));
	scan->levels[scan->depth++] = level;
	return node;
}

/* Goes back up from a node all of whose rows have been shown. */
static void
leave_node(PfsFlameScan *scan)
{
	const Level *level = &scan->levels[--scan->depth];

	scan->child_count = level->first;
	if (scan->forgets)
		pfs_frame_tree_release(scan->cut.tree, level->mark);
}

PfsFlameScan *
pfs_flame_scan_begin(PfsFrameTree *tree, uint32 max_rows)
{
	PfsFlameScan *scan = palloc0(sizeof(PfsFlameScan));

	scan->cut.tree = tree;
	scan->forgets = max_rows == PFS_NO_ROW_LIMIT;
	scan->only_root = max_rows == 1;
	scan->other = pfs_text_with_zero("other");
	if (max_rows > 1)
		scan->cut = choose_nodes(tree, max_rows);
	return scan;
}

const PfsDropped *
pfs_flame_scan_dropped(const PfsFlameScan *scan)
{
	return pfs_symbols_dropped(scan->cut.tree->symbols);
}

PfsFlameRow
pfs_flame_row(int32 level, PfsSides total, const text *label, const PfsFrameNode *node)
{
	return (PfsFlameRow){ level, total, total, VARDATA(label), label, node };
}

static void
set_root(PfsFlameScan *scan, PfsFlameRow *row)
{
	const PfsFrameNode *root = &scan->cut.tree->nodes[0];

	scan->has_begun = true;
	*row = pfs_flame_row(0, root->total, pfs_text_with_zero("total"), root);
	if (scan->only_root)
		return;
	row->node = enter_node(scan, 0);
	row->self = row->node->self;
}

bool
pfs_flame_scan_next(PfsFlameScan *scan, PfsFlameRow *row)
{
	Child child;

	if (!scan->has_begun)
	{
		set_root(scan, row);
		return true;
	}
	while (scan->depth > 0 && scan->levels[scan->depth - 1].next == scan->child_count)
		leave_node(scan);
	if (scan->depth == 0)
		return false;
	child = scan->children[scan->levels[scan->depth - 1].next++];
	*row = pfs_flame_row((int32) scan->depth, child.total, child.label, NULL);
	if (child.node != OTHER)
	{
		row->node = enter_node(scan, child.node);
		row->self = row->node->self;
	}
	return true;
}

PfsFlameRows
pfs_flame_rows(PfsFrameTree *tree, uint32 max_rows)
{
	PfsFlameRows rows = { 0, NULL };
	PfsFlameScan *scan;
	PfsFlameRow row;
	uint32 capacity = 0;

	if (max_rows == PFS_NO_ROW_LIMIT)
		pfs_frame_tree_expand_all(tree);
	scan = pfs_flame_scan_begin(tree, max_rows);
	scan->forgets = false;
	while (pfs_flame_scan_next(scan, &row))
	{
		if (rows.count == capacity)
			rows.rows = grow_array(rows.rows, &capacity, sizeof(PfsFlameRow));
		rows.rows[rows.count++] = row;
	}
	return rows;
}
