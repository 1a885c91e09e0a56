/*
 * frame_tree.c
 *		From walkers, or from nodes in a file, to the merged tree.
 *
 * 1. A tree begins with its root. If the walkers of the stacks fit in work_mem, the root gets them;
 *    otherwise the stacks are sorted by path and become nodes in a file (frame_paths.h). Series by
 *    groups start with walkers and change to paths when they do not fit together
 *    (pfs_frame_tree_query_groups()).
 * 2. Expanding a node moves its walkers to the next frame, or reads its children from the file.
 *    Walkers that reach the same name meet in one child. It is found without a hash: it is the node
 *    last made with that name, if it was made during this expansion (add_step()).
 * 3. Users of nodes release them (pfs_frame_tree_release()), or retain some of a file's.
 */
#include "tree/frame_tree.h"

#include "miscadmin.h"

#include "base/arrays.h"
#include "base/memory_peak.h"
#include "dictionary/cache/dictionary.h"
#include "select/selection.h"
#include "tree/frame_paths.h"

#define INITIAL_NODES 1024

static uint32
tree_append_node(PfsFrameTree *tree, const PfsFrameNode *node)
{
	PFS_RESERVE(tree->nodes, tree->capacity, (uint64) tree->count + 1);
	tree->nodes[tree->count] = *node;
	return tree->count++;
}

/* Enlarges the array latest, because new symbols are made as frames are met. */
static pg_noinline void
grow_latest(PfsFrameTree *tree)
{
	uint32 known = tree->latest_count;

	PFS_RESERVE(tree->latest, tree->latest_count, pfs_symbol_count(tree->symbols));
	/* 0 is the root, which is not the child of any node. */
	memset(tree->latest + known, 0, (Size) (tree->latest_count - known) * sizeof(uint32));
}

/*
 * Adds a step of the walk to the parent's child of the same name; makes the child if there is none
 * yet. The child's source is that of the oldest step. All children of a parent are made one after
 * another, so tree->latest finds the child without a search.
 */
static void
add_step(PfsFrameTree *tree, uint32 parent, uint32 first_child, const PfsStep *step)
{
	uint32 symbol = step->frame.symbol;
	uint32 index;
	PfsFrameNode *node;

	if (symbol >= tree->latest_count)
		grow_latest(tree);
	index = tree->latest[symbol];
	/*
	 * latest may name a node of another parent, or one that was released; neither is a child made
	 * in this expansion.
	 */
	if (index < first_child || index >= tree->count || tree->nodes[index].symbol != symbol)
	{
		const PfsFrameNode new_node = {
			.parent = parent, .symbol = symbol, .oldest = PG_UINT64_MAX, .walkers = PFS_NO_WALKER
		};

		index = tree->latest[symbol] = tree_append_node(tree, &new_node);
	}
	node = &tree->nodes[index];
	/* The wrapped total is wrong until correct_totals() replaces it. */
	if (unlikely(__builtin_add_overflow(node->total.value, step->total.value, &node->total.value)))
		tree->exceeds = true;
	if (unlikely(__builtin_add_overflow(node->total.base, step->total.base, &node->total.base)))
		tree->exceeds = true;
	/*
	 * The oldest step decides, so that the source shown does not depend on the order of the walk.
	 */
	if (step->age < node->oldest)
	{
		node->oldest = step->age;
		node->location = step->location;
		node->line = step->frame.line;
	}
	pfs_stack_walk_link(tree->walk, step->walker, &node->walkers);
}

/* Computes the totals of new nodes from their walkers, after an addition has overflowed. */
static pg_noinline void
correct_totals(PfsFrameTree *tree, uint32 first)
{
	for (uint32 node = first; node < tree->count; node++)
	{
		PfsWideSides total = pfs_stack_walk_total(tree->walk, tree->nodes[node].walkers);

		/* A total beyond int8 is shown clipped, and counted as a doubt. */
		tree->nodes[node].total = pfs_clip_sides(&total);
	}
	tree->exceeds = false;
}

