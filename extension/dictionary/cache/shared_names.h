/*
 * shared_names.h
 *		Cached locations, functions and mappings in shared memory (shared_area.h); internal to the
 *		room.
 *
 * A session finds here the names that another session has read from the tables. The copy holds
 * committed rows only, and is dropped when the epoch of names changes.
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

/* Rows of one kind by id, each a struct of dictionary.h; NULL: none. */
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

/*
 * Borrows the names that are shared under the epoch of the caches, by kind, and their number; NULL
 * if there are none.
 */
const PfsNamePages *pfs_shared_names_borrow(uint32 *count);
void pfs_shared_names_release(const PfsNamePages *shared);

/*
 * Offers a session's own names together with those that it has borrowed (NULL if none), count in
 * all. They are shared if they are clearly more than the names in shared memory.
 */
void pfs_shared_names_offer(const PfsNamePages *own, const PfsNamePages *borrowed, uint32 count);

#endif
