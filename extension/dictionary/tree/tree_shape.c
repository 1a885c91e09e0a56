/*
 * tree_shape.c
 *		Numbers nodes depth first: sizes of subtrees in a backward pass, places in a forward
 *		pass. For a shape of some nodes, ancestors are marked in a bitmap, and marked nodes
 *		renumbered by rank.
 */
#include "profstore.h"

#include "port/pg_bitutils.h"
#include "storage/shmem.h"
#include "utils/memutils.h"

#include "base/arrays.h"
#include "dictionary/tree/tree_shape.h"

#define WORD_BITS 64

/*
 * Makes the shape of nodes 0 .. count - 1 (count is at least 1), whose parents have smaller numbers
 * than they; 0 is the root. Children of a node keep their order. The arrays are one allocation in
 * context, at shape->indexes. places gets the place of each node.
 */
static void
shape_make(PfsTreeShape *shape, MemoryContext context, uint32 count, const uint32 *parents,
		   const int32 *locations, uint32 *places)
{
	uint32 *indexes =
		MemoryContextAllocHuge(context, mul_size(count, 3 * sizeof(uint32) + sizeof(int32)));
	uint32 *shape_parents = indexes + count;
	uint32 *ends = shape_parents + count;
	int32 *shape_locations = (int32 *) (ends + count);
	/*
	 * number of nodes in the subtree; once a node has its place, the place that its next child will
	 * get
	 */
	uint32 *sizes = PFS_ARRAY(uint32, count);

	for (uint32 i = 0; i < count; i++)
		sizes[i] = 1;
	/* Children have greater numbers than their parents, so a backward pass meets them first. */
	for (uint32 i = count - 1; i > 0; i--)
		sizes[parents[i]] += sizes[i];

	places[0] = indexes[0] = shape_parents[0] = 0;
	shape_locations[0] = 0;
	ends[0] = count;
	/* The root has place 0, and its first child place 1. */
	sizes[0] = 1;
	for (uint32 i = 1; i < count; i++)
	{
		/* In order of numbers, siblings get the places that their elder ones leave. */
		uint32 place = sizes[parents[i]];

		sizes[parents[i]] += sizes[i];
		places[i] = place;
		indexes[place] = i;
		shape_parents[place] = places[parents[i]];
		ends[place] = place + sizes[i];
		shape_locations[place] = locations[i];
		sizes[i] = place + 1;
	}
	pfree(sizes);
	*shape = (PfsTreeShape){ count, indexes, shape_parents, ends, shape_locations };
}

typedef struct NodeSet
{
	uint64 *words;
	uint32 *ranks; /* number of members before each word */
	uint32 word_count;
} NodeSet;

static bool
is_member(const NodeSet *set, uint32 node)
{
	return (set->words[node / WORD_BITS] >> (node % WORD_BITS)) & 1;
}

static void
add_member(NodeSet *set, uint32 node)
{
	set->words[node / WORD_BITS] |= UINT64CONST(1) << (node % WORD_BITS);
}

/* Returns the number of members before a node. */
static uint32
rank_of(const NodeSet *set, uint32 node)
{
	uint64 below = set->words[node / WORD_BITS] & ((UINT64CONST(1) << (node % WORD_BITS)) - 1);

	return set->ranks[node / WORD_BITS] + (uint32) pg_popcount64(below);
}

/* Fills in the ranks; returns the number of members. */
static uint32
rank_members(NodeSet *set)
{
	uint32 count = 0;

	for (uint32 i = 0; i < set->word_count; i++)
	{
		set->ranks[i] = count;
		if (set->words[i] != 0)
			count += (uint32) pg_popcount64(set->words[i]);
	}
	return count;
}

static NodeSet
mark_ancestors(const PfsTree *tree, const uint32 *leaves, uint32 leaf_count)
{
	NodeSet set;

	set.word_count = tree->node_count / WORD_BITS + 1;
	set.words = PFS_ARRAY0(uint64, set.word_count);
	set.ranks = PFS_ARRAY(uint32, set.word_count);
	/* The root ends every loop below. */
	add_member(&set, 0);
	for (uint32 i = 0; i < leaf_count; i++)
	{
		/* A marked node has marked ancestors, so each node is marked once. */
		for (uint32 node = leaves[i]; !is_member(&set, node); node = tree->parents[node])
			add_member(&set, node);
	}
	return set;
}

