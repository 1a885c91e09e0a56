/*
 * shared_trees.c
 *		Stores the arrays of a tree, one after another, in shared memory.
 */
#include "profstore.h"

#include "dictionary/cache/shared_area.h"
#include "dictionary/tree/shared_trees.h"

/* With fewer nodes than this, reading the tree from the table is faster than sharing it. */
#define LEAST_NODES 256

/* A tree is offered again once its number of nodes has grown by one part in this many. */
#define GROWTH_DIVISOR 8

/* The arrays of a tree, with node_count + 1 elements each. */
typedef struct NodeArrays
{
	int64 *ids;
	uint32 *parents;
	int32 *locations;
	/*
	 * shape_indexes and the fields after it belong to the shape of all nodes, and are used only if
	 * there is one
	 */
	uint32 *shape_indexes;
	uint32 *shape_parents;
	uint32 *shape_ends;
	int32 *shape_locations;
	uint32 *places;
	uint8 *shape_of;
} NodeArrays;

#define NODE_BYTES	(sizeof(int64) + sizeof(uint32) + sizeof(int32))
#define SHAPE_BYTES (4 * sizeof(uint32) + sizeof(int32) + sizeof(uint8))

static Size
arrays_bytes(uint32 node_count, bool has_shape)
{
	return ((Size) node_count + 1) * (NODE_BYTES + (has_shape ? SHAPE_BYTES : 0));
}

static NodeArrays
arrays_at(void *place, uint32 node_count)
{
	Size count = (Size) node_count + 1;
	NodeArrays arrays = { .ids = place };

	/* Arrays come in order of their alignment, so none needs padding. */
	arrays.parents = (uint32 *) (arrays.ids + count);
	arrays.locations = (int32 *) (arrays.parents + count);
	arrays.shape_indexes = (uint32 *) (arrays.locations + count);
	arrays.shape_parents = arrays.shape_indexes + count;
	arrays.shape_ends = arrays.shape_parents + count;
	arrays.shape_locations = (int32 *) (arrays.shape_ends + count);
	arrays.places = (uint32 *) (arrays.shape_locations + count);
	arrays.shape_of = (uint8 *) (arrays.places + count);
	return arrays;
}

void
pfs_shared_tree_borrow(PfsTreeCache *cache)
{
	PfsSharedFacts facts;
	NodeArrays arrays;

	cache->shared = pfs_shared_borrow(cache->partition_id, &facts);
	if (cache->shared == NULL)
		return;
	arrays = arrays_at(cache->shared, facts.count);
	/* Chunks before this horizon are in the copy. */
	cache->horizon = facts.horizon;
	cache->tree.ids = cache->ids = arrays.ids;
	cache->tree.parents = cache->parents = arrays.parents;
	cache->tree.locations = cache->locations = arrays.locations;
	cache->tree.node_count = cache->shared_nodes = facts.count;
	/* No room for another node: appending one copies the arrays first. */
	cache->capacity = facts.count + 1;
	cache->shares_nodes = true;
	cache->shared_shape = cache->shares_places = cache->shares_shape = facts.has_shape;
	if (!facts.has_shape)
		return;
	cache->shapes[0] = (PfsTreeShape){ facts.count + 1, arrays.shape_indexes, arrays.shape_parents,
									   arrays.shape_ends, arrays.shape_locations };
	cache->own_counts[0] = cache->placed_count = facts.count;
	cache->shape_count = 1;
	cache->shape_of = arrays.shape_of;
	cache->places = arrays.places;
	cache->first_unplaced = facts.count + 1;
}

void
pfs_shared_tree_release(PfsTreeCache *cache)
{
	if (cache->shared != NULL)
		pfs_shared_release(cache->shared);
	cache->shared = NULL;
}

/* Returns true if all nodes of the tree are in its first shape. */
static bool
has_whole_shape(const PfsTreeCache *cache)
{
	return cache->shape_count == 1 && cache->own_counts[0] == cache->tree.node_count;
}

bool
pfs_shared_tree_is_there(const PfsTreeCache *cache)
{
	PfsSharedFacts facts;

	return pfs_shared_look(cache->partition_id, &facts) && facts.count >= cache->tree.node_count &&
		   /* A copy without shape would make this session build its shape again. */
		   facts.has_shape >= (cache->shape_count > 0);
}

static bool
shared_tree_is_better(const PfsSharedFacts *offered, const PfsSharedFacts *present)
{
	return offered->count > (uint64) present->count + present->count / GROWTH_DIVISOR ||
		   (offered->count >= present->count && offered->has_shape && !present->has_shape);
}

static void
copy_arrays(void *place, const void *argument)
{
	const PfsTreeCache *cache = argument;
	uint32 node_count = cache->tree.node_count;
	Size count = (Size) node_count + 1;
	NodeArrays arrays = arrays_at(place, node_count);

	memcpy(arrays.ids, cache->ids, count * sizeof(int64));
	memcpy(arrays.parents, cache->parents, count * sizeof(uint32));
	memcpy(arrays.locations, cache->locations, count * sizeof(int32));
}

static void
copy_arrays_and_shape(void *place, const void *argument)
{
	const PfsTreeCache *cache = argument;
	uint32 node_count = cache->tree.node_count;
	Size count = (Size) node_count + 1;
	NodeArrays arrays = arrays_at(place, node_count);

	copy_arrays(place, argument);
	memcpy(arrays.shape_indexes, cache->shapes[0].indexes, count * sizeof(uint32));
	memcpy(arrays.shape_parents, cache->shapes[0].parents, count * sizeof(uint32));
	memcpy(arrays.shape_ends, cache->shapes[0].ends, count * sizeof(uint32));
	memcpy(arrays.shape_locations, cache->shapes[0].locations, count * sizeof(int32));
	memcpy(arrays.places, cache->places, count * sizeof(uint32));
	memcpy(arrays.shape_of, cache->shape_of, count * sizeof(uint8));
}

/* Offers the tree, with or without its shape. */
static bool
shared_tree_offer(const PfsTreeCache *cache, bool has_shape)
{
	uint32 node_count = cache->tree.node_count;

	return pfs_shared_put(&(PfsSharedOffer){
		.number = cache->partition_id,
		.facts = { .horizon = cache->horizon, .count = node_count, .has_shape = has_shape },
		.bytes = arrays_bytes(node_count, has_shape),
		.is_better = shared_tree_is_better,
		.fill = has_shape ? copy_arrays_and_shape : copy_arrays,
		.argument = cache });
}

bool
pfs_shared_tree_offer(PfsTreeCache *cache)
{
	uint32 node_count = cache->tree.node_count;
	bool has_grown = node_count - cache->shared_nodes > cache->shared_nodes / GROWTH_DIVISOR;
	bool has_shape = has_whole_shape(cache) && !cache->shared_shape;

	/* Nodes that may be rolled back, and placeholders for missing ones, must not be shared. */
	if (cache->own || cache->orphans > 0 || node_count < LEAST_NODES || !(has_grown || has_shape))
		return false;
	cache->shared_nodes = node_count;
	cache->shared_shape = has_shape;
	/* If the shape does not fit, the nodes alone may. */
	return (has_shape && pfs_shared_has_room(arrays_bytes(node_count, true)) &&
			shared_tree_offer(cache, true)) ||
		   shared_tree_offer(cache, false);
}
