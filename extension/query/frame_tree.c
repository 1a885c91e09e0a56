/*
 * frame_tree.c
 *		From sums per stack to the merged tree.
 *
 * 1. Per dictionary partition: touched nodes, their frames, and which stacks the filters let pass (touched.c).
 * 2. Live nodes, those below which a passing stack ends, become frame nodes, parents first; a child is found by the
 *	  hash of (parent, symbol). An inverted tree walks each stack from its leaf instead.
 * 3. One backward pass over the frame nodes turns self values into totals.
 */
#include "query/frame_tree.h"

#include "dictionary/dictionary.h"
#include "miscadmin.h"
#include "query/allocate.h"
#include "query/hash.h"
#include "query/selection.h"
#include "query/touched.h"
#include "utils/memutils.h"

/* The first guess at the size of a tree, from the number of its stacks. */
#define MIN_NODES		1024
#define NODES_PER_STACK 8

/* Stacks between two looks at interrupts, in loops that walk whole stacks. */
#define STACKS_PER_CHECK 4096

typedef struct ChildEntry
{
	uint64 key; /* parent << 32 | symbol */
	uint32 node;
	char status;
} ChildEntry;

#define SH_PREFIX		   child_table
#define SH_ELEMENT_TYPE	   ChildEntry
#define SH_KEY_TYPE		   uint64
#define SH_KEY			   key
#define SH_HASH_KEY(tb, k) pfs_hash64(k)
#define SH_EQUAL(tb, a, b) ((a) == (b))
#define SH_SCOPE		   static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

typedef struct Builder
{
	PfsFrameTree *tree;
	child_table_hash *children;
} Builder;

static uint32
append_node(PfsFrameTree *tree, const PfsFrameNode *node)
{
	if (tree->count == tree->capacity)
	{
		if (tree->capacity > PG_UINT32_MAX / 2)
			ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
							errmsg("flame graph has too many nodes")));
		tree->capacity *= 2;
		tree->nodes = repalloc_huge(tree->nodes, tree->capacity * sizeof(PfsFrameNode));
	}
	tree->nodes[tree->count] = *node;
	return tree->count++;
}

static uint32
find_child(Builder *builder, uint32 parent, const PfsFrame *frame, int32 location)
{
	bool found;
	ChildEntry *entry =
		child_table_insert(builder->children, (uint64) parent << 32 | frame->symbol, &found);

	if (!found)
	{
		PfsFrameNode node = { parent, frame->symbol, location, frame->line, 0, 0 };

		entry->node = append_node(builder->tree, &node);
	}
	return entry->node;
}

static void
add_self(Builder *builder, uint32 node, int64 value)
{
	int64 *self = &builder->tree->nodes[node].self;

	*self = pfs_add_values(*self, value);
}

/*
 * Which touched nodes lie on a passing stack. NULL: all.
 */
static bool *
find_live(const PfsTouched *touched, const bool *passing)
{
	bool *live;

	if (passing == NULL)
		return NULL;
	live = PFS_ARRAY0(bool, touched->count);
	for (uint32 i = 0; i < touched->stack_count; i++)
	{
		if (passing[i])
			live[touched->leaves[i]] = true;
	}
	for (uint32 i = touched->count - 1; i > 0; i--)
	{
		if (live[i])
			live[touched->parents[i]] = true;
	}
	return live;
}

static void
add_root_first(Builder *builder, const PfsTouched *touched, const bool *passing)
{
	const bool *live = find_live(touched, passing);
	uint32 *nodes = PFS_ARRAY(uint32, touched->count);

	nodes[0] = 0;
	for (uint32 i = 1; i < touched->count; i++)
	{
		PfsFrames frames;
		uint32 node;

		if (live != NULL && !live[i])
			continue;
		node = nodes[touched->parents[i]];
		frames = pfs_symbols_frames(builder->tree->symbols, touched->locations[i]);
		for (uint32 j = 0; j < frames.count; j++)
			node = find_child(builder, node, &frames.frames[j], touched->locations[i]);
		nodes[i] = node;
	}
	for (uint32 i = 0; i < touched->stack_count; i++)
	{
		if (passing == NULL || passing[i])
			add_self(builder, nodes[touched->leaves[i]], touched->stacks[i].value);
	}
}

