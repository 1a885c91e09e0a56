/*
 * tree.c
 *		One dictionary partition in memory: nodes in id order, and a hash to find children.
 */
#include "profstore.h"

#include "utils/memutils.h"

#include "base/arrays.h"
#include "dictionary/tree/tree.h"

#define MIN_CAPACITY 64
#define MIN_SLOTS	 1024

/* Smaller trees grow by doubling, and larger ones by a quarter. */
#define LARGE_NODES 16384

void
pfs_tree_init(PfsTreeCache *cache, int32 partition_id, MemoryContext context)
{
	memset(cache, 0, sizeof(*cache));
	cache->partition_id = partition_id;
	cache->context = context;
	cache->tree.partition_id = partition_id;
	cache->first_unplaced = 1;
}

#define RESIZE(cache, array, capacity) \
	pfs_array_resize((cache)->context, array, (Size) (capacity) * sizeof(*(array)))

/* Makes room for nodes in all arrays of the cache. Node 0 stands for no node. */
static void
set_capacity(PfsTreeCache *cache, uint32 capacity)
{
	cache->tree.ids = cache->ids = RESIZE(cache, cache->ids, capacity);
	cache->tree.parents = cache->parents = RESIZE(cache, cache->parents, capacity);
	cache->tree.locations = cache->locations = RESIZE(cache, cache->locations, capacity);
	/* Arrays that are made only when they are needed grow with the others from then on. */
	if (cache->canonical != NULL)
		cache->canonical = RESIZE(cache, cache->canonical, capacity);
	if (cache->places != NULL)
	{
		cache->places = RESIZE(cache, cache->places, capacity);
		cache->shape_of = RESIZE(cache, cache->shape_of, capacity);
	}
	/* Index 0 is the root, with id 0. */
	if (cache->capacity == 0)
	{
		cache->ids[0] = 0;
		cache->parents[0] = 0;
		cache->locations[0] = 0;
	}
	cache->capacity = capacity;
}

/*
 * Returns the number of nodes for which a tree of node_count nodes makes room when it grows. Each
 * session of a writer keeps the room that its trees do not use, and copying a node five times
 * costs less than inserting it.
 */
static uint64
grown_count(uint32 node_count)
{
	return (uint64) node_count + (node_count < LARGE_NODES ? node_count : node_count / 4);
}

static void
tree_reserve(PfsTreeCache *cache)
{
	uint64 capacity = Max(MIN_CAPACITY, grown_count(cache->capacity));

	if (capacity > PG_UINT32_MAX)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
						errmsg("dictionary partition %d has too many nodes", cache->partition_id)));
	set_capacity(cache, (uint32) capacity);
}

static void *
own_copy(const PfsTreeCache *cache, const void *array, Size bytes)
{
	void *copy = MemoryContextAllocHuge(cache->context, bytes);

	memcpy(copy, array, bytes);
	return copy;
}

#define OWN(cache, array) own_copy(cache, array, (Size) (cache)->capacity * sizeof(*(array)))

/* Copies shared nodes and places, so that they can be written. */
static void
tree_own_nodes(PfsTreeCache *cache)
{
	/* The arrays lie in shared memory, which other sessions read. */
	if (cache->shares_nodes)
	{
		cache->tree.ids = cache->ids = OWN(cache, cache->ids);
		cache->tree.parents = cache->parents = OWN(cache, cache->parents);
		cache->tree.locations = cache->locations = OWN(cache, cache->locations);
	}
	cache->shares_nodes = false;
	if (cache->shares_places)
	{
		cache->places = OWN(cache, cache->places);
		cache->shape_of = OWN(cache, cache->shape_of);
	}
	cache->shares_places = false;
}

uint32
pfs_tree_append(PfsTreeCache *cache, int64 id, uint32 parent, int32 location)
{
	uint32 index;

	/* A borrowed tree becomes the session's own with the first node that it lacks. */
	if (unlikely(cache->shares_nodes || cache->shares_places))
		tree_own_nodes(cache);
	/* Indexes 0 .. node_count are in use, so the new one is node_count + 1. */
	if (cache->tree.node_count + 1 >= cache->capacity)
		tree_reserve(cache);
	index = ++cache->tree.node_count;
	cache->ids[index] = id;
	cache->parents[index] = parent;
	cache->locations[index] = location;
	if (cache->places != NULL)
		cache->shape_of[index] = PFS_NO_SHAPE;
	return index;
}

uint32
pfs_tree_search(const PfsTreeCache *cache, uint32 node_count, int64 id)
{
	uint32 index = pfs_lower_bound(cache->ids, 1, node_count + 1, id);

	return index <= node_count && cache->ids[index] == id ? index : 0;
}

/*
 * Searches for an id from a place on. Ids differ by at least 1, so an id that is greater by n is at
 * most n places ahead, and usually exactly n. If it is not there, the search goes on in growing
 * steps.
 */
uint32
pfs_tree_search_from(const PfsTreeCache *cache, uint32 from, int64 id)
{
	uint32 last = cache->tree.node_count;
	uint32 low = from + 1;
	uint32 step = 1;

	if (from > 0)
	{
		uint64 distance = (uint64) (id - cache->ids[from]);

		/* Ids of a partition without gaps are found here at once. */
		if (distance <= last - from && cache->ids[from + distance] == id)
			return from + (uint32) distance;
	}
	while (low <= last && step <= last - low && cache->ids[low + step - 1] < id)
	{
		low += step;
		step = step > PG_UINT32_MAX / 2 ? step : step * 2;
	}
	low =
		pfs_lower_bound(cache->ids, low, (uint32) Min((uint64) low + step, (uint64) last + 1), id);
	return low <= last && cache->ids[low] == id ? low : 0;
}

