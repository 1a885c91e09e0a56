/*
 * stack_walk.c
 *		Walkers over the touched nodes of all dictionary partitions.
 */
#include "query/stack_walk.h"

#include "miscadmin.h"
#include "query/allocate.h"
#include "query/touched.h"
#include "utils/memutils.h"

#define NO_NODE		  0 /* node 0 is a partition's root, so nobody's child */
#define INITIAL_NODES 1024

/* A touched node; those of a partition are neighbours, its root first. */
typedef struct StackNode
{
	uint32 parent;	/* a root's is itself */
	int32 location; /* 0 for a root */
	uint32 child;	/* the first of those on a passing stack, or NO_NODE; root first only */
	uint32 sibling; /* the parent's next child, or NO_NODE */
} StackNode;

typedef struct Walker
{
	PfsSides total;
	uint32 next;   /* in its list, or PFS_NO_WALKER */
	uint32 node;   /* root first: its own index */
	uint32 passed; /* frames of the node's location that lie behind */
} Walker;

struct PfsStackWalk
{
	PfsSymbols *symbols;
	bool inverted;
	uint32 function;
	StackNode *nodes;
	uint32 node_count;
	uint32 node_capacity;
	Walker *walkers;
	uint32 walker_count;
	uint32 walker_capacity;
	uint32 start; /* what is being added; so the next */
	PfsSides start_total;
};

/* Makes room for more elements; returns the array, moved or not. */
static void *
reserve(void *array, uint64 count, uint32 *capacity, Size element_bytes)
{
	uint64 new_capacity = *capacity;

	if (count <= *capacity)
		return array;
	if (count > PG_UINT32_MAX / 2)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
						errmsg("query touches too many stack nodes"),
						errhint("Take a shorter time range or fewer series.")));
	while (new_capacity < count)
		new_capacity *= 2;
	*capacity = (uint32) new_capacity;
	return repalloc_huge(array, (Size) new_capacity * element_bytes);
}

static PfsFrames
frames_of(const PfsStackWalk *walk, uint32 node)
{
	static const PfsFrames none = { NULL, 0, false, false };
	int32 location = walk->nodes[node].location;

	return location == 0 ? none : pfs_symbols_frames(walk->symbols, location);
}

/* Appends the touched nodes; returns the index of the first. */
static uint32
append_nodes(PfsStackWalk *walk, const PfsTouched *touched)
{
	uint32 first = walk->node_count;

	walk->nodes = reserve(walk->nodes, (uint64) first + touched->count, &walk->node_capacity,
						  sizeof(StackNode));
	for (uint32 i = 0; i < touched->count; i++)
		walk->nodes[first + i] =
			(StackNode){ first + touched->parents[i], i == 0 ? 0 : touched->locations[i], NO_NODE,
						 NO_NODE };
	walk->node_count += touched->count;
	return first;
}

static Walker *
append_walkers(PfsStackWalk *walk, uint32 count)
{
	uint32 first = walk->walker_count;

	walk->walkers =
		reserve(walk->walkers, (uint64) first + count, &walk->walker_capacity, sizeof(Walker));
	walk->walker_count += count;
	return &walk->walkers[first];
}

static void
add_start(PfsStackWalk *walk, uint32 walker)
{
	pfs_stack_walk_link(walk, walker, &walk->start);
	walk->start_total = pfs_add_sides(walk->start_total, walk->walkers[walker].total);
}

/*
 * For each touched node the position of the outermost node with a frame of the function, on the way from the root; 0
 * where there is none.
 */
static uint32 *
find_outermost(const PfsStackWalk *walk, uint32 first_node, uint32 count)
{
	uint32 *outermost = PFS_ARRAY0(uint32, count);

	for (uint32 i = 1; i < count; i++)
	{
		PfsFrames frames = frames_of(walk, first_node + i);

		outermost[i] = outermost[walk->nodes[first_node + i].parent - first_node];
		for (uint32 j = 0; j < frames.count && outermost[i] == 0; j++)
		{
			if (frames.frames[j].symbol == walk->function)
				outermost[i] = i;
		}
	}
	return outermost;
}

/* Number of frames up to and with the function's first, counted in the direction of the walk. */
static uint32
passed_at_function(const PfsStackWalk *walk, uint32 node)
{
	PfsFrames frames = frames_of(walk, node);
	uint32 at = 0;

	while (frames.frames[at].symbol != walk->function)
		at++;
	return walk->inverted ? frames.count - at : at + 1;
}

/*
 * One walker per node: totals flow to the root, nodes on passing stacks become children.
 */