static void
add_leaf_first(Builder *builder, const PfsTouched *touched, const bool *passing)
{
	for (uint32 i = 0; i < touched->stack_count; i++)
	{
		uint32 node = 0;

		if (i % STACKS_PER_CHECK == 0)
			CHECK_FOR_INTERRUPTS();
		if (passing != NULL && !passing[i])
			continue;
		for (uint32 at = touched->leaves[i]; at != 0; at = touched->parents[at])
		{
			PfsFrames frames = pfs_symbols_frames(builder->tree->symbols, touched->locations[at]);

			for (uint32 j = frames.count; j > 0; j--)
				node = find_child(builder, node, &frames.frames[j - 1], touched->locations[at]);
		}
		add_self(builder, node, touched->stacks[i].value);
	}
}

static void
sum_totals(PfsFrameTree *tree)
{
	for (uint32 i = 0; i < tree->count; i++)
		tree->nodes[i].total = tree->nodes[i].self;
	for (uint32 i = tree->count - 1; i > 0; i--)
	{
		int64 *parent_total = &tree->nodes[tree->nodes[i].parent].total;

		*parent_total = pfs_add_values(*parent_total, tree->nodes[i].total);
	}
}

PfsFrameTree *
pfs_frame_tree_build(const PfsStackSums *sums, PfsSymbols *symbols, bool inverted)
{
	static const PfsFrameNode root = { 0 };
	PfsFrameTree *tree = palloc0(sizeof(PfsFrameTree));
	Builder builder = { .tree = tree };
	MemoryContext caller = CurrentMemoryContext;
	MemoryContext context =
		AllocSetContextCreate(caller, "profstore partition", ALLOCSET_DEFAULT_SIZES);
	PfsTouched touched;
	uint32 next = 0;

	tree->symbols = symbols;
	tree->capacity =
		Max(MIN_NODES, Min(sums->count, PG_UINT32_MAX / 4 / NODES_PER_STACK) * NODES_PER_STACK);
	tree->nodes = PFS_ARRAY(PfsFrameNode, tree->capacity);
	builder.children = child_table_create(CurrentMemoryContext, tree->capacity, NULL);
	append_node(tree, &root);
	MemoryContextSwitchTo(context);
	while (pfs_touched_next(sums, &next, &touched))
	{
		const bool *passing = pfs_touched_passing(&touched, symbols);

		CHECK_FOR_INTERRUPTS();
		if (inverted)
			add_leaf_first(&builder, &touched, passing);
		else
			add_root_first(&builder, &touched, passing);
		MemoryContextReset(context);
	}
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
	child_table_destroy(builder.children);
	sum_totals(tree);
	return tree;
}

PfsFrameTree *
pfs_frame_tree_query(const PfsSelection *selection, const PfsFilters *filters, bool inverted)
{
	PfsStackSums sums = pfs_stack_sums(selection);

	pfs_dictionary_begin();
	return pfs_frame_tree_build(&sums, pfs_symbols_create(filters), inverted);
}

static const char *
known(const char *text)
{
	return *text == '\0' ? NULL : text;
}

PfsFrameSource
pfs_frame_source(const PfsFrameNode *node)
{
	PfsFrameSource source = { NULL, 0, NULL };
	const PfsLocation *location;

	if (node->location == 0)
		return source;
	location = pfs_location_get(node->location);
	source.binary = known(pfs_mapping_get(location->mapping_id)->file);
	if (location->line_count > 0)
	{
		const PfsLine *line = &location->lines[node->line];
		const PfsFunction *function = pfs_function_get(line->function_id);

		source.file = known(function->filename);
		source.line = function->start_line > 0 ? function->start_line : line->line;
	}
	return source;
}
