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
	uint32 *cut_children; /* children of a kept node that are not kept; NOT_KEPT for others */
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

/* A row before it has its place: child of a node. */
typedef struct Child
{
	uint32 parent;
	uint32 node; /* OTHER: stands in for what is cut */
	PfsSides total;
	const char *label;
} Child;

#define OTHER 0

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

/* The heap's first is the largest node, the oldest among equals. */
static int
compare_candidates(const pairingheap_node *a, const pairingheap_node *b, void *tree)
{
	const PfsFrameNode *nodes = ((PfsFrameTree *) tree)->nodes;
	uint32 left = pairingheap_const_container(Candidate, heap_node, a)->node;
	uint32 right = pairingheap_const_container(Candidate, heap_node, b)->node;
	int128 left_size = size_of(nodes[left].total);
	int128 right_size = size_of(nodes[right].total);

	if (left_size != right_size)
		return left_size > right_size ? 1 : -1;
	if (nodes[left].oldest != nodes[right].oldest)
		return nodes[left].oldest < nodes[right].oldest ? 1 : -1;
	return left < right ? 1 : -1;
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
			expand(cut, node)->child_count == 0)
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

	if (max_rows == PFS_NO_ROW_LIMIT)
	{
		pfs_frame_tree_expand_all(tree);
		cut.row_count = tree->count;
		cut.cut_children = PFS_ARRAY0(uint32, tree->count);
		return cut;
	}
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
	}
	keep_single_leaves(&cut);
	return cut;
}

/* Orders siblings. */
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
	return order != 0 ? order : (left->node > right->node) - (left->node < right->node);
}

/*
 * All rows but the root: children of a node are neighbours, in the order in which they are shown.
 */
static Child *
collect_children(const Cut *cut)
{
	const PfsFrameTree *tree = cut->tree;
	const char **labels = PFS_ARRAY0(const char *, pfs_symbol_count(tree->symbols));
	Child *children = PFS_ARRAY(Child, cut->row_count);
	uint32 count = 0;

	for (uint32 parent = 0; parent < tree->count; parent++)
	{
		const PfsFrameNode *above = &tree->nodes[parent];
		PfsSides rest = pfs_subtract_sides(above->total, above->self); /* not yet shown */
		uint32 first = count;

		if (cut->cut_children[parent] == NOT_KEPT)
			continue;
		for (uint32 i = above->first_child; i < above->first_child + above->child_count; i++)
		{
			const PfsFrameNode *node = &tree->nodes[i];
			const char **label = &labels[node->symbol];

			if (cut->cut_children[i] == NOT_KEPT)
				continue;
			if (*label == NULL)
				*label = pfs_flame_label(pfs_symbol_name(tree->symbols, node->symbol));
			children[count++] = (Child){ parent, i, node->total, *label };
			rest = pfs_subtract_sides(rest, node->total);
		}
		if (cut->cut_children[parent] > 0)
			children[count++] = (Child){ parent, OTHER, rest, "other" };
		qsort(children + first, count - first, sizeof(Child), compare_children);
	}
	Assert(count == cut->row_count - 1);
	pfree(labels);
	return children;
}

/* For each node the position of its first child; the children of a node are neighbours. */
static uint32 *
index_children(const PfsFrameTree *tree, const Child *children, uint32 count)
{
	uint32 *first = PFS_ARRAY(uint32, tree->count);

	for (uint32 i = 0; i < tree->count; i++)
		first[i] = count;
	for (uint32 i = count; i > 0; i--)
		first[children[i - 1].parent] = i - 1;
	return first;
}

static void
append_row(PfsFlameRows *rows, const PfsFrameTree *tree, const Child *child, int32 level)
{
	const PfsFrameNode *node = child->node == OTHER ? NULL : &tree->nodes[child->node];

	rows->rows[rows->count++] =
		(PfsFlameRow){ level, child->total, node ? node->self : child->total, child->label, node };
}

/*
 * Depth first. path[level - 1] is the position of the child that the walk stands in at a level; its next sibling,
 * if it has one, is right behind it.
 */
static void
walk_children(PfsFlameRows *rows, const PfsFrameTree *tree, const Child *children, uint32 count)
{
	uint32 *first = index_children(tree, children, count);
	uint32 capacity = 64;
	uint32 *path = palloc(capacity * sizeof(uint32));
	uint32 depth = 0;
	uint32 next = first[0];

	for (;;)
	{
		uint32 parent = depth == 0 ? 0 : children[path[depth - 1]].node;

		if (next < count && children[next].parent == parent)
		{
			append_row(rows, tree, &children[next], (int32) depth + 1);
			if (depth == capacity)
			{
				capacity *= 2;
				path = repalloc_huge(path, capacity * sizeof(uint32));
			}
			path[depth++] = next;
			next = children[next].node == OTHER ? count : first[children[next].node];
		}
		else if (depth > 0)
			next = path[--depth] + 1;
		else
			break;
	}
	pfree(path);
	pfree(first);
}

PfsFlameRows
pfs_flame_rows(PfsFrameTree *tree, uint32 max_rows)
{
	PfsFlameRows rows = { 0, NULL };
	const PfsFrameNode *root;
	Child *children;
	Cut cut;

	if (max_rows == 1)
	{
		root = &tree->nodes[0];
		rows.rows = palloc(sizeof(PfsFlameRow));
		rows.rows[rows.count++] = (PfsFlameRow){ 0, root->total, root->total, "total", root };
		return rows;
	}
	cut = choose_nodes(tree, max_rows);
	root = &tree->nodes[0];
	children = collect_children(&cut);
	rows.rows = PFS_ARRAY(PfsFlameRow, cut.row_count);
	rows.rows[rows.count++] = (PfsFlameRow){ 0, root->total, root->self, "total", root };
	walk_children(&rows, tree, children, cut.row_count - 1);
	pfree(children);
	pfree(cut.cut_children);
	return rows;
}
