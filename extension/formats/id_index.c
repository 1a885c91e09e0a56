/*
 * id_index.c
 *		Finds ids. Entries are sorted by id, unless the ids are 1, 2, 3 ... in order.
 */
#include <stdlib.h>

#include "formats/id_index.h"

bool
pfs_id_add(PfsIdIndex *index, PfsBudget *budget, uint64_t id)
{
	if (!PFS_GROW(budget, index->entries, index->count))
		return false;
	index->entries[index->count] = (PfsIdEntry){ id, index->count };
	index->count++;
	return true;
}

static int
compare_ids(const void *a, const void *b)
{
	uint64_t left = ((const PfsIdEntry *) a)->id;
	uint64_t right = ((const PfsIdEntry *) b)->id;

	return (left > right) - (left < right);
}

bool
pfs_ids_finish(PfsIdIndex *index)
{
	index->dense = true;
	for (uint32_t i = 0; i < index->count && index->dense; i++)
		index->dense = index->entries[i].id == (uint64_t) i + 1;
	if (index->dense)
		return true;
	qsort(index->entries, index->count, sizeof(PfsIdEntry), compare_ids);
	for (uint32_t i = 1; i < index->count; i++)
		if (index->entries[i].id == index->entries[i - 1].id)
			return false;
	return true;
}

uint32_t
pfs_id_find(const PfsIdIndex *index, uint64_t id)
{
	PfsIdEntry key = { id, 0 };
	const PfsIdEntry *entry;

	if (index->dense)
		return id >= 1 && id <= index->count ? (uint32_t) id - 1 : PFS_NONE;
	entry = bsearch(&key, index->entries, index->count, sizeof(PfsIdEntry), compare_ids);
	return entry == NULL ? PFS_NONE : entry->index;
}
