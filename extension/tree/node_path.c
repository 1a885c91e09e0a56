/*
 * node_path.c
 *		Walks up from a leaf until its path meets that of the leaf before.
 */
#include "tree/node_path.h"

#include "miscadmin.h"

#include "base/arrays.h"
#include "base/id_map.h"

#define INITIAL_DEPTH 64

PfsNodePath
pfs_node_path_begin(const PfsTreeShape *shape)
{
	return (PfsNodePath){ .shape = shape,
						  .places = PFS_ARRAY(uint32, INITIAL_DEPTH),
						  .capacity = INITIAL_DEPTH };
}

void
pfs_node_path_go(PfsNodePath *path, uint32 leaf)
{
	const uint32 *parents = path->shape->parents;
	const uint32 *ends = path->shape->ends;
	uint32 shared = path->depth;
	uint32 depth;
	uint32 above;

	/*
	 * A leaf lies below a node if its place is less than the node's end; it is never less than the
	 * place, because leaves ascend.
	 */
	while (shared > 0 && leaf >= ends[path->places[shared - 1]])
		shared--;
	above = shared == 0 ? 0 : path->places[shared - 1];
	depth = shared;
	/* Count first, so that places can be filled in from the end. */
	for (uint32 place = leaf; place != above; place = parents[place])
		depth++;
	PFS_RESERVE(path->places, path->capacity, depth);
	path->shared = shared;
	path->depth = depth;
	for (uint32 place = leaf; place != above; place = parents[place])
		path->places[--depth] = place;
}

void
pfs_node_paths_load_names(const PfsTreeShape *shape, const uint32 *leaves, uint32 count)
{
	PfsNodePath path = pfs_node_path_begin(shape);
	uint32 capacity = INITIAL_DEPTH;
	int32 *ids = PFS_ARRAY(int32, capacity);
	uint32 id_count = 0;
	/* avoids repeated ids: there are many more nodes than locations */
	PfsIdMap met = { .context = AllocSetContextCreate(CurrentMemoryContext, "profstore met ids",
													  ALLOCSET_DEFAULT_SIZES) };

	for (uint32 i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		pfs_node_path_go(&path, leaves[i]);
		for (uint32 depth = path.shared; depth < path.depth; depth++)
		{
			int32 id = shape->locations[path.places[depth]];
			uint32 *slot;

			if (pfs_location_is_cached(id))
				continue;
			slot = pfs_id_map_slot(&met, id);
			/* The location was met already. */
			if (*slot != 0)
				continue;
			*slot = 1;
			PFS_RESERVE(ids, capacity, (uint64) id_count + 1);
			ids[id_count++] = id;
		}
	}
	MemoryContextDelete(met.context);
	pfs_locations_load(ids, id_count);
	pfree(ids);
	pfree(path.places);
}