static void
add_root_first(PfsStackWalk *walk, const PfsTouched *touched, const bool *passing)
{
	uint32 first = append_nodes(walk, touched);
	Walker *walkers = append_walkers(walk, touched->count);
	StackNode *nodes = walk->nodes + first;
	bool *live = PFS_ARRAY0(bool, touched->count);

	for (uint32 i = 0; i < touched->count; i++)
		walkers[i] = (Walker){ .next = PFS_NO_WALKER, .node = first + i };
	for (uint32 i = 0; i < touched->stack_count; i++)
	{
		uint32 leaf = touched->leaves[i];

		if (passing != NULL && !passing[i])
			continue;
		live[leaf] = true;
		walkers[leaf].total = pfs_add_sides(walkers[leaf].total, touched->stacks[i].sides);
	}
	for (uint32 i = touched->count - 1; i > 0; i--)
	{
		uint32 parent = touched->parents[i];

		if (!live[i])
			continue;
		live[parent] = true;
		walkers[parent].total = pfs_add_sides(walkers[parent].total, walkers[i].total);
		nodes[i].sibling = nodes[parent].child;
		nodes[parent].child = first + i;
	}
	if (walk->function == PFS_NO_SYMBOL)
		add_start(walk, first);
	else
	{
		uint32 *outermost = find_outermost(walk, first, touched->count);

		for (uint32 i = 1; i < touched->count; i++)
		{
			if (!live[i] || outermost[i] != i)
				continue;
			walkers[i].passed = passed_at_function(walk, first + i);
			add_start(walk, first + i);
		}
		pfree(outermost);
	}
	pfree(live);
}

/*
 * One walker per stack.
 */
static void
add_leaf_first(PfsStackWalk *walk, const PfsTouched *touched, const bool *passing)
{
	uint32 first = append_nodes(walk, touched);
	uint32 first_walker = walk->walker_count;
	Walker *walkers = append_walkers(walk, touched->stack_count);
	uint32 *outermost =
		walk->function == PFS_NO_SYMBOL ? NULL : find_outermost(walk, first, touched->count);

	for (uint32 i = 0; i < touched->stack_count; i++)
	{
		uint32 at = outermost == NULL ? touched->leaves[i] : outermost[touched->leaves[i]];

		walkers[i] = (Walker){ touched->stacks[i].sides, PFS_NO_WALKER, first + at, 0 };
		if ((passing != NULL && !passing[i]) || (outermost != NULL && at == 0))
			continue;
		if (outermost != NULL)
			walkers[i].passed = passed_at_function(walk, first + at);
		add_start(walk, first_walker + i);
	}
	if (outermost != NULL)
		pfree(outermost);
}

PfsStackWalk *
pfs_stack_walk_create(PfsSymbols *symbols, bool inverted, uint32 function)
{
	PfsStackWalk *walk = palloc0(sizeof(PfsStackWalk));

	walk->symbols = symbols;
	walk->inverted = inverted;
	walk->function = function;
	walk->node_capacity = walk->walker_capacity = INITIAL_NODES;
	walk->nodes = PFS_ARRAY(StackNode, INITIAL_NODES);
	walk->walkers = PFS_ARRAY(Walker, INITIAL_NODES);
	return walk;
}

uint32
pfs_stack_walk_add(PfsStackWalk *walk, const PfsStackSums *sums, PfsSides *total)
{
	MemoryContext caller = CurrentMemoryContext;
	MemoryContext context =
		AllocSetContextCreate(caller, "profstore partition", ALLOCSET_DEFAULT_SIZES);
	PfsTouched touched;
	uint32 next = 0;

	walk->start = PFS_NO_WALKER;
	walk->start_total = (PfsSides){ 0, 0 };
	MemoryContextSwitchTo(context);
	while (pfs_touched_next(sums, &next, &touched))
	{
		const bool *passing = pfs_touched_passing(&touched, walk->symbols);

		CHECK_FOR_INTERRUPTS();
		if (walk->inverted)
			add_leaf_first(walk, &touched, passing);
		else
			add_root_first(walk, &touched, passing);
		MemoryContextReset(context);
	}
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
	*total = walk->start_total;
	return walk->start;
}

void
pfs_stack_walk_link(PfsStackWalk *walk, uint32 walker, uint32 *list)
{
	walk->walkers[walker].next = *list;
	*list = walker;
}

/*
 * A walker behind the last frame of its node: the children's walkers take over.
 */
static void
go_down(PfsStackWalk *walk, const Walker *walker, uint32 *list, PfsSides *ended)
{
	PfsSides own = walker->total;

	for (uint32 child = walk->nodes[walker->node].child; child != NO_NODE;
		 child = walk->nodes[child].sibling)
	{
		own = pfs_subtract_sides(own, walk->walkers[child].total);
		pfs_stack_walk_link(walk, child, list);
	}
	*ended = pfs_add_sides(*ended, own);
}

static void
go_up(PfsStackWalk *walk, Walker *walker, uint32 *list, PfsSides *ended)
{
	uint32 parent = walk->nodes[walker->node].parent;

	if (parent == walker->node)
		*ended = pfs_add_sides(*ended, walker->total);
	else
	{
		walker->node = parent;
		walker->passed = 0;
		pfs_stack_walk_link(walk, (uint32) (walker - walk->walkers), list);
	}
}

bool
pfs_stack_walk_next(PfsStackWalk *walk, uint32 *list, PfsStep *step, PfsSides *ended)
{
	while (*list != PFS_NO_WALKER)
	{
		Walker *walker = &walk->walkers[*list];
		PfsFrames frames = frames_of(walk, walker->node);

		step->walker = *list;
		*list = walker->next;
		if (walker->passed < frames.count)
		{
			uint32 at = walk->inverted ? frames.count - 1 - walker->passed : walker->passed;

			walker->passed++;
			step->total = walker->total;
			step->location = walk->nodes[walker->node].location;
			step->frame = frames.frames[at];
			return true;
		}
		if (walk->inverted)
			go_up(walk, walker, list, ended);
		else
			go_down(walk, walker, list, ended);
	}
	return false;
}
