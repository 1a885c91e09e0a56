/*
 * flame_rows.c
 *		Choosing the nodes that are shown, and their order.
 */
#include "query/flame_rows.h"

#include "lib/pairingheap.h"
#include "mb/pg_wchar.h"
#include "query/allocate.h"
#include "utils/memutils.h"

typedef struct Cut
{
	PfsFrameTree *tree;
	uint32 *
		cut_children; /* children of a kept node that are not kept; NOT_KEPT for others. NULL: all are kept */
	uint32 capacity;
	uint32 row_count;		 /* kept nodes, and one for each of them that has cut children */
	pairingheap *candidates; /* children of kept nodes, the largest first */
} Cut;

#define NOT_KEPT PG_UINT32_MAX

typedef struct Candidate
{
	pairingheap_node heap_node;
	uint32 node;
} Candidate;

/* A row that comes later: child of a node on the way to the latest row. */
typedef struct Child
{
	uint32 node; /* OTHER: stands in for what is cut */
	uint64 oldest;
	PfsSides total;
	const char *label;
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
	const char **labels; /* by symbol; NULL: not made yet */
	uint32 label_count;
};

#define INITIAL_ROWS 64

/* So many nodes more make it worth while to look for some to forget. */
#define MIN_FORGOTTEN 256

const char *
pfs_flame_label(const char *name)
{
	static const char *const guarded[] = {
		"constructor",			"hasOwnProperty", "isPrototypeOf", "other",
		"propertyIsEnumerable", "toLocaleString", "toString",	   "valueOf"
	};
	size_t length = strlen(name);
	char *label;

	if (length == 0)
		return "[unknown]";
	for (size_t i = 0; i < lengthof(guarded); i++)
	{
		if (strcmp(name, guarded[i]) == 0)
			return psprintf("%s()", name);
	}
	if (strncmp(name, "__", 2) == 0 && strcmp(name + length - 2, "__") == 0)
		return psprintf("%s()", name);
	if (length <= PFS_LABEL_MAX_BYTES && strpbrk(name, "\n\r\t\v\f\b\x1b") == NULL)
		return name;
	length = (size_t) pg_mbcliplen(name, (int) length, PFS_LABEL_MAX_BYTES);
	label = pnstrdup(name, length);
	for (char *c = label; *c != '\0'; c++)
	{
		if ((unsigned char) *c < ' ')
			*c = ' ';
	}
	return label;
}

static int128
size_of(PfsSides total)
{
	int128 value = total.value;
	int128 base = total.base;

	return (value < 0 ? -value : value) + (base < 0 ? -base : base);
}

/* Of two nodes the larger is the greater, the older among equals. */
static int
compare_nodes(const PfsFrameNode *nodes, uint32 left, uint32 right)
{
	int128 left_size = size_of(nodes[left].total);
	int128 right_size = size_of(nodes[right].total);

	if (left_size != right_size)
		return left_size > right_size ? 1 : -1;
	if (nodes[left].oldest != nodes[right].oldest)
		return nodes[left].oldest < nodes[right].oldest ? 1 : -1;
	return left < right ? 1 : -1;
}

/* The heap's first is the greatest. */
static int
compare_candidates(const pairingheap_node *a, const pairingheap_node *b, void *tree)
{
	return compare_nodes(((PfsFrameTree *) tree)->nodes,
						 pairingheap_const_container(Candidate, heap_node, a)->node,
						 pairingheap_const_container(Candidate, heap_node, b)->node);
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
		Candidate *candidate = palloc(sizeof(Candidate));

		candidate->node = kept->first_child + i;
		pairingheap_add(cut->candidates, &candidate->heap_node);
	}
	return true;
}

/* Takes all candidates off the heap; the greatest count of them go to an array, in order. */
static uint32
take_candidates(Cut *cut, Candidate **greatest, uint32 count)
{
	uint32 taken = 0;

	while (!pairingheap_is_empty(cut->candidates))
	{
		Candidate *candidate =
			pairingheap_container(Candidate, heap_node, pairingheap_remove_first(cut->candidates));

		if (taken < count)
			greatest[taken++] = candidate;
		else
			pfree(candidate);
	}
	return taken;
}

