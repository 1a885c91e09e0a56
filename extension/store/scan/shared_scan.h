/*
 * shared_scan.h
 *		Shared state of processes that read one scan together: each block is read by one of
 *		them.
 *
 * The struct lies in shared memory and holds the leader's waiting rows. All processes begin their
 * scans under the same snapshot. If their filters differ, each applies its own to the blocks it
 * reads.
 */
#ifndef PFS_SHARED_SCAN_H
#define PFS_SHARED_SCAN_H

#include "profstore.h"

#include "port/atomics.h"
#include "utils/relcache.h"

typedef struct PfsSharedScan
{
	pg_atomic_uint64 next_chunk; /* see scan_units.h */
	Size image_bytes;
	/* images of rows follow, MAXALIGNed */
} PfsSharedScan;

/* Returns the bytes of shared memory that a scan of the relation needs at this moment. */
Size pfs_shared_scan_bytes(Relation relation);

/*
 * The leader calls pfs_shared_scan_init() before other processes begin, and
 * pfs_shared_scan_rewind() before all processes scan again from the start.
 */
void pfs_shared_scan_init(Relation relation, PfsSharedScan *shared);
void pfs_shared_scan_rewind(PfsSharedScan *shared);

/* Returns the images of rows, which are image_bytes long. */
static inline const char *
pfs_shared_scan_images(const PfsSharedScan *shared)
{
	return (const char *) shared + MAXALIGN(sizeof(PfsSharedScan));
}

#endif