/* Hash of children */

/*
 * Returns the first slot to try for a key, by multiplicative hashing: the upper half of the product
 * depends on every bit of the key, and is scaled to the number of slots, which is no power of two.
 */
static inline uint32
child_home(const PfsTreeCache *cache, uint32 parent, int32 location)
{
	uint64 key = (uint64) parent << 32 | (uint32) location;

	key = (key ^ key >> 32) * UINT64CONST(0x9E3779B97F4A7C15);
	return (uint32) ((key >> 32) * cache->slot_count >> 32);
}

static inline uint32
next_slot(const PfsTreeCache *cache, uint32 at)
{
	return at + 1 < cache->slot_count ? at + 1 : 0;
}

/* Returns how many slots probing passes from one slot to another. */
static inline uint32
slot_distance(const PfsTreeCache *cache, uint32 from, uint32 to)
{
	return to >= from ? to - from : to + (cache->slot_count - from);
}

static inline PfsChildSlot *
tree_find_slot(const PfsTreeCache *cache, uint32 parent, int32 location)
{
	uint32 at = child_home(cache, parent, location);

	while (cache->slots[at].index != 0 &&
		   (cache->slots[at].parent != parent || cache->slots[at].location != location))
		/* Linear probing ends, because at most three quarters of the slots are taken. */
		at = next_slot(cache, at);
	return &cache->slots[at];
}

static void
drop_hash(PfsTreeCache *cache)
{
	if (cache->slots != NULL)
		pfree(cache->slots);
	cache->slots = NULL;
	cache->slot_count = 0;
	cache->hashed = 0;
	cache->taken = 0;
}

/* Frees a slot, and moves up entries that probing would otherwise miss. */
static void
free_slot(PfsTreeCache *cache, uint32 hole)
{
	uint32 at = hole;

	for (;;)
	{
		uint32 home;

		at = next_slot(cache, at);
		if (cache->slots[at].index == 0)
			break;
		home = child_home(cache, cache->slots[at].parent, cache->slots[at].location);
		/*
		 * The entry's own first slot does not lie between the hole and the entry, so probing
		 * reaches the hole first.
		 */
		if (slot_distance(cache, home, at) >= slot_distance(cache, hole, at))
		{
			cache->slots[hole] = cache->slots[at];
			hole = at;
		}
	}
	cache->slots[hole].index = 0;
	cache->taken--;
}

/* If many nodes are removed from the hash, it is cheaper to drop the whole hash. */
void
pfs_tree_unhash(PfsTreeCache *cache, uint32 first)
{
	if (cache->hashed < first)
		return;
	if (cache->hashed - first > cache->hashed / 2)
	{
		drop_hash(cache);
		return;
	}
	/* Backwards, so that a parent's entry is still there when its children are removed. */
	for (uint32 index = cache->hashed; index >= first; index--)
		/* Only the first of equal nodes has a slot. */
		if (cache->canonical[index] == index)
		{
			uint32 parent = cache->canonical[cache->parents[index]];

			free_slot(cache, (uint32) (tree_find_slot(cache, parent, cache->locations[index]) -
									   cache->slots));
		}
	cache->hashed = first - 1;
}

/*
 * Makes an empty hash, or a larger one, for all present nodes and some more. They take three of
 * four slots.
 */
static void
make_hash(PfsTreeCache *cache)
{
	uint64 wanted = Max(grown_count(cache->tree.node_count) / 3 * 4, MIN_SLOTS);

	if (wanted > PG_UINT32_MAX)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
						errmsg("dictionary partition %d has too many nodes", cache->partition_id)));
	/* All nodes must be added again, because their slots depend on the number of slots. */
	drop_hash(cache);
	cache->slots = MemoryContextAllocExtended(cache->context, wanted * sizeof(PfsChildSlot),
											  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	cache->slot_count = (uint32) wanted;
	if (cache->canonical == NULL)
		cache->canonical = RESIZE(cache, cache->canonical, cache->capacity);
	cache->canonical[0] = 0;
}

/* Adds nodes hashed + 1 .. node_count to the hash. */
static void
hash_rest(PfsTreeCache *cache)
{
	if (cache->slot_count == 0 || (uint64) cache->taken + (cache->tree.node_count - cache->hashed) >
									  (uint64) cache->slot_count / 4 * 3)
		make_hash(cache);
	while (cache->hashed < cache->tree.node_count)
	{
		uint32 index = ++cache->hashed;
		/* Children of equal parents are children of the first of them. */
		uint32 parent = cache->canonical[cache->parents[index]];
		PfsChildSlot *slot = tree_find_slot(cache, parent, cache->locations[index]);

		if (slot->index != 0)
			cache->canonical[index] = slot->index;
		else
		{
			slot->parent = parent;
			slot->location = cache->locations[index];
			slot->index = cache->canonical[index] = index;
			cache->taken++;
		}
	}
}

uint32
pfs_tree_child(PfsTreeCache *cache, uint32 parent, int32 location)
{
	/* the placeholder for unknown parents has no children of its own */
	if (parent >= cache->tree.node_count || location == PFS_NO_STACK_LOCATION)
		return 0;
	/*
	 * nodes that were interned together are neighbours; if nodes with equal parent and location
	 * exist, this is the first
	 */
	if (cache->parents[parent + 1] == parent && cache->locations[parent + 1] == location)
		return parent + 1;
	if (cache->hashed < cache->tree.node_count)
		hash_rest(cache);
	return tree_find_slot(cache, cache->canonical[parent], location)->index;
}