void
pfs_shape_make_of(PfsTreeShape *shape, MemoryContext context, const PfsTree *tree, uint32 *nodes,
				  uint32 count)
{
	NodeSet set = mark_ancestors(tree, nodes, count);
	uint32 member_count = rank_members(&set);
	uint32 *members = PFS_ARRAY(uint32, member_count);
	uint32 *parents = PFS_ARRAY(uint32, member_count);
	int32 *locations = PFS_ARRAY(int32, member_count);
	uint32 *places = PFS_ARRAY(uint32, member_count);
	uint32 *indexes;
	uint32 rank = 0;

	for (uint32 word = 0; word < set.word_count; word++)
	{
		for (uint64 bits = set.words[word]; bits != 0; bits &= bits - 1)
		{
			uint32 node = word * WORD_BITS + (uint32) pg_rightmost_one_pos64(bits);

			members[rank] = node;
			/* Ranks keep the order of indexes, so parents stay before their children. */
			parents[rank] = node == 0 ? 0 : rank_of(&set, tree->parents[node]);
			locations[rank++] = node == 0 ? 0 : tree->locations[node];
		}
	}
	shape_make(shape, context, member_count, parents, locations, places);
	for (uint32 i = 0; i < count; i++)
		/* Every node of the list is a member, so its rank is its number in the shape. */
		nodes[i] = places[rank_of(&set, nodes[i])];
	indexes = unconstify(uint32 *, shape->indexes);
	for (uint32 place = 0; place < member_count; place++)
		/* shape_make() has stored numbers of members; readers need indexes of the tree. */
		indexes[place] = members[indexes[place]];
	pfree(set.words);
	pfree(set.ranks);
	pfree(members);
	pfree(parents);
	pfree(locations);
	pfree(places);
}

/* --- shapes of a cached tree --- */

/* Frees shapes from a number on; a shared one belongs to shared memory. */
static void
free_shapes(PfsTreeCache *cache, uint32 first)
{
	for (uint32 i = first; i < cache->shape_count; i++)
		if (i > 0 || !cache->shares_shape)
			pfree(unconstify(uint32 *, cache->shapes[i].indexes));
	cache->shares_shape &= first > 0;
}

/* Copies a shared first shape, because its indexes are about to change. */
static void
own_shape(PfsTreeCache *cache)
{
	PfsTreeShape *shape = &cache->shapes[0];
	Size bytes = (Size) shape->count * sizeof(uint32);
	char *arrays;

	if (!cache->shares_shape)
		return;
	arrays = MemoryContextAllocHuge(cache->context, 4 * bytes);
	/*
	 * All arrays are copied, because they are freed as one allocation, by the address of indexes.
	 */
	shape->indexes = memcpy(arrays, shape->indexes, bytes);
	shape->parents = memcpy(arrays + bytes, shape->parents, bytes);
	shape->ends = memcpy(arrays + 2 * bytes, shape->ends, bytes);
	shape->locations = memcpy(arrays + 3 * bytes, shape->locations, bytes);
	cache->shares_shape = false;
}

/* Makes the first shape anew from all nodes, and drops the others. */
static void
make_first(PfsTreeCache *cache)
{
	uint32 count = cache->tree.node_count + 1;
	PfsTreeShape shape;

	if (cache->places == NULL)
	{
		uint32 *places = MemoryContextAllocHuge(cache->context, cache->capacity * sizeof(uint32));

		cache->shape_of = MemoryContextAllocHuge(cache->context, cache->capacity);
		/* places is set last, because it tells that both arrays exist. */
		memset(cache->shape_of, PFS_NO_SHAPE, cache->capacity);
		cache->places = places;
	}
	shape_make(&shape, cache->context, count, cache->parents, cache->locations, cache->places);
	memset(cache->shape_of, 0, count);
	/* The new shape is complete before the old ones are freed: an error leaves a valid tree. */
	free_shapes(cache, 0);
	cache->shapes[0] = shape;
	cache->own_counts[0] = count - 1;
	cache->shape_count = 1;
}

/*
 * Returns how many of the last shapes are merged with the new nodes: those that are at most twice
 * as large.
 */
