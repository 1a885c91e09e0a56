/*
 * shared_area.h
 *		Things that sessions read in shared memory, where the module is preloaded.
 *
 * A thing is a copy of what one session has read of tables, found by its number and the epoch under
 * which it was read. It never changes: who has read more puts another in its place. Who borrows it
 * reads it where it is; its memory goes with the last who has, when it is out of the table. Things
 * that were not used for long make room for others. It lies at the same address in all processes,
 * so it may hold pointers into itself.
 *
 * Locks: one LWLock, shared while a thing is looked for, exclusive while room is made for one, or
 * it is made known, taken out or given back; it is filled without. No errors are raised but
 * OUT_OF_MEMORY, and nothing is waited for but the lock.
 */
#ifndef PFS_SHARED_AREA_H
#define PFS_SHARED_AREA_H

#include "profstore.h"

/* Numbers of things: dictionary partitions, and these. */
#define PFS_SHARED_NAMES (-1)
#define PFS_SHARED_IDS	 (-2) /* of imports */

/* What is told of a thing. */
typedef struct PfsSharedFacts
{
	int64 names_epoch; /* 0 where it holds no names */
	uint64 horizon;	   /* of a tree, as PfsTreeCache has it */
	uint32 count;	   /* nodes of a tree, or names */
	bool has_shape;
} PfsSharedFacts;

/* The setting profstore.shared_cache_size, and the memory if the module is being preloaded. */
void pfs_shared_area_init(void);

/* Whether a thing of so many bytes may be put in. */
bool pfs_shared_has_room(Size bytes);

/*
 * Tells of the thing of a number under the epoch that the caches are of; false where there is none.
 */
bool pfs_shared_look(int32 number, PfsSharedFacts *facts);

/* Borrows it; NULL where there is none. Given back at the latest when the process ends. */
void *pfs_shared_borrow(int32 number, PfsSharedFacts *facts);
void pfs_shared_release(void *thing);

/*
 * Puts in a thing of so many bytes, unless one is there of this epoch than which it is not better,
 * or of a later epoch. fill writes it to its place, under no lock; it raises no error and handles
 * no interrupt. Whether the thing is there.
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
