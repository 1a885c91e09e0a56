/*
 * toast_room.h
 *		Positions of values in a TOAST relation, and its free space.
 *
 * Free space means the pages in the free space map, which VACUUM has found empty or partly so. The
 * map is a hint and not WAL-logged, so a page may have less space than the map says.
 */
#ifndef PFS_TOAST_ROOM_H
#define PFS_TOAST_ROOM_H

#include "profstore.h"

#include "storage/block.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"

/* The pages of a value's chunks, found without reading the value. */
typedef struct PfsToastReach
{
	BlockNumber last_page;
	uint32 chunk_count;
} PfsToastReach;

typedef struct PfsToastValues PfsToastValues;

/* The caller holds a lock on the TOAST relation. The snapshot is active or registered. */
PfsToastValues *pfs_toast_values_begin(Relation toast, Snapshot snapshot);
PfsToastReach pfs_toast_locate(PfsToastValues *values, Oid value_id);
void pfs_toast_values_end(PfsToastValues *values);

/*
 * Returns the number of full chunks that fit in the free space of the pages before end. Stops
 * counting at enough.
 */
uint64 pfs_toast_free_chunks(Relation toast, BlockNumber end, uint64 enough);

typedef struct PfsHiddenPages PfsHiddenPages;

/*
 * Removes page first and all pages after it from the free space map, and forgets this session's
 * target block, so that inserts use earlier pages until pfs_toast_show(). If an error comes
 * between, the pages stay hidden until VACUUM processes them. The result is allocated in
 * CurrentMemoryContext.
 */
PfsHiddenPages *pfs_toast_hide(Relation toast, BlockNumber first);
void pfs_toast_show(PfsHiddenPages *hidden); /* restores the map, and frees hidden */

#endif
