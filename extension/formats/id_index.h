/*
 * id_index.h
 *		Ids of one kind of message, and the order in which they came. Knows no server header.
 */
#ifndef PFS_ID_INDEX_H
#define PFS_ID_INDEX_H

#include "formats/profile.h"

typedef struct PfsIdEntry
{
	uint64_t id;
	uint32_t index;
} PfsIdEntry;

/* Zeroed: empty. The entries are the caller's to free through the budget's allocator. */
typedef struct PfsIdIndex
{
	PfsIdEntry *entries;
	uint32_t count;
	bool dense; /* ids are 1, 2, 3 … */
} PfsIdIndex;

/* Adds the next id; false where memory or budget are out. */
bool pfs_id_add(PfsIdIndex *index, PfsBudget *budget, uint64_t id);

/* Sorts the ids when all are in; false where one is there twice. */
bool pfs_ids_finish(PfsIdIndex *index);

/* The index of an id, PFS_NONE where it is not there. */
uint32_t pfs_id_find(const PfsIdIndex *index, uint64_t id);

#endif
