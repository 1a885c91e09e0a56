/*
 * stack_walk.c
 *		Walkers over the nodes of all dictionary partitions that stacks come to.
 *
 * 1. Stacks are added part by part (stack_part.h): those of a dictionary partition whose leaves
 *    stand in one shape. Filters drop some. Walkers begin at the root, at leaves, or at the
 *    outermost frame of a function (add_start).
 * 2. A walker gives the frames of its node's location one by one (pfs_stack_walk_next). Behind the
 *    last it goes on: root first, walkers of the children share its stacks (go_down); leaf first,
 *    it moves to the parent (go_up).
 * 3. A visit does without walkers: it goes from leaf to leaf, leaves the nodes that the next path
 *    has no more, and enters those that it adds (visit_part).
 */
#include "tree/stack_walk.h"

#include "miscadmin.h"

#include "base/arrays.h"
#include "base/memory_peak.h"
#include "tree/node_path.h"
#include "tree/stack_part.h"
#include "tree/stack_verdicts.h"

#define INITIAL_WALKERS 1024
#define INITIAL_PARTS	16

/* What the walk keeps of a stack: its leaf, and the sum of all before it. */
#define STACK_BYTES			(sizeof(uint32) + sizeof(PfsSides))
#define STACKS_SHARE(bytes) ((bytes) / 8 * 3)

/* Ages are (partition, index of the node). */
#define AGE_INDEX_BITS 32

typedef struct Walker
{
	uint64 age;
	uint32 next; /* in its list, or PFS_NO_WALKER */
	uint32 part;
	uint32 place;
	uint32 first; /* its stacks */
	uint32 end;
	uint32 passed; /* frames of the node's location that lie behind */
} Walker;

struct PfsStackWalk
{
	PfsSymbols *symbols;
	bool inverted;
	uint32 function;
	PfsStackPart *parts;
	uint32 part_count;
	uint32 part_capacity;
	int32 partition; /* of the last part */
	uint64 age;		 /* of it */
	bool continues;	 /* after a part whose stacks are forgotten, but perhaps not their partition */
	bool is_wide;	 /* some part is */
	bool has_names;	 /* those that were not cached have been loaded */
	Walker *walkers;
	uint32 walker_count;
	uint32 walker_capacity;
	uint32 start; /* what is being added; so the next */
	PfsWideSides start_total;
};

/* Names that are not cached are loaded for all stacks at once. */
static pg_noinline void
load_names(PfsStackWalk *walk)
{
	for (uint32 i = 0; i < walk->part_count; i++)
		pfs_node_paths_load_names(&walk->parts[i].shape, walk->parts[i].leaves,
								  walk->parts[i].stack_count);
	walk->has_names = true;
}

static inline PfsFrames
frames_of(PfsStackWalk *walk, int32 location)
{
	PfsFrames frames = { NULL, 0 };

	if (location == 0 || pfs_symbols_find(walk->symbols, location, &frames))
		return frames;
	if (!walk->has_names && !pfs_location_is_cached(location))
		load_names(walk);
	return pfs_symbols_frames(walk->symbols, location);
}

/*
 * Number of frames up to and with the function's first, counted in the direction of the walk; 0: it
 * has none.
 */
static uint32
passed_at_function(PfsStackWalk *walk, int32 location)
{
	PfsFrames frames = frames_of(walk, location);

	for (uint32 i = 0; i < frames.count; i++)
		if (frames.frames[i].symbol == walk->function)
			return walk->inverted ? frames.count - i : i + 1;
	return 0;
}

static uint32
append_walker(PfsStackWalk *walk, const Walker *walker)
{
	PFS_RESERVE(walk->walkers, walk->walker_capacity, (uint64) walk->walker_count + 1);
	walk->walkers[walk->walker_count] = *walker;
	return walk->walker_count++;
}

