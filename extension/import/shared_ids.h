/*
 * shared_ids.h
 *		Ids that imports of all sessions have received for contents, in shared memory if the module
 *		is preloaded.
 *
 * The ids belong to one role, the one that offered most. All were committed under the epoch of ids
 * under which they are borrowed. They never change: a session that knows more ids replaces all of
 * them.
 */
#ifndef PFS_SHARED_IDS_H
#define PFS_SHARED_IDS_H

#include "profstore.h"

#include "import/id_content.h"

typedef struct PfsSharedIds PfsSharedIds;

/* Returns true if there is shared memory. */
bool pfs_shared_ids_have_room(void);

/*
 * Borrows the ids of a role under the epoch of the dictionary's caches; NULL if there are none.
 * They are returned when the process ends at the latest.
 */
const PfsSharedIds *pfs_shared_ids_borrow(const char *role);
void pfs_shared_ids_release(const PfsSharedIds *ids);

uint32 pfs_shared_ids_count(const PfsSharedIds *ids);

/* Returns the id of a content; 0 if it is unknown. */
int32 pfs_shared_ids_find(const PfsSharedIds *ids, const PfsIdContent *content);

/* An id and its content. */
typedef struct PfsSharedId
{
	PfsIdContent content;
	int32 id;
} PfsSharedId;

/*
 * Offers count ids together with those that were borrowed (NULL if none). They are stored if they
 * take at most most_bytes and are more than those in shared memory. No content may be in both
 * lists. Returns true if they are in shared memory afterwards.
 */
bool pfs_shared_ids_offer(const char *role, const PfsSharedId *ids, uint32 count,
						  const PfsSharedIds *borrowed, Size most_bytes);

#endif
