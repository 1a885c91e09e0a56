/*
 * tree_settle.c
 *		Moves nodes that were appended in any order to where their ids belong.
 */
#include "profstore.h"

#include "utils/memutils.h"

#include "base/arrays.h"
#include "dictionary/tree/tree_settle.h"
#include "dictionary/tree/tree_shape.h"

typedef struct TailNode
{
	int64 id;
	uint32 index;
} TailNode;

static int
compare_tail_nodes(const void *a, const void *b)
{
	int64 left = ((const TailNode *) a)->id;
	int64 right = ((const TailNode *) b)->id;

	return (left > right) - (left < right);
}

/*
 * Returns the order by id of nodes start .. node_count. The nodes before first are sorted already;
 * this function sorts the rest.
 */
static uint32 *
merge_order(const PfsTreeCache *cache, uint32 start, uint32 first)
{
	uint32 tail_count = cache->tree.node_count - first + 1;
	uint32 count = cache->tree.node_count - start + 1;
	TailNode *tail = PFS_ARRAY(TailNode, tail_count);
	uint32 *order = PFS_ARRAY(uint32, count);
	uint32 old = start;
	uint32 next = 0;

	for (uint32 i = 0; i < tail_count; i++)
		tail[i] = (TailNode){ cache->ids[first + i], first + i };
	qsort(tail, tail_count, sizeof(TailNode), compare_tail_nodes);
	for (uint32 i = 0; i < count; i++)
	{
		/* A merge of two sorted lists: the old nodes, and the sorted tail. */
		if (next == tail_count || (old < first && cache->ids[old] < tail[next].id))
			order[i] = old++;
		else
			order[i] = tail[next++].index;
	}
	pfree(tail);
	return order;
}

uint32
pfs_tree_settle(PfsTreeCache *cache, uint32 first, uint32 **moved_to)
{
	uint32 end = cache->tree.node_count + 1;
	uint32 count;
	int64 smallest = PG_INT64_MAX;
	bool sorted = true;
	uint32 start;
	uint32 *order;
	uint32 *map;
	int64 *ids;
	uint32 *parents;
	int32 *locations;

	*moved_to = NULL;
	for (uint32 i = first; i < end; i++)
	{
		smallest = Min(smallest, cache->ids[i]);
		/* The usual case: new ids follow all old ones, and nothing moves. */
		sorted = sorted && cache->ids[i] > cache->ids[i - 1];
	}
	if (sorted)
		return end;

	/*
	 * 1. Find the order of all nodes that move, and the new index of each. Nodes before the
	 * smallest new id stay. The hash refers to indexes, so nodes that move leave it first.
	 */
	start = pfs_lower_bound(cache->ids, 1, first, smallest);
	count = end - start;
	pfs_tree_unhash(cache, start);
	order = merge_order(cache, start, first);
	map = PFS_ARRAY(uint32, count);
	for (uint32 i = 0; i < count; i++)
		map[order[i] - start] = start + i;

	/*
	 * 2. copy out in the new order, with parents renumbered, and back
	 */
	ids = PFS_ARRAY(int64, count);
	parents = PFS_ARRAY(uint32, count);
	locations = PFS_ARRAY(int32, count);
	for (uint32 i = 0; i < count; i++)
	{
		uint32 parent = cache->parents[order[i]];

		ids[i] = cache->ids[order[i]];
		/* A parent that has moved has a new index. */
		parents[i] = parent < start ? parent : map[parent - start];
		locations[i] = cache->locations[order[i]];
	}
	memcpy(cache->ids + start, ids, count * sizeof(int64));
	memcpy(cache->parents + start, parents, count * sizeof(uint32));
	memcpy(cache->locations + start, locations, count * sizeof(int32));
	pfs_tree_shapes_move(cache, start, order, map);
	pfree(ids);
	pfree(parents);
	pfree(locations);
	pfree(order);
	*moved_to = map;
	return start;
}