/*
 * Reads the children of a node from the file. In the file each child stands after all nodes below
 * it, and all children before their parent, so the last child is read first.
 */
static void
expand_from_file(PfsFrameTree *tree, uint32 node)
{
	uint32 number = tree->nodes[node].walkers;
	PfsFileNode stored = pfs_frame_file_get(tree->file, number);
	/* size counts the node itself and all nodes below it. */
	uint32 left = stored.size - 1;
	uint32 first_child = tree->count;

	CHECK_FOR_INTERRUPTS();
	tree->nodes[node].self = stored.self;
	while (left > 0)
	{
		PfsFrameNode child = { .parent = node };

		number--;
		stored = pfs_frame_file_get(tree->file, number);
		child.symbol = stored.symbol;
		child.location = stored.location;
		child.line = stored.line;
		child.oldest = stored.oldest;
		child.walkers = number;
		child.total = stored.total;
		tree_append_node(tree, &child);
		/*
		 * The nodes below this child lie before it; the next one is the last node of the child
		 * before.
		 */
		number -= stored.size - 1;
		left -= stored.size;
	}
	tree->nodes[node].walkers = PFS_NO_WALKER;
	tree->nodes[node].first_child = first_child;
	tree->nodes[node].child_count = tree->count - first_child;
}

void
pfs_frame_tree_expand(PfsFrameTree *tree, uint32 node)
{
	uint32 walkers = tree->nodes[node].walkers;
	/*
	 * Neighbouring frames of one name are one node, so walkers stay in it until they reach another
	 * name.
	 */
	uint32 same = tree->folding ? tree->nodes[node].symbol : PFS_NO_SYMBOL;
	uint32 first_child = tree->count;
	PfsWideSides self = { 0, 0 };
	PfsStep step;

	/* The node is expanded already, or has no stacks. */
	if (walkers == PFS_NO_WALKER)
		return;
	if (tree->file != NULL)
	{
		expand_from_file(tree, node);
		return;
	}
	CHECK_FOR_INTERRUPTS();
	while (pfs_stack_walk_next(tree->walk, &walkers, &step, &self))
	{
		if (step.frame.symbol == same)
			/* The walker goes back to the list that is being read, and moves on. */
			pfs_stack_walk_link(tree->walk, step.walker, &walkers);
		else
			add_step(tree, node, first_child, &step);
	}
	if (tree->exceeds || pfs_stack_walk_is_wide(tree->walk))
		correct_totals(tree, first_child);
	tree->nodes[node].walkers = PFS_NO_WALKER;
	tree->nodes[node].first_child = first_child;
	tree->nodes[node].child_count = tree->count - first_child;
	tree->nodes[node].self = pfs_clip_sides(&self);
}

/*
 * Removes nodes without changing the order of the others, so that parents come before their
 * children, and siblings are neighbours.
 */
void
pfs_frame_tree_retain(PfsFrameTree *tree, const bool *stays, uint32 *places)
{
	uint32 count = 0;

	for (uint32 i = 0; i < tree->count; i++)
	{
		PfsFrameNode *node = &tree->nodes[count];

		if (!stays[i])
			continue;
		/* A parent comes before its children, so its new place is known when they are reached. */
		places[i] = count;
		*node = tree->nodes[i];
		node->child_count = 0;
		if (i > 0)
		{
			PfsFrameNode *parent = &tree->nodes[places[node->parent]];

			node->parent = places[node->parent];
			/* The first child that stays; the others follow it. */
			if (parent->child_count++ == 0)
				parent->first_child = count;
		}
		count++;
	}
	tree->count = count;
}

PfsFrameMark
pfs_frame_tree_mark(const PfsFrameTree *tree)
{
	return (PfsFrameMark){ tree->count, pfs_stack_walk_mark(tree->walk) };
}

void
pfs_frame_tree_release(PfsFrameTree *tree, PfsFrameMark mark)
{
	tree->count = mark.node_count;
	pfs_stack_walk_release(tree->walk, mark.walker_count);
}

