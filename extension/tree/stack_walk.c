/*
 * stack_walk.c
 *		Walkers over the nodes of all dictionary partitions of the stacks.
 *
 * 1. Stacks are added part by part (StackPart): those of a dictionary partition whose leaves are in
 *    one shape. Filters drop some. Walkers begin at the root, at leaves, or at the outermost frame
 *    of a function (add_start()).
 * 2. A walker returns the frames of its node's location one by one (pfs_stack_walk_next()). After
 *    the last one it moves on: from the root, walkers of the children divide its stacks
 *    (go_down()); from the leaf, it moves to the parent (go_up()).
 * 3. A visit needs no walkers: it goes from leaf to leaf, leaves the nodes that are not on the next
 *    path, and enters the new ones (visit_part()).
 */
#include "tree/stack_walk.h"

#include "common/int.h"
#include "miscadmin.h"

#include "base/arrays.h"
#include "base/memory_peak.h"
#include "base/sides.h"
#include "tree/node_path.h"
#include "tree/stack_subset.h"
#include "tree/stack_verdicts.h"

#define INITIAL_WALKERS 1024
#define INITIAL_PARTS	16

/* Bytes that a stack uses in a walk: its leaf, and the sum of all stacks before it. */
#define STACK_BYTES			(sizeof(uint32) + sizeof(PfsSides))
#define STACKS_SHARE(bytes) ((bytes) / 8 * 3)

/* An age is the number of the partition, and in the lower bits the index of the node. */
#define AGE_INDEX_BITS 32

/* --- parts --- */

/*
 * All or some stacks of a dictionary partition, sorted by the places of their leaves, and running
 * sums over them. Stacks below a node are neighbours. The arrays live in the context that was
 * current at creation; the leaves belong to the subset.
 */
typedef struct StackPart
{
	PfsTreeShape shape;
	/* age of the first node of the partition; a node's age adds its index to this one */
	uint64 age;
	uint32 stack_count;
	uint32 *leaves; /* ascending */
	/* for each stack, the sum of the stacks before it, and one element more for all; modulo 2^64 */
	PfsSides *before;
	PfsWideSides *wide_before; /* exact sums for before[]; NULL if all sums fit int8 */
} StackPart;

/* Computes exact running sums. */
static void
stack_part_make_wide(StackPart *part)
{
	PfsWideSides sum = { 0, 0 };

	part->wide_before = PFS_ARRAY(PfsWideSides, (Size) part->stack_count + 1);
	for (uint32 stack = 0; stack < part->stack_count; stack++)
	{
		/*
		 * Each stack's own value is exact modulo 2^64 and fits int8; only sums of several may not.
		 */
		part->wide_before[stack] = sum;
		pfs_add_sides(&sum, pfs_subtract_sides(part->before[stack + 1], part->before[stack]));
	}
	part->wide_before[part->stack_count] = sum;
}

/*
 * Adds the magnitude of a value; returns false if the sum exceeds int8, so that some total might.
 */
static bool
add_magnitude(int64 value, int64 *size)
{
	/* The magnitude of PG_INT64_MIN does not fit int8. */
	return value != PG_INT64_MIN && !pg_add_s64_overflow(*size, value < 0 ? -value : value, size);
}

/* Makes a part of those stacks of a subset that pass. passing is NULL if all stacks pass. */
static StackPart
stack_part_make(const PfsStackSubset *subset, const bool *passing, uint64 age)
{
	StackPart part = { .shape = subset->shape, .age = age, .leaves = subset->ordered_leaves };
	PfsSides sum = { 0, 0 };
	PfsSides size = { 0, 0 };
	bool fits = true;

	part.before = PFS_ARRAY(PfsSides, (Size) subset->stack_count + 1);
	for (uint32 i = 0; i < subset->stack_count; i++)
	{
		uint32 stack = subset->order[i];
		PfsSides sides = subset->stacks[stack].sides;

		if (passing != NULL && !passing[stack])
			continue;
		part.before[part.stack_count] = sum;
		/*
		 * part.leaves is ordered_leaves itself: stacks that pass move to the front, and stack_count
		 * never exceeds i.
		 */
		part.leaves[part.stack_count++] = subset->ordered_leaves[i];
		/* Running sums may wrap: a difference of two of them is right modulo 2^64. */
		sum.value = (int64) ((uint64) sum.value + (uint64) sides.value);
		sum.base = (int64) ((uint64) sum.base + (uint64) sides.base);
		fits &= add_magnitude(sides.value, &size.value) && add_magnitude(sides.base, &size.base);
	}
	part.before[part.stack_count] = sum;
	if (!fits)
		stack_part_make_wide(&part);
	return part;
}

