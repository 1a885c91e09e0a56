/*
 * shared_ids.h
 *		Ids that imports of all sessions got by content, in shared memory where the module is
 *		preloaded.
 *
 * They are those of one role, the one that had most to tell. All were committed, under the epoch of
 * ids that they are borrowed under. They never change: who knows more puts others in their place.
 */
#ifndef PFS_SHARED_IDS_H
#define PFS_SHARED_IDS_H

#include "profstore.h"

#include "import/id_content.h"

typedef struct PfsSharedIds PfsSharedIds;

/* Whether there is shared memory. */
bool pfs_shared_ids_have_room(void);

/*
 * Those of a role under the epoch that the dictionary's caches are of; NULL: there are none. Given
 * back at the latest when the process ends.
 */
const PfsSharedIds *pfs_shared_ids_borrow(const char *role);
void pfs_shared_ids_release(const PfsSharedIds *ids);

uint32 pfs_shared_ids_count(const PfsSharedIds *ids);

/* The id of a content; 0: not known. */
int32 pfs_shared_ids_find(const PfsSharedIds *ids, const PfsIdContent *content);

/* An id and what it is known by. */
typedef struct PfsSharedId
{
	PfsIdContent content;
	int32 id;
} PfsSharedId;

/*
 * Puts in so many ids with those that were borrowed (NULL: none), if they take most_bytes at most,
 * and are more than what is there. No content is in both. Whether they are there then.
 */
bool pfs_shared_ids_offer(const char *role, const PfsSharedId *ids, uint32 count,
						  const PfsSharedIds *borrowed, Size most_bytes);

#endif
