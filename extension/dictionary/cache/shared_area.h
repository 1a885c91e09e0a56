/*
 * shared_area.h
 *		Copies of table contents that sessions share in shared memory, if the module is
 *		preloaded.
 *
 * A copy ("thing") holds what one session has read from tables, and is found by its number and the
 * epoch under which it was read. It never changes: a session that has read more replaces it. A
 * session borrows a copy and reads it in place; its memory is freed when it has been replaced and
 * the last borrower returns it. Copies that were not used for long make room for others. A copy has
 * the same address in all processes, so it may hold pointers into itself.
 *
 * Locks: one LWLock, taken shared to find a copy, and exclusively to make room for one, publish it,
 * remove it or return it. A copy is filled without the lock. The only error is OUT_OF_MEMORY, and
 * nothing waits except for the lock.
 */
#ifndef PFS_SHARED_AREA_H
#define PFS_SHARED_AREA_H

#include "profstore.h"

/* Numbers of copies that do not hold a dictionary partition. */
#define PFS_SHARED_NAMES (-1)
#define PFS_SHARED_IDS	 (-2) /* ids that imports share */

/* Properties of a copy of table contents in shared memory. */
typedef struct PfsSharedFacts
{
	int64 names_epoch; /* 0 if it holds no names */
	uint64 horizon;	   /* horizon of a tree, see PfsTreeCache */
	uint32 count;	   /* nodes of a tree, or names */
	bool has_shape;
} PfsSharedFacts;

/*
 * Defines the setting profstore.shared_cache_size, and requests the memory if the module is being
 * preloaded.
 */
void pfs_shared_area_init(void);

/* Returns true if a copy of the given size is small enough to be shared. */
bool pfs_shared_has_room(Size bytes);

/*
 * Returns the facts of the copy with this number, if it belongs to the epoch of the caches;
 * otherwise false.
 */
bool pfs_shared_look(int32 number, PfsSharedFacts *facts);

/* Borrows a copy; NULL if there is none. It is returned when the process ends at the latest. */
void *pfs_shared_borrow(int32 number, PfsSharedFacts *facts);
void pfs_shared_release(void *thing);

/*
 * Offers a copy of that many bytes. It is stored unless shared memory has one of this epoch that is
 * at least as good, or one of a later epoch. fill() writes the copy to its place without holding
 * the lock; it must not raise an error or process interrupts. Returns true if the copy is in shared
 * memory afterwards.
 */
typedef struct PfsSharedOffer
{
	int32 number;
	PfsSharedFacts facts;
	Size bytes;
	bool (*is_better)(const PfsSharedFacts *offered, const PfsSharedFacts *present);
	void (*fill)(void *place, const void *argument);
	const void *argument;
} PfsSharedOffer;

bool pfs_shared_put(const PfsSharedOffer *offer);

#endif
