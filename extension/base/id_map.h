/*
 * id_map.h
 *		Maps ids of the dictionary to small numbers, which are initially 0.
 *
 * Ids come from sequences, so they are dense: paged arrays map them without a hash.
 */
#ifndef PFS_ID_MAP_H
#define PFS_ID_MAP_H

#include "profstore.h"

#include "base/arrays.h"

#define PFS_ID_PAGE_BITS  12
#define PFS_ID_PAGE_SLOTS (1 << PFS_ID_PAGE_BITS)

typedef struct PfsIdMap
{
	MemoryContext context; /* context of the pages */
	uint32 **pages;
	uint32 page_count;
} PfsIdMap;

/* Returns the slot of an id, which must not be negative. Slots do not move. */
static inline uint32 *
pfs_id_map_slot(PfsIdMap *map, int32 id)
{
	uint32 page = (uint32) id >> PFS_ID_PAGE_BITS;

	if (page >= map->page_count)
	{
		uint32 old = map->page_count;

		PFS_RESERVE_IN(map->context, map->pages, map->page_count, page + 1);
		memset(map->pages + old, 0, (map->page_count - old) * sizeof(uint32 *));
	}
	if (map->pages[page] == NULL)
		map->pages[page] = MemoryContextAllocZero(map->context, PFS_ID_PAGE_SLOTS * sizeof(uint32));
	return &map->pages[page][(uint32) id & (PFS_ID_PAGE_SLOTS - 1)];
}

/* Returns the number in the slot of an id; 0 if it has no slot. */
static inline uint32
pfs_id_map_find(const PfsIdMap *map, int32 id)
{
	uint32 page = (uint32) id >> PFS_ID_PAGE_BITS;

	if (page >= map->page_count || map->pages[page] == NULL)
		return 0;
	return map->pages[page][(uint32) id & (PFS_ID_PAGE_SLOTS - 1)];
}

#endif
