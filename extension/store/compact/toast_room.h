/*
 * toast_room.h
 *		Where values lie in a TOAST relation, and where it has room.
 *
 * Room is what the free space map knows of: pages that VACUUM has found empty, or partly so. The
 * map is a hint, which nobody logs: a page may have less.
 */
#ifndef PFS_TOAST_ROOM_H
#define PFS_TOAST_ROOM_H

#include "profstore.h"

#include "storage/block.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"

/* The pages that a value's chunks are on, without having read it. */
typedef struct PfsToastReach
{
	BlockNumber last_page;
	uint32 chunk_count;
} PfsToastReach;

typedef struct PfsToastValues PfsToastValues;

/* The caller holds a lock on the TOAST relation; the snapshot is active or registered. */
PfsToastValues *pfs_toast_values_begin(Relation toast, Snapshot snapshot);
PfsToastReach pfs_toast_locate(PfsToastValues *values, Oid value_id);
void pfs_toast_values_end(PfsToastValues *values);

/* Full chunks for which pages before end have room; not counted further than to enough. */
uint64 pfs_toast_free_chunks(Relation toast, BlockNumber end, uint64 enough);

typedef struct PfsHiddenPages PfsHiddenPages;

/*
 * Makes the map send nobody to first and the pages behind it, nor this session to its last page,
 * until they are shown again. Where an error comes between, they stay hidden until VACUUM comes to
 * them. The result lies in CurrentMemoryContext.
 */
PfsHiddenPages *pfs_toast_hide(Relation toast, BlockNumber first);
void pfs_toast_show(PfsHiddenPages *hidden); /* frees it */

#endif