/* Marks kept nodes, and of the children of each the least, which may come to be shown in place of "other". */
static void
mark_kept(const Cut *cut, bool *stays)
{
	const PfsFrameTree *tree = cut->tree;

	for (uint32 node = 0; node < tree->count; node++)
	{
		uint32 least = tree->nodes[node].first_child;
		uint32 end = least + tree->nodes[node].child_count;

		if (cut->cut_children[node] == NOT_KEPT)
			continue;
		stays[node] = true;
		for (uint32 child = least; child < end; child++)
		{
			if (compare_nodes(tree->nodes, child, least) < 0)
				least = child;
		}
		if (least < end)
			stays[least] = true;
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
	uint32 count = Min(max_rows, old_count);
	bool *stays = PFS_ARRAY0(bool, old_count);
	uint32 *places = PFS_ARRAY(uint32, old_count);
	Candidate **greatest = PFS_ARRAY(Candidate *, count);
	uint32 taken = take_candidates(cut, greatest, count);

	for (uint32 i = 0; i < taken; i++)
		stays[greatest[i]->node] = true;
	mark_kept(cut, stays);
	pfs_frame_tree_retain(tree, stays, places);
	for (uint32 i = 0; i < old_count; i++)
	{
		if (stays[i])
			cut->cut_children[places[i]] = cut->cut_children[i];
	}
	for (uint32 i = tree->count; i < old_count; i++)
		cut->cut_children[i] = NOT_KEPT;
	for (uint32 i = 0; i < taken; i++)
	{
		greatest[i]->node = places[greatest[i]->node];
		pairingheap_add(cut->candidates, &greatest[i]->heap_node);
	}
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

/*
 * Shows a leaf in place of a row "other" that would stand for it alone.
 */
static void
keep_single_leaves(Cut *cut)
{
	for (uint32 node = 1; node < cut->tree->count; node++)
	{
		uint32 parent = cut->tree->nodes[node].parent;

		if (cut->cut_children[node] == NOT_KEPT && cut->cut_children[parent] == 1 &&
			is_leaf(cut, node))
			keep_node(cut, node, cut->row_count);
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
	cut.candidates = pairingheap_allocate(compare_candidates, tree);
	keep_node(&cut, 0, max_rows);
	while (!pairingheap_is_empty(cut.candidates))
	{
		Candidate *candidate =
			pairingheap_container(Candidate, heap_node, pairingheap_remove_first(cut.candidates));

		if (!keep_node(&cut, candidate->node, max_rows))
			break;
		pfree(candidate);
		if (tree->file != NULL && tree->count > many)
		{
			forget_small(&cut, max_rows);
			many = (uint64) tree->count + Max(max_rows, MIN_FORGOTTEN);
		}
	}
	keep_single_leaves(&cut);
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
	order = strcmp(left->label, right->label);
	return order != 0 ? order : (left->oldest > right->oldest) - (left->oldest < right->oldest);
}

static void *
grow_array(void *array, uint32 *capacity, Size element_bytes)
{
	*capacity = Max(*capacity * 2, INITIAL_ROWS);
	return array == NULL ? palloc_extended(*capacity * element_bytes, MCXT_ALLOC_HUGE)
						 : repalloc_huge(array, *capacity * element_bytes);
}

/* A symbol's label; symbols are made as frames are met. */
static const char *
label_of(PfsFlameScan *scan, uint32 symbol)
{
	if (symbol >= scan->label_count)
	{
		uint32 count = Max(INITIAL_ROWS, pfs_symbol_count(scan->cut.tree->symbols) * 2);

		scan->labels = scan->labels == NULL
						   ? PFS_ARRAY(const char *, count)
						   : repalloc_huge(scan->labels, (Size) count * sizeof(const char *));
		memset(scan->labels + scan->label_count, 0,
			   (count - scan->label_count) * sizeof(const char *));
		scan->label_count = count;
	}
	if (scan->labels[symbol] == NULL)
		scan->labels[symbol] = pfs_flame_label(pfs_symbol_name(scan->cut.tree->symbols, symbol));
	return scan->labels[symbol];
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

/* Goes down to a node: its rows come next, in the order in which they are shown. */
static const PfsFrameNode *
enter_node(PfsFlameScan *scan, uint32 index)
{
	PfsFrameTree *tree = scan->cut.tree;
	Level level = { pfs_frame_tree_mark(tree), scan->child_count, scan->child_count };
	const PfsFrameNode *node;
	PfsSides rest; /* not yet shown */

	pfs_frame_tree_expand(tree, index);
	node = &tree->nodes[index];
	rest = pfs_subtract_sides(node->total, node->self);
	for (uint32 i = node->first_child; i < node->first_child + node->child_count; i++)
	{
		const PfsFrameNode *child = &tree->nodes[i];

		if (!is_kept(&scan->cut, i))
			continue;
		add_child(scan, &(Child){ i, child->oldest, child->total, label_of(scan, child->symbol) });
		rest = pfs_subtract_sides(rest, child->total);
	}
	if (scan->cut.cut_children != NULL && scan->cut.cut_children[index] > 0)
		add_child(scan, &(Child){ OTHER, 0, rest, "other" });
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
	if (max_rows > 1)
		scan->cut = choose_nodes(tree, max_rows);
	return scan;
}

const PfsDropped *
pfs_flame_scan_dropped(const PfsFlameScan *scan)
{
	return pfs_symbols_dropped(scan->cut.tree->symbols);
}

static void
set_root(PfsFlameScan *scan, PfsFlameRow *row)
{
	const PfsFrameNode *root = &scan->cut.tree->nodes[0];

	scan->has_begun = true;
	*row = (PfsFlameRow){ 0, root->total, root->total, "total", root };
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
	*row = (PfsFlameRow){ (int32) scan->depth, child.total, child.total, child.label, NULL };
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
