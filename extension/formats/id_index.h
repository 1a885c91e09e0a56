/*
 * id_index.h
 *		Ids of one kind of message, and their order in the file. Includes no server header.
 */
#ifndef PFS_ID_INDEX_H
#define PFS_ID_INDEX_H

#include "formats/profile.h"

typedef struct PfsIdEntry
{
	uint64_t id;
	uint32_t index;
} PfsIdEntry;

/*
 * An index of ids. A zeroed index is empty. The caller frees the entries with the budget's
 * allocator.
 */
typedef struct PfsIdIndex
{
	PfsIdEntry *entries;
	uint32_t count;
	bool dense; /* true if the ids are 1, 2, 3 ... in order */
} PfsIdIndex;

/* Adds the next id. Returns false if out of memory or budget. */
bool pfs_id_add(PfsIdIndex *index, PfsBudget *budget, uint64_t id);

/* Sorts the ids after the last was added. Returns false if an id exists twice. */
bool pfs_ids_finish(PfsIdIndex *index);

/* Returns the index of an id, PFS_NONE if it does not exist. */
uint32_t pfs_id_find(const PfsIdIndex *index, uint64_t id);

#endif