static PfsFrameTree *
create_tree(const PfsFilters *filters)
{
	PfsFrameTree *tree = palloc0(sizeof(PfsFrameTree));

	tree->folding = pfs_filters_fold(filters);
	pfs_dictionary_begin();
	tree->symbols = pfs_symbols_create(filters);
	tree->capacity = INITIAL_NODES;
	tree->nodes = PFS_ARRAY(PfsFrameNode, tree->capacity);
	return tree;
}

/*
 * Writes the added paths to a file, from which the tree then reads nodes, and makes root the file's
 * root.
 */
static void
take_file(PfsFrameTree *tree, PfsFramePaths *paths, PfsFrameNode *root)
{
	tree->file = pfs_frame_paths_finish(paths);
	/* In a tree with a file, the field walkers holds the number of a node in the file. */
	root->walkers = pfs_frame_file_root(tree->file);
	root->total = pfs_frame_file_get(tree->file, root->walkers).total;
}

/* The stacks of groups, in memory as long as they fit. Afterwards all of them are paths. */
typedef struct GroupStacks
{
	PfsStackSums *sums; /* one for each group that was read: its sums */
	uint32 *symbols;
	uint64 room;		  /* number of further stacks for which there is memory */
	PfsFramePaths *paths; /* NULL as long as all stacks fit in memory */
} GroupStacks;

/* Copies the stacks of a group; returns false if they do not fit. */
static bool
copy_group(GroupStacks *groups, int32 group, PfsStackStream *stream)
{
	PfsStackSums part;

	if (!pfs_stack_stream_is_whole(stream))
		return false;
	pfs_stack_stream_next(stream, &part);
	/* If the stacks do not fit, the caller reads the stream again. */
	pfs_stack_stream_rewind(stream);
	if (part.count > groups->room)
		return false;
	groups->room -= part.count;
	groups->sums[group] = (PfsStackSums){ part.count, PFS_ARRAY(PfsStackSum, part.count) };
	memcpy(groups->sums[group].sums, part.sums, part.count * sizeof(PfsStackSum));
	return true;
}

/*
 * Changes from stacks in memory to paths: begins the paths with the stacks of the groups that were
 * copied.
 */
static void
turn_to_paths(PfsFrameTree *tree, GroupStacks *groups, int32 count, bool inverted)
{
	groups->paths = pfs_frame_paths_begin(tree->symbols, inverted, PFS_NO_SYMBOL, tree->folding);
	for (int32 i = 0; i < count; i++)
	{
		PfsStackStream *stream = pfs_stack_stream_of(&groups->sums[i]);

		pfs_frame_paths_add(groups->paths, stream, groups->symbols[i]);
		pfs_stack_stream_end(stream);
		pfree(groups->sums[i].sums);
	}
}

/* Appends a node for each group with stacks that pass. */
static void
append_groups(PfsFrameTree *tree, GroupStacks *groups, int32 count, PfsFrameNode *root)
{
	PfsWideSides whole = { 0, 0 };

	for (int32 i = 0; i < count; i++)
	{
		PfsFrameNode node = { .symbol = groups->symbols[i],
							  .oldest = (uint64) i,
							  .walkers = PFS_NO_WALKER };
		PfsWideSides total = { 0, 0 };

		pfs_stack_walk_add(tree->walk, &groups->sums[i], &node.walkers, &total);
		pfree(groups->sums[i].sums);
		/* The filters have dropped all stacks of the group. */
		if (node.walkers == PFS_NO_WALKER)
			continue;
		node.total = pfs_clip_sides(&total);
		tree_append_node(tree, &node);
		pfs_add_wide_sides(&whole, &total);
	}
	root->total = pfs_clip_sides(&whole);
	/* The nodes of the groups follow the root. */
	root->first_child = 1;
	root->child_count = tree->count - 1;
}