/* Begins a path at a node with some of its part's stacks, the last part. */
static void
add_start(PfsStackWalk *walk, uint32 place, uint32 first, uint32 end, uint32 passed)
{
	const PfsStackPart *part = &walk->parts[walk->part_count - 1];
	Walker walker = {
		.part = walk->part_count - 1, .place = place, .first = first, .end = end, .passed = passed
	};

	walker.age = part->age | part->shape.indexes[walk->inverted ? part->leaves[first] : place];
	pfs_stack_walk_link(walk, append_walker(walk, &walker), &walk->start);
	pfs_stack_part_add_sum(&walk->start_total, part, first, end);
}

/* Begins all paths of the last part at the function's outermost frame. */
static void
start_at_function(PfsStackWalk *walk)
{
	const PfsStackPart *part = &walk->parts[walk->part_count - 1];
	PfsNodePath path = pfs_node_path_begin(&part->shape);
	uint32 outermost = 0; /* depth of the node with that frame; 0: none */
	uint32 passed = 0;

	for (uint32 stack = 0; stack < part->stack_count; stack++)
	{
		bool is_new = false;

		CHECK_FOR_INTERRUPTS();
		pfs_node_path_go(&path, part->leaves[stack]);
		if (outermost > path.shared)
			outermost = 0;
		for (uint32 depth = path.shared; depth < path.depth && outermost == 0; depth++)
		{
			passed = passed_at_function(walk, part->shape.locations[path.places[depth]]);
			is_new = passed > 0;
			outermost = is_new ? depth + 1 : 0;
		}
		if (outermost == 0)
			continue;
		if (walk->inverted)
			add_start(walk, path.places[outermost - 1], stack, stack + 1, passed);
		else if (is_new)
		{
			uint32 place = path.places[outermost - 1];

			add_start(walk, place, stack,
					  pfs_stack_part_from(part, stack, part->stack_count, part->shape.ends[place]),
					  passed);
		}
	}
	pfree(path.places);
}

/* Keeps the stacks that pass as the walk's last part. */
static void
append_part(PfsStackWalk *walk, const PfsStackSubset *subset, const bool *passing)
{
	int32 partition = pfs_stack_partition(subset->stacks[0].stack_id);

	PFS_RESERVE(walk->parts, walk->part_capacity, (uint64) walk->part_count + 1);
	if (walk->partition != partition)
		walk->age += UINT64CONST(1) << AGE_INDEX_BITS;
	walk->partition = partition;
	walk->parts[walk->part_count] = pfs_stack_part_make(subset, passing, walk->age);
	walk->is_wide |= walk->parts[walk->part_count++].wide_before != NULL;
}

static void
start_part(PfsStackWalk *walk)
{
	const PfsStackPart *part = &walk->parts[walk->part_count - 1];

	if (part->stack_count == 0)
		return;
	if (walk->function != PFS_NO_SYMBOL)
		start_at_function(walk);
	else if (!walk->inverted)
		add_start(walk, 0, 0, part->stack_count, 0);
	else
		for (uint32 stack = 0; stack < part->stack_count; stack++)
			add_start(walk, part->leaves[stack], stack, stack + 1, 0);
}

PfsStackWalk *
pfs_stack_walk_create(PfsSymbols *symbols, bool inverted, uint32 function)
{
	PfsStackWalk *walk = palloc0(sizeof(PfsStackWalk));

	walk->symbols = symbols;
	walk->inverted = inverted;
	walk->function = function;
	walk->part_capacity = INITIAL_PARTS;
	walk->parts = PFS_ARRAY(PfsStackPart, INITIAL_PARTS);
	walk->walker_capacity = INITIAL_WALKERS;
	walk->walkers = PFS_ARRAY(Walker, INITIAL_WALKERS);
	return walk;
}

Size
pfs_stack_walk_room(bool inverted, uint32 function)
{
	Size bytes = STACK_BYTES;

	if (inverted || function != PFS_NO_SYMBOL)
		bytes += sizeof(Walker);
	return STACKS_SHARE(pfs_hash_memory_bytes()) / bytes;
}

