/*
 * flame_rows.c
 *		Returns the nodes that are shown, in drawing order.
 */
#include "tree/flame_rows.h"

#include "utils/memutils.h"

#include "base/arrays.h"
#include "tree/flame_cut.h"
#include "tree/frames/flame_label.h"

/* A row to be returned later: a child of a node on the path to the current row. */
typedef struct Child
{
	uint32 node; /* the node, or OTHER for a row that represents cut nodes */
	uint64 oldest;
	PfsSides total;
	const text *label; /* with a zero byte after it */
} Child;

#define OTHER 0

/*
 * A node on the path to the current row, with those of its children that have not been returned:
 * from next on, up to the children of the next level.
 */
typedef struct Level
{
	PfsFrameMark mark; /* mark of the tree before the node was expanded */
	uint32 first;
	uint32 next;
} Level;

struct PfsFlameScan
{
	PfsFrameTree *tree;
	PfsFlameCut cut;
	bool forgets; /* if all nodes have rows, nodes are released once their rows are returned */
	bool only_root;
	bool has_begun;
	Level *levels;
	uint32 depth;
	uint32 level_capacity;
	Child *children;
	uint32 child_count;
	uint32 child_capacity;
	const text *other; /* label of cut nodes */
};

/*
 * Orders siblings by descending total, then by label. Labels may be equal, so the last criterion is
 * age.
 */
static int
compare_children(const void *a, const void *b)
{
	const Child *left = a;
	const Child *right = b;
	/* Both sides together decide, as in flame_cut.c; int128, because their sum may exceed int8. */
	int128 left_total = (int128) left->total.value + left->total.base;
	int128 right_total = (int128) right->total.value + right->total.base;
	int order;

	if (left_total != right_total)
		return left_total > right_total ? -1 : 1;
	/* Labels of equal totals keep the result stable between runs. */
	order = strcmp(VARDATA(left->label), VARDATA(right->label));
	return order != 0 ? order : (left->oldest > right->oldest) - (left->oldest < right->oldest);
}

static void
add_child(PfsFlameScan *scan, const Child *child)
{
	PFS_RESERVE(scan->children, scan->child_capacity, (uint64) scan->child_count + 1);
	scan->children[scan->child_count++] = *child;
}

/*
 * Returns the rest of a total. If clipping has given it the sign opposite to that of the total,
 * returns 0.
 */
static int64
row_rest(int128 rest, int64 total)
{
	/* Only a clipped total can be smaller than the sum of its parts. */
	if (total == PG_INT64_MAX)
		rest = Max(rest, 0);
	else if (total == PG_INT64_MIN)
		rest = Min(rest, 0);
	return pfs_clip(rest);
}

/* Moves down to a node: the rows of its children come next, sorted. */
static const PfsFrameNode *
enter_node(PfsFlameScan *scan, uint32 index)
{
	PfsFrameTree *tree = scan->tree;
	Level level = { pfs_frame_tree_mark(tree), scan->child_count, scan->child_count };
	const PfsFrameNode *node;
	PfsWideSides rest; /* the total minus the totals of the rows returned */

	/* The mark in level was taken before, so that releasing to it removes what this call adds. */
	pfs_frame_tree_expand(tree, index);
	node = &tree->nodes[index];
	rest = (PfsWideSides){ (int128) node->total.value - node->self.value,
						   (int128) node->total.base - node->self.base };
	for (uint32 i = node->first_child; i < node->first_child + node->child_count; i++)
	{
		const PfsFrameNode *child = &tree->nodes[i];

		/* Cut children are summed up in one row. */
		if (!pfs_flame_is_kept(&scan->cut, i))
			continue;
		add_child(scan, &(Child){ i, child->oldest, child->total,
								  pfs_symbol_label(tree->symbols, child->symbol) });
		rest.value -= child->total.value;
		rest.base -= child->total.base;
	}
	if (pfs_flame_has_cut(&scan->cut, index))
	{
		PfsSides cut = { row_rest(rest.value, node->total.value),
						 row_rest(rest.base, node->total.base) };

		/* The cut children's total is the node's total minus those of its other children. */
		add_child(scan, &(Child){ OTHER, 0, cut, scan->other });
	}
	qsort(scan->children + level.first, scan->child_count - level.first, sizeof(Child),
		  compare_children);
	PFS_RESERVE(scan->levels, scan->level_capacity, (uint64) scan->depth + 1);
	scan->levels[scan->depth++] = level;
	return node;
}

/* Moves up from a node when all rows below it have been returned. */
static void
leave_node(PfsFlameScan *scan)
{
	const Level *level = &scan->levels[--scan->depth];

	/* The siblings of the node are in the array before its children, and stay there. */
	scan->child_count = level->first;
	if (scan->forgets)
		pfs_frame_tree_release(scan->tree, level->mark);
}

PfsFlameScan *
pfs_flame_scan_begin(PfsFrameTree *tree, uint32 max_rows)
{
	PfsFlameScan *scan = palloc0(sizeof(PfsFlameScan));

	scan->tree = tree;
	/* After a cut, nodes must stay: cut_children[] has one element per node. */
	scan->forgets = max_rows == PFS_NO_ROW_LIMIT;
	scan->only_root = max_rows == 1;
	scan->other = pfs_text_with_zero("other");
	if (max_rows > 1)
		scan->cut = pfs_flame_cut(tree, max_rows);
	return scan;
}

const PfsDropped *
pfs_flame_scan_dropped(const PfsFlameScan *scan)
{
	return pfs_symbols_dropped(scan->tree->symbols);
}

PfsFlameRow
pfs_flame_row(int32 level, PfsSides total, const text *label, const PfsFrameNode *node)
{
	return (PfsFlameRow){ level, total, total, VARDATA(label), label, PFS_NO_SYMBOL, node };
}

static void
row_set_root(PfsFlameScan *scan, PfsFlameRow *row)
{
	const PfsFrameNode *root = &scan->tree->nodes[0];

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
		row_set_root(scan, row);
		return true;
	}
	/* The last level's children end where the array ends. */
	while (scan->depth > 0 && scan->levels[scan->depth - 1].next == scan->child_count)
		leave_node(scan);
	if (scan->depth == 0)
		return false;
	/* A copy, because enter_node() may move the array. */
	child = scan->children[scan->levels[scan->depth - 1].next++];
	*row = pfs_flame_row((int32) scan->depth, child.total, child.label, NULL);
	if (child.node != OTHER)
	{
		row->node = enter_node(scan, child.node);
		row->self = row->node->self;
		row->symbol = row->node->symbol;
	}
	return true;
}