PfsFrameTree *
pfs_frame_tree_query_groups(const PfsStackGroup *groups, int32 count, const PfsFilters *filters,
							bool inverted)
{
	PfsFrameTree *tree = create_tree(filters);
	PfsFrameNode root = { .symbol = PFS_NO_SYMBOL, .walkers = PFS_NO_WALKER };
	GroupStacks stacks = { PFS_ARRAY0(PfsStackSums, count), PFS_ARRAY(uint32, count),
						   pfs_stack_stream_room(), NULL };

	tree->walk = pfs_stack_walk_create(tree->symbols, inverted, PFS_NO_SYMBOL);
	tree_append_node(tree, &root);
	for (int32 i = 0; i < count; i++)
	{
		PfsStackStream *stream = pfs_stack_stream_begin(groups[i].selection);

		stacks.symbols[i] = pfs_symbol_intern(tree->symbols, groups[i].name);
		/* From the first group that does not fit on, all groups are paths. */
		if (stacks.paths == NULL && !copy_group(&stacks, i, stream))
			turn_to_paths(tree, &stacks, i, inverted);
		if (stacks.paths != NULL)
			pfs_frame_paths_add(stacks.paths, stream, stacks.symbols[i]);
		pfs_stack_stream_end(stream);
	}
	if (stacks.paths != NULL)
		take_file(tree, stacks.paths, &root);
	else
		append_groups(tree, &stacks, count, &root);
	/* Slot 0 was taken before the groups' nodes were appended. */
	tree->nodes[0] = root;
	return tree;
}

/*
 * Returns true if walkers of all stacks fit in work_mem. The stacks themselves need more memory, so
 * they are read in several parts. Leaves the stream at its beginning.
 */
static bool
walkers_fit(PfsStackStream *stream, bool inverted, uint32 function)
{
	Size count = 0;
	PfsStackSums part;

	/* The stream is read twice, so its parts are copied to a file. */
	pfs_stack_stream_keep(stream);
	while (pfs_stack_stream_next(stream, &part))
		count += part.count;
	pfs_stack_stream_rewind(stream);
	return count <= pfs_stack_walk_room(inverted, function);
}

PfsFrameTree *
pfs_frame_tree_build(PfsStackStream *stream, const PfsFilters *filters, bool inverted,
					 const char *function)
{
	PfsFrameTree *tree = create_tree(filters);
	PfsFrameNode root = { .symbol = PFS_NO_SYMBOL, .walkers = PFS_NO_WALKER };
	PfsStackSums sums;
	PfsWideSides total = { 0, 0 };

	if (function != NULL)
		root.symbol = pfs_symbol_intern(tree->symbols, function);
	tree->walk = pfs_stack_walk_create(tree->symbols, inverted, root.symbol);
	if (!pfs_stack_stream_is_whole(stream) && !walkers_fit(stream, inverted, root.symbol))
	{
		PfsFramePaths *paths =
			pfs_frame_paths_begin(tree->symbols, inverted, root.symbol, tree->folding);

		pfs_frame_paths_add(paths, stream, PFS_NO_SYMBOL);
		take_file(tree, paths, &root);
	}
	else
	{
		while (pfs_stack_stream_next(stream, &sums))
			pfs_stack_walk_add(tree->walk, &sums, &root.walkers, &total);
		root.total = pfs_clip_sides(&total);
	}
	tree_append_node(tree, &root);
	return tree;
}

PfsFrameTree *
pfs_frame_tree_take(PfsStackStream *stream, const PfsFilters *filters, bool inverted)
{
	PfsFrameTree *tree = pfs_frame_tree_build(stream, filters, inverted, NULL);

	pfs_stack_stream_end(stream);
	return tree;
}

bool
pfs_frame_tree_is_empty(const PfsFrameTree *tree)
{
	const PfsFrameNode *root = &tree->nodes[0];

	if (root->total.value != 0 || root->total.base != 0)
		return false;
	if (tree->file != NULL)
		/* The root alone: no path was put. */
		return pfs_frame_file_get(tree->file, root->walkers).size == 1;
	return root->walkers == PFS_NO_WALKER && root->child_count == 0;
}

void
pfs_frame_tree_close(PfsFrameTree *tree)
{
	pfs_memory_look();
	if (tree->file != NULL)
		pfs_frame_file_end(tree->file);
	tree->file = NULL;
}
