/*
 * flame_rows.c
 *		Choosing the nodes that are shown, and their order.
 */
#include "query/flame_rows.h"

#include "lib/binaryheap.h"
#include "mb/pg_wchar.h"
#include "query/allocate.h"
#include "utils/memutils.h"

typedef struct Cut
{
	const PfsFrameTree *tree;
	bool *kept;
	uint32 *child_count;
	uint32 *cut_children; /* children of a node that are not kept */
	uint32 row_count;	  /* kept nodes, and one for each of them that has cut children */
} Cut;

/* A row before it has its place: child of a node. */
typedef struct Child
{
	uint32 parent;
	uint32 node; /* OTHER: stands in for what is cut */
	int64 value;
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

/* Orders nodes by falling size; parents come before children of equal size. */
static int
compare_size(const PfsFrameTree *tree, uint32 a, uint32 b)
{
	int64 left = tree->nodes[a].total;
	int64 right = tree->nodes[b].total;
	uint64 left_size = left < 0 ? 0 - (uint64) left : (uint64) left;
	uint64 right_size = right < 0 ? 0 - (uint64) right : (uint64) right;

	if (left_size != right_size)
		return left_size > right_size ? -1 : 1;
	return (a > b) - (a < b);
}

/* The heap's first is the least of the largest nodes. */
static int
compare_heap(Datum a, Datum b, void *tree)
{
	return compare_size(tree, DatumGetUInt32(a), DatumGetUInt32(b));
}

/*
 * The count largest nodes, the root among them, by falling size.
 */
static uint32 *
largest_nodes(const PfsFrameTree *tree, uint32 count)
{
	binaryheap *heap =
		binaryheap_allocate((int) count, compare_heap, unconstify(PfsFrameTree *, tree));
	uint32 *nodes = PFS_ARRAY(uint32, count);

	for (uint32 node = 0; node < count; node++)
		binaryheap_add_unordered(heap, UInt32GetDatum(node));
	binaryheap_build(heap);
	for (uint32 node = count; node < tree->count; node++)
	{
		if (compare_size(tree, node, DatumGetUInt32(binaryheap_first(heap))) < 0)
			binaryheap_replace_first(heap, UInt32GetDatum(node));
	}
	for (uint32 i = count; i > 0; i--)
		nodes[i - 1] = DatumGetUInt32(binaryheap_remove_first(heap));
	binaryheap_free(heap);
	return nodes;
}

static Cut
begin_cut(const PfsFrameTree *tree)
{
	Cut cut = { .tree = tree };

	cut.kept = PFS_ARRAY0(bool, tree->count);
	cut.child_count = PFS_ARRAY0(uint32, tree->count);
	cut.cut_children = PFS_ARRAY(uint32, tree->count);
	for (uint32 node = 1; node < tree->count; node++)
		cut.child_count[tree->nodes[node].parent]++;
	memcpy(cut.cut_children, cut.child_count, tree->count * sizeof(uint32));
	cut.kept[0] = true;
	cut.row_count = 1 + (cut.cut_children[0] > 0);
	return cut;
}

/*
 * Keeps a node whose parent is kept, unless that takes more than max_rows.
 */
static bool
keep_node(Cut *cut, uint32 node, uint32 max_rows)
{
	uint32 parent = cut->tree->nodes[node].parent;
	uint32 row_count =
		cut->row_count + 1 + (cut->cut_children[node] > 0) - (cut->cut_children[parent] == 1);

	if (row_count > max_rows)
		return false;
	cut->row_count = row_count;
	cut->kept[node] = true;
	cut->cut_children[parent]--;
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

		if (!cut->kept[node] && cut->kept[parent] && cut->child_count[node] == 0 &&
			cut->cut_children[parent] == 1)
			keep_node(cut, node, cut->row_count);
	}
}

static Cut
choose_nodes(const PfsFrameTree *tree, uint32 max_rows)
{
	Cut cut = begin_cut(tree);
	uint32 *nodes;

	if (max_rows == PFS_NO_ROW_LIMIT || tree->count <= max_rows)
	{
		for (uint32 node = 1; node < tree->count; node++)
			keep_node(&cut, node, PG_UINT32_MAX);
		return cut;
	}
	nodes = largest_nodes(tree, max_rows);
	for (uint32 i = 0; i < max_rows; i++)
	{
		uint32 node = nodes[i];

		/* with negative values a child may be larger than its parent: such a child is cut */
		if (node == 0 || !cut.kept[tree->nodes[node].parent])
			continue;
		if (!keep_node(&cut, node, max_rows))
			break;
	}
	pfree(nodes);
	keep_single_leaves(&cut);
	return cut;
}

static int
compare_children(const void *a, const void *b)
{
	const Child *left = a;
	const Child *right = b;
	int order;

	if (left->parent != right->parent)
		return left->parent < right->parent ? -1 : 1;
	if (left->value != right->value)
		return left->value > right->value ? -1 : 1;
	order = strcmp(left->label, right->label);
	return order != 0 ? order : (left->node > right->node) - (left->node < right->node);
}

/*
 * All rows but the root, sorted by parent and then as siblings stand.
 */
static Child *
collect_children(const Cut *cut)
{
	const PfsFrameTree *tree = cut->tree;
	const char **labels = PFS_ARRAY0(const char *, pfs_symbol_count(tree->symbols));
	int64 *rest = PFS_ARRAY(int64, tree->count); /* not yet shown below */
	Child *children = PFS_ARRAY(Child, cut->row_count);
	uint32 count = 0;

	for (uint32 i = 0; i < tree->count; i++)
		rest[i] = tree->nodes[i].total - tree->nodes[i].self;
	for (uint32 i = 1; i < tree->count; i++)
	{
		const PfsFrameNode *node = &tree->nodes[i];

		if (!cut->kept[i])
			continue;
		if (labels[node->symbol] == NULL)
			labels[node->symbol] = pfs_flame_label(pfs_symbol_name(tree->symbols, node->symbol));
		children[count++] = (Child){ node->parent, i, node->total, labels[node->symbol] };
		rest[node->parent] -= node->total;
	}
	for (uint32 i = 0; i < tree->count; i++)
	{
		if (cut->kept[i] && cut->cut_children[i] > 0)
			children[count++] = (Child){ i, OTHER, rest[i], "other" };
	}
	Assert(count == cut->row_count - 1);
	qsort(children, count, sizeof(Child), compare_children);
	pfree(labels);
	pfree(rest);
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
		(PfsFlameRow){ level, child->value, node ? node->self : child->value, child->label, node };
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
pfs_flame_rows(const PfsFrameTree *tree, uint32 max_rows)
{
	const PfsFrameNode *root = &tree->nodes[0];
	PfsFlameRows rows = { 0, NULL };
	Child *children;
	Cut cut;

	if (max_rows == 1)
	{
		rows.rows = palloc(sizeof(PfsFlameRow));
		rows.rows[rows.count++] = (PfsFlameRow){ 0, root->total, root->total, "total", root };
		return rows;
	}
	cut = choose_nodes(tree, max_rows);
	children = collect_children(&cut);
	rows.rows = PFS_ARRAY(PfsFlameRow, cut.row_count);
	rows.rows[rows.count++] = (PfsFlameRow){ 0, root->total, root->self, "total", root };
	walk_children(&rows, tree, children, cut.row_count - 1);
	pfree(children);
	pfree(cut.kept);
	pfree(cut.child_count);
	pfree(cut.cut_children);
	return rows;
}