/* Returns the sum of stacks first .. end - 1, modulo 2^64. */
static inline PfsSides
stack_part_sum(const StackPart *part, uint32 first, uint32 end)
{
	return pfs_subtract_sides(part->before[end], part->before[first]);
}

static inline PfsWideSides
stack_part_wide_sum(const StackPart *part, uint32 first, uint32 end)
{
	PfsSides sum;

	/* Only parts whose sums may exceed int8 have exact sums, which are twice as long. */
	if (unlikely(part->wide_before != NULL))
		return (PfsWideSides){ part->wide_before[end].value - part->wide_before[first].value,
							   part->wide_before[end].base - part->wide_before[first].base };
	sum = stack_part_sum(part, first, end);
	return (PfsWideSides){ sum.value, sum.base };
}

static inline void
stack_part_add_sum(PfsWideSides *sum, const StackPart *part, uint32 first, uint32 end)
{
	PfsWideSides more = stack_part_wide_sum(part, first, end);

	pfs_add_wide_sides(sum, &more);
}

/*
 * Returns the position of the first stack, from stack on, whose leaf's place is not less than
 * place. The search is fast if that stack is near.
 */
static inline uint32
stack_part_from(const StackPart *part, uint32 stack, uint32 end, uint32 place)
{
	uint32 step = 1;

	while (stack < end && step <= end - stack && part->leaves[stack + step - 1] < place)
	{
		stack += step;
		/* Steps double, so a far leaf is found in a number of steps logarithmic in its distance. */
		step = step > PG_UINT32_MAX / 2 ? step : step * 2;
	}
	/* The leaf lies within the last step. */
	end = (uint32) Min((uint64) stack + step, end);
	PFS_BISECT(stack, end, middle, part->leaves[middle] < place);
	return stack;
}

/* --- walkers --- */

typedef struct Walker
{
	uint64 age;
	uint32 next; /* next walker of the list, or PFS_NO_WALKER */
	uint32 part;
	uint32 place;
	uint32 first; /* the walker stands for the stacks first .. end - 1 */
	uint32 end;
	uint32 passed; /* number of frames of the node's location that the walker has returned */
} Walker;

struct PfsStackWalk
{
	PfsSymbols *symbols;
	bool inverted;
	uint32 function;
	StackPart *parts;
	uint32 part_count;
	uint32 part_capacity;
	int32 partition; /* dictionary partition of the last part */
	uint64 age;		 /* the field age of the last part */
	/* the stacks of earlier parts were removed, but further parts of their partition may follow */
	bool continues;
	bool is_wide;	/* some part is wide */
	bool has_names; /* names that were not cached have been loaded */
	Walker *walkers;
	uint32 walker_count;
	uint32 walker_capacity;
	uint32 start; /* list and total are valid while stacks are being added */
	PfsWideSides start_total;
};

/* Loads the names of all stacks at once, when one of them is not cached. */
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

	/* Location 0 is that of the root, which has no frame. */
	if (location == 0 || pfs_symbols_find(walk->symbols, location, &frames))
		return frames;
	/*
	 * Loading names one by one would read the dictionary once for each, so the first miss loads
	 * those of all stacks.
	 */
	if (!walk->has_names && !pfs_location_is_cached(location))
		load_names(walk);
	return pfs_symbols_frames(walk->symbols, location);
}

/*
 * Returns the number of frames, in the direction of the walk, up to and including the function's
 * first one; 0 if the location has no frame of the function.
 */
