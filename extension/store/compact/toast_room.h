/*
 * toast_room.h
 *		Positions of values in a TOAST relation, and its free space.
 *
 * Free space means pages in the free space map: those that VACUUM has found empty, or partly so.
 * The map is a hint and not WAL-logged, so a page may have less.
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

/* Number of full chunks for which pages before end have free space. Stops counting at enough. */
uint64 pfs_toast_free_chunks(Relation toast, BlockNumber end, uint64 enough);

typedef struct PfsHiddenPages PfsHiddenPages;

/*
 * Removes page first and those behind it from the free space map, and this session's target block,
 * so that inserts use pages before them, until pfs_toast_show(). If an error comes between, the
 * pages stay hidden until VACUUM processes them. The result is allocated in CurrentMemoryContext.
 */
PfsHiddenPages *pfs_toast_hide(Relation toast, BlockNumber first);
void pfs_toast_show(PfsHiddenPages *hidden); /* restores the map, and frees hidden */

#endif