void
pfs_stack_walk_add(PfsStackWalk *walk, const PfsStackSums *sums, uint32 *list, PfsWideSides *total)
{
	PfsStackSubsets subsets = pfs_stack_subsets_begin(sums, false);
	PfsStackSubset subset;

	walk->start = *list;
	walk->start_total = *total;
	if (!walk->continues && *list == PFS_NO_WALKER)
		walk->partition = -1;
	walk->continues = false;
	walk->has_names = false;
	while (pfs_stack_subsets_next(&subsets, &subset))
	{
		bool *passing = pfs_stacks_passing(&subset, walk->symbols);

		CHECK_FOR_INTERRUPTS();
		append_part(walk, &subset, passing);
		start_part(walk);
		pfree(subset.leaves);
		pfree(subset.order);
		if (passing != NULL)
			pfree(passing);
	}
	*list = walk->start;
	*total = walk->start_total;
}

void
pfs_stack_walk_clear(PfsStackWalk *walk)
{
	pfs_memory_look();
	walk->part_count = 0;
	walk->is_wide = false;
	walk->walker_count = 0;
	walk->continues = true;
}

void
pfs_stack_walk_link(PfsStackWalk *walk, uint32 walker, uint32 *list)
{
	walk->walkers[walker].next = *list;
	*list = walker;
}

bool
pfs_stack_walk_is_wide(const PfsStackWalk *walk)
{
	return walk->is_wide;
}

PfsWideSides
pfs_stack_walk_total(const PfsStackWalk *walk, uint32 list)
{
	PfsWideSides total = { 0, 0 };

	for (; list != PFS_NO_WALKER; list = walk->walkers[list].next)
	{
		const Walker *walker = &walk->walkers[list];

		pfs_stack_part_add_sum(&total, &walk->parts[walker->part], walker->first, walker->end);
	}
	return total;
}

uint32
pfs_stack_walk_mark(const PfsStackWalk *walk)
{
	return walk->walker_count;
}

void
pfs_stack_walk_release(PfsStackWalk *walk, uint32 mark)
{
	walk->walker_count = mark;
}

/*
 * The child of a node below which a leaf is, from some child on that does not lie behind it: along
 * the siblings and up from the leaf at once, since either way may be long.
 */
static inline uint32
child_towards(const PfsTreeShape *shape, uint32 node, uint32 child, uint32 leaf)
{
	uint32 above = leaf;

	while (leaf >= shape->ends[child])
	{
		if (shape->parents[above] == node)
			return above;
		above = shape->parents[above];
		child = shape->ends[child];
	}
	return child;
}

/*
 * A walker behind the last frame of its node: walkers of the children take over, the first of them
 * in its place.
 */
static void
go_down(PfsStackWalk *walk, uint32 at, uint32 *list, PfsWideSides *ended)
{
	const Walker walker = walk->walkers[at];
	const PfsStackPart *part = &walk->parts[walker.part];
	uint32 child = walker.place + 1;
	uint32 stack = walker.first;
	bool is_free = true;

	while (stack < walker.end && part->leaves[stack] == walker.place)
		stack++;
	pfs_stack_part_add_sum(ended, part, walker.first, stack);
	while (stack < walker.end)
	{
		Walker below = { .part = walker.part, .first = stack };

		child = child_towards(&part->shape, walker.place, child, part->leaves[stack]);
		below.place = child;
		below.age = part->age | part->shape.indexes[child];
		child = part->shape.ends[child];
		stack = below.end = pfs_stack_part_from(part, stack + 1, walker.end, child);
		if (is_free)
			walk->walkers[at] = below;
		pfs_stack_walk_link(walk, is_free ? at : append_walker(walk, &below), list);
		is_free = false;
	}
}

static void
go_up(PfsStackWalk *walk, uint32 at, uint32 *list, PfsWideSides *ended)
{
	Walker *walker = &walk->walkers[at];
	const PfsStackPart *part = &walk->parts[walker->part];

	if (walker->place == 0)
		pfs_stack_part_add_sum(ended, part, walker->first, walker->end);
	else
	{
		walker->place = part->shape.parents[walker->place];
		walker->passed = 0;
		pfs_stack_walk_link(walk, at, list);
	}
}