static uint32
passed_at_function(PfsStackWalk *walk, int32 location)
{
	PfsFrames frames = frames_of(walk, location);

	for (uint32 i = 0; i < frames.count; i++)
		if (frames.frames[i].symbol == walk->function)
			/* Frames are outermost first, and a walk from the leaf returns them in reverse. */
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

/* Begins a path for stacks first .. end - 1 of the last part, at one of its nodes. */
static void
add_start(PfsStackWalk *walk, uint32 place, uint32 first, uint32 end, uint32 passed)
{
	const StackPart *part = &walk->parts[walk->part_count - 1];
	Walker walker = {
		.part = walk->part_count - 1, .place = place, .first = first, .end = end, .passed = passed
	};

	/*
	 * In a walk from the leaf a node's age is that of the stack; in a walk from the root, that of
	 * the node.
	 */
	walker.age = part->age | part->shape.indexes[walk->inverted ? part->leaves[first] : place];
	pfs_stack_walk_link(walk, append_walker(walk, &walker), &walk->start);
	stack_part_add_sum(&walk->start_total, part, first, end);
}

/* Begins all paths of the last part at the function's outermost frame. */
static void
start_at_function(PfsStackWalk *walk)
{
	/*
	 * outermost is kept from stack to stack, because the next path mostly shares its upper nodes.
	 */
	const StackPart *part = &walk->parts[walk->part_count - 1];
	PfsNodePath path = pfs_node_path_begin(&part->shape);
	/* depth of the node with the outermost frame of the function; 0 if there is none */
	uint32 outermost = 0;
	uint32 passed = 0;

	for (uint32 stack = 0; stack < part->stack_count; stack++)
	{
		bool is_new = false;

		CHECK_FOR_INTERRUPTS();
		pfs_node_path_go(&path, part->leaves[stack]);
		/* the path has left the node */
		if (outermost > path.shared)
			outermost = 0;
		/* Nodes above path.shared were tested with an earlier stack. */
		for (uint32 depth = path.shared; depth < path.depth && outermost == 0; depth++)
		{
			passed = passed_at_function(walk, part->shape.locations[path.places[depth]]);
			is_new = passed > 0;
			outermost = is_new ? depth + 1 : 0;
		}
		if (outermost == 0)
			continue;
		/* A walk from the leaf has a walker for each stack. */
		if (walk->inverted)
			add_start(walk, path.places[outermost - 1], stack, stack + 1, passed);
		/* in a walk from the root, one walker represents all stacks below the node */
		else if (is_new)
		{
			uint32 place = path.places[outermost - 1];

			add_start(walk, place, stack,
					  stack_part_from(part, stack, part->stack_count, part->shape.ends[place]),
					  passed);
		}
	}
	pfree(path.places);
}

/* Makes a part of the stacks that pass, and appends it to the walk. */
static void
append_part(PfsStackWalk *walk, const PfsStackSubset *subset, const bool *passing)
{
	int32 partition = pfs_stack_partition(subset->stacks[0].stack_id);

	PFS_RESERVE(walk->parts, walk->part_capacity, (uint64) walk->part_count + 1);
	/* ages in a new partition must be greater than all before */
	if (walk->partition != partition)
		walk->age += UINT64CONST(1) << AGE_INDEX_BITS;
	walk->partition = partition;
	walk->parts[walk->part_count] = stack_part_make(subset, passing, walk->age);
	walk->is_wide |= walk->parts[walk->part_count++].wide_before != NULL;
}

static void
start_part(PfsStackWalk *walk)
{
	const StackPart *part = &walk->parts[walk->part_count - 1];

	/* The filters may have dropped all stacks of the part. */
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
	walk->parts = PFS_ARRAY(StackPart, INITIAL_PARTS);
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
	/*
	 * A new list begins with ages of its own; after pfs_stack_walk_clear() ages go on, because
	 * stacks of one partition may follow in the next part.
	 */
	if (!walk->continues && *list == PFS_NO_WALKER)
		walk->partition = -1;
	walk->continues = false;
	walk->has_names = false;
	while (pfs_stack_subsets_next(&subsets, &subset))
	{
		bool *passing = pfs_stacks_passing(&subset, walk->symbols);

		CHECK_FOR_INTERRUPTS();
		/*
		 * leaves and order are copied or not needed afterwards; ordered_leaves belongs to the part.
		 */
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
	/* The stacks are freed by the caller, so the peak is now. */
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

		stack_part_add_sum(&total, &walk->parts[walker->part], walker->first, walker->end);
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
 * Returns the child of a node on the path to a leaf. child is the first child to consider. The
 * search goes along the siblings and up from the leaf in turn, because either way may be long.
 */
static inline uint32
child_towards(const PfsTreeShape *shape, uint32 node, uint32 child, uint32 leaf)
{
	uint32 above = leaf;

	/*
	 * Places of the nodes below a child are child .. ends[child] - 1, so the loop ends at the child
	 * that has the leaf.
	 */
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
 * Moves a walker past the last frame of its node: walkers of the children replace it. The first of
 * them uses its slot.
 */
static void
go_down(PfsStackWalk *walk, uint32 at, uint32 *list, PfsWideSides *ended)
{
	/* A copy, because append_walker() may move the array. */
	const Walker walker = walk->walkers[at];
	const StackPart *part = &walk->parts[walker.part];
	uint32 child = walker.place + 1;
	uint32 stack = walker.first;
	bool is_free = true;

	/*
	 * Stacks that end in this node come first: a node's place is less than those of the nodes below
	 * it.
	 */
	while (stack < walker.end && part->leaves[stack] == walker.place)
		stack++;
	stack_part_add_sum(ended, part, walker.first, stack);
	while (stack < walker.end)
	{
		Walker below = { .part = walker.part, .first = stack };

		child = child_towards(&part->shape, walker.place, child, part->leaves[stack]);
		below.place = child;
		below.age = part->age | part->shape.indexes[child];
		/* The next sibling, if there is one. */
		child = part->shape.ends[child];
		stack = below.end = stack_part_from(part, stack + 1, walker.end, child);
		/* The walker's slot is free, because its stacks have been divided among its children. */
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
	const StackPart *part = &walk->parts[walker->part];

	/* Past the root: the path has ended. */
	if (walker->place == 0)
		stack_part_add_sum(ended, part, walker->first, walker->end);
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
		const StackPart *part = &walk->parts[walker->part];
		int32 location = part->shape.locations[walker->place];
		PfsFrames frames = frames_of(walk, location);

		*list = walker->next;
		if (walker->passed < frames.count)
		{
			/* The n-th frame, counted in the direction of the walk. */
			uint32 frame = walk->inverted ? frames.count - 1 - walker->passed : walker->passed;

			walker->passed++;
			*step = (PfsStep){ at, walker->age, stack_part_sum(part, walker->first, walker->end),
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

/* A node on the path of a visit. */
typedef struct OpenNode
{
	uint32 first; /* first of the stacks below the node */
	/* last symbol on the path to the node or in the node; PFS_NO_SYMBOL if there is none */
	uint32 symbol;
} OpenNode;

/*
 * Visits the stacks of a part from leaf to leaf. open[depth] has the first stack below each node on
 * the path, so a node's total is a difference of running sums.
 */
static void
visit_part(PfsStackWalk *walk, const StackPart *part, const PfsFrameVisitor *visitor, void *state)
{
	PfsNodePath path = pfs_node_path_begin(&part->shape);
	uint32 capacity = path.capacity;
	/* the nodes on the path by depth, the root first */
	OpenNode *open = PFS_ARRAY(OpenNode, capacity + 1);

	open[0] = (OpenNode){ 0, PFS_NO_SYMBOL };
	/* One more round than stacks: the last one leaves all nodes that are still open. */
	for (uint32 stack = 0; stack <= part->stack_count; stack++)
	{
		uint32 depth = path.depth;
		uint32 shared = 0;

		CHECK_FOR_INTERRUPTS();
		/* leave nodes before pfs_node_path_go() removes them from the path */
		if (stack < part->stack_count)
			for (shared = depth;
				 shared > 0 && part->leaves[stack] >= part->shape.ends[path.places[shared - 1]];)
				shared--;
		for (; depth > shared; depth--)
		{
			/*
			 * Frames are looked up again, because the array in which they stand may have moved
			 * since they were entered.
			 */
			PfsFrames frames = frames_of(walk, part->shape.locations[path.places[depth - 1]]);
			PfsSides total = stack_part_sum(part, open[depth].first, stack);
			PfsWideSides wide;

			if (unlikely(part->wide_before != NULL))
				wide = stack_part_wide_sum(part, open[depth].first, stack);
			for (uint32 i = frames.count; i > 0; i--)
				/* In reverse, so that every leave matches the last enter. */
				visitor->leave(state, frames.frames[i - 1], total,
							   part->wide_before != NULL ? &wide : NULL);
		}
		if (stack == part->stack_count)
			break;
		pfs_node_path_go(&path, part->leaves[stack]);
		/* pfs_node_path_go() has enlarged its own array. */
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

			/* A node without frames passes on the symbol of the node above. */
			open[depth + 1] = (OpenNode){ stack, open[depth].symbol };
			for (uint32 i = 0; i < frames.count; i++)
				visitor->enter(state, part->age | part->shape.indexes[place], location,
							   frames.frames[i]);
			if (frames.count > 0)
				open[depth + 1].symbol = frames.frames[frames.count - 1].symbol;
		}
		visitor->end(state, part->age | part->shape.indexes[part->leaves[stack]],
					 open[depth].symbol, stack_part_sum(part, stack, stack + 1));
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