static uint32
count_merged(const PfsTreeCache *cache, uint32 *count)
{
	uint32 merged = 0;

	while (merged < cache->shape_count)
	{
		uint32 own = cache->own_counts[cache->shape_count - merged - 1];

		/* At the limit, one more shape is merged whatever its size. */
		if (own / 2 > *count && cache->shape_count - merged < PFS_MAX_SHAPES)
			break;
		*count += own;
		merged++;
	}
	return merged;
}

/* Lists the nodes that have no place, and those of the shapes from first_merged on. */
static uint32 *
list_nodes(const PfsTreeCache *cache, uint32 count, uint32 first_merged)
{
	uint32 *nodes = PFS_ARRAY(uint32, count);
	uint32 listed = 0;

	for (uint32 number = first_merged; number < cache->shape_count; number++)
	{
		const PfsTreeShape *shape = &cache->shapes[number];

		/* the shape's other nodes are copies of ancestors */
		for (uint32 place = 1; place < shape->count; place++)
			if (cache->shape_of[shape->indexes[place]] == number)
				nodes[listed++] = shape->indexes[place];
	}
	for (uint32 i = cache->first_unplaced; i <= cache->tree.node_count; i++)
		if (cache->shape_of[i] == PFS_NO_SHAPE)
			nodes[listed++] = i;
	Assert(listed == count);
	return nodes;
}

void
pfs_tree_shapes_extend(PfsTreeCache *cache)
{
	uint32 count = cache->tree.node_count - cache->placed_count;
	uint32 number;
	uint32 *nodes;
	uint32 *places;
	PfsTreeShape shape;

	number = cache->shape_count - count_merged(cache, &count);
	if (number == 0)
		make_first(cache);
	else
	{
		nodes = list_nodes(cache, count, number);
		places = PFS_ARRAY(uint32, count);
		/* pfs_shape_make_of() replaces the nodes by places, and both are needed. */
		memcpy(places, nodes, count * sizeof(uint32));
		pfs_shape_make_of(&shape, cache->context, &cache->tree, places, count);
		for (uint32 i = 0; i < count; i++)
		{
			cache->shape_of[nodes[i]] = (uint8) number;
			cache->places[nodes[i]] = places[i];
		}
		free_shapes(cache, number);
		cache->shapes[number] = shape;
		cache->own_counts[number] = count;
		cache->shape_count = number + 1;
		pfree(nodes);
		pfree(places);
	}
	cache->placings += cache->shapes[cache->shape_count - 1].count;
	cache->placed_count = cache->tree.node_count;
	cache->first_unplaced = cache->tree.node_count + 1;
}

void
pfs_tree_shapes_move(PfsTreeCache *cache, uint32 start, const uint32 *order, const uint32 *moved_to)
{
	uint32 count = cache->tree.node_count - start + 1;
	uint32 *places;
	uint8 *shape_of;

	/* No shape has been made. */
	if (cache->places == NULL)
		return;

	/* 1. move the arrays indexed by node */
	places = PFS_ARRAY(uint32, count);
	shape_of = PFS_ARRAY(uint8, count);
	for (uint32 i = 0; i < count; i++)
	{
		places[i] = cache->places[order[i]];
		shape_of[i] = cache->shape_of[order[i]];
	}
	memcpy(cache->places + start, places, count * sizeof(uint32));
	memcpy(cache->shape_of + start, shape_of, count * sizeof(uint8));

	/*
	 * 2. the first shape has each of its nodes once; the others also have copies
	 */
	own_shape(cache);
	for (uint32 i = 0; i < count; i++)
		if (shape_of[i] == 0)
			unconstify(uint32 *, cache->shapes[0].indexes)[places[i]] = start + i;
	for (uint32 number = 1; number < cache->shape_count; number++)
	{
		uint32 *indexes = unconstify(uint32 *, cache->shapes[number].indexes);

		for (uint32 place = 1; place < cache->shapes[number].count; place++)
			/* Nodes before start have not moved. */
			if (indexes[place] >= start)
				indexes[place] = moved_to[indexes[place] - start];
	}
	/* A node without a place may have moved to the front. */
	cache->first_unplaced = Min(cache->first_unplaced, start);
	pfree(places);
	pfree(shape_of);
}