bool
pfs_stack_walk_next(PfsStackWalk *walk, uint32 *list, PfsStep *step, PfsWideSides *ended)
{
	while (*list != PFS_NO_WALKER)
	{
		uint32 at = *list;
		Walker *walker = &walk->walkers[at];
		const PfsStackPart *part = &walk->parts[walker->part];
		int32 location = part->shape.locations[walker->place];
		PfsFrames frames = frames_of(walk, location);

		*list = walker->next;
		if (walker->passed < frames.count)
		{
			uint32 frame = walk->inverted ? frames.count - 1 - walker->passed : walker->passed;

			walker->passed++;
			*step =
				(PfsStep){ at, walker->age, pfs_stack_part_sum(part, walker->first, walker->end),
						   location, frames.frames[frame] };
			return true;
		}
		if (walk->inverted)
			go_up(walk, at, list, ended);
		else
			go_down(walk, at, list, ended);
	}
	return false;
}

/* A node that a visit is at or below. */
typedef struct OpenNode
{
	uint32 first;  /* of its stacks */
	uint32 symbol; /* of the last frame on the path to it, its own included; PFS_NO_SYMBOL: none */
} OpenNode;

static void
visit_part(PfsStackWalk *walk, const PfsStackPart *part, const PfsFrameVisitor *visitor,
		   void *state)
{
	PfsNodePath path = pfs_node_path_begin(&part->shape);
	uint32 capacity = path.capacity;
	OpenNode *open = PFS_ARRAY(OpenNode, capacity + 1); /* by depth, the root first */

	open[0] = (OpenNode){ 0, PFS_NO_SYMBOL };
	for (uint32 stack = 0; stack <= part->stack_count; stack++)
	{
		uint32 depth = path.depth;
		uint32 shared = 0;

		CHECK_FOR_INTERRUPTS();
		/* nodes that are left have to be told before the path forgets them */
		if (stack < part->stack_count)
			for (shared = depth;
				 shared > 0 && part->leaves[stack] >= part->shape.ends[path.places[shared - 1]];)
				shared--;
		for (; depth > shared; depth--)
		{
			PfsFrames frames = frames_of(walk, part->shape.locations[path.places[depth - 1]]);
			PfsSides total = pfs_stack_part_sum(part, open[depth].first, stack);
			PfsWideSides wide;

			if (unlikely(part->wide_before != NULL))
				wide = pfs_stack_part_wide_sum(part, open[depth].first, stack);
			for (uint32 i = frames.count; i > 0; i--)
				visitor->leave(state, frames.frames[i - 1], total,
							   part->wide_before != NULL ? &wide : NULL);
		}
		if (stack == part->stack_count)
			break;
		pfs_node_path_go(&path, part->leaves[stack]);
		if (capacity < path.capacity)
		{
			open = repalloc_huge(open, ((Size) path.capacity + 1) * sizeof(OpenNode));
			capacity = path.capacity;
		}
		for (; depth < path.depth; depth++)
		{
			uint32 place = path.places[depth];
			int32 location = part->shape.locations[place];
			PfsFrames frames = frames_of(walk, location);

			open[depth + 1] = (OpenNode){ stack, open[depth].symbol };
			for (uint32 i = 0; i < frames.count; i++)
				visitor->enter(state, part->age | part->shape.indexes[place], location,
							   frames.frames[i]);
			if (frames.count > 0)
				open[depth + 1].symbol = frames.frames[frames.count - 1].symbol;
		}
		visitor->end(state, part->age | part->shape.indexes[part->leaves[stack]],
					 open[depth].symbol, pfs_stack_part_sum(part, stack, stack + 1));
	}
	pfree(open);
	pfree(path.places);
}

void
pfs_stack_walk_visit(PfsStackWalk *walk, const PfsFrameVisitor *visitor, void *state)
{
	for (uint32 i = 0; i < walk->part_count; i++)
		visit_part(walk, &walk->parts[i], visitor, state);
}
