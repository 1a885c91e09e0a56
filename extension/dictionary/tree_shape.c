/*
 * tree_shape.c
 *		Numbering nodes depth first: sizes of subtrees in one pass back, places in one pass forth.
 */
#include "dictionary/tree_shape.h"

#include "utils/memutils.h"

void
pfs_tree_shape_make(PfsTreeShape *shape, MemoryContext context, uint32 count, const uint32 *parents,
					const int32 *locations)
{
	uint32 *places =
		MemoryContextAllocHuge(context, mul_size(count, 4 * sizeof(uint32) + sizeof(int32)));
	uint32 *indexes = places + count;
	uint32 *shape_parents = indexes + count;
	uint32 *ends = shape_parents + count;
	int32 *shape_locations = (int32 *) (ends + count);
	/* nodes of the subtree; once a node has its place, the place of its next child */
	uint32 *sizes = palloc_extended(mul_size(count, sizeof(uint32)), MCXT_ALLOC_HUGE);

	for (uint32 i = 0; i < count; i++)
		sizes[i] = 1;
	for (uint32 i = count - 1; i > 0; i--)
		sizes[parents[i]] += sizes[i];

	places[0] = indexes[0] = shape_parents[0] = 0;
	shape_locations[0] = 0;
	ends[0] = count;
	sizes[0] = 1;
	for (uint32 i = 1; i < count; i++)
	{
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
	*shape = (PfsTreeShape){ count, places, indexes, shape_parents, ends, shape_locations };
}
