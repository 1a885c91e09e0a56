/*
 * shared_names.h
 *		Cached locations, functions and mappings in shared memory (shared_area.h); internal to the
 *		room.
 *
 * What one session has read of the tables, others find there. It holds what was committed, and goes
 * with the epoch of names.
 */
#ifndef PFS_SHARED_NAMES_H
#define PFS_SHARED_NAMES_H

#include "profstore.h"

#define PFS_NAME_PAGE_BITS	10
#define PFS_NAME_PAGE_SLOTS (1 << PFS_NAME_PAGE_BITS)

typedef enum PfsNameKind
{
	PFS_LOCATIONS,
	PFS_FUNCTIONS,
	PFS_MAPPINGS
} PfsNameKind;

#define PFS_NAME_KINDS 3

/* Rows of one kind by id, each a struct of dictionary.h; NULL: not there. */
typedef struct PfsNamePages
{
	void ***pages;
	uint32 page_count;
} PfsNamePages;

static inline const void *
pfs_name_find(const PfsNamePages *names, int32 id)
{
	uint32 page = (uint32) id >> PFS_NAME_PAGE_BITS;

	if (id < 0 || page >= names->page_count || names->pages[page] == NULL)
		return NULL;
	return names->pages[page][id & (PFS_NAME_PAGE_SLOTS - 1)];
}

/* Those that are shared under the epoch that the caches are of, by kind, and how many; or NULL. */
const PfsNamePages *pfs_shared_names_borrow(uint32 *count);
void pfs_shared_names_release(const PfsNamePages *shared);

/*
 * Shares a session's own names, by kind, with those that it has borrowed (NULL: none), so many
 * together, if they are well more than what is there.
 */
void pfs_shared_names_offer(const PfsNamePages *own, const PfsNamePages *borrowed, uint32 count);

#endif
