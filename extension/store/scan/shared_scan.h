/*
 * shared_scan.h
 *		What processes share that read one scan together: each block comes to one of them.
 *
 * The struct lies in shared memory and carries the leader's waiting rows. All processes begin their
 * scans under the same snapshot. Should their filters differ, each uses its own on the blocks that
 * come to it.
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
	/* MAXALIGNed: row images */
} PfsSharedScan;

/* What it takes for a relation now, in bytes. */
Size pfs_shared_scan_bytes(Relation relation);

/* By the leader, before others begin; later it is rewound for all to begin again. */
void pfs_shared_scan_init(Relation relation, PfsSharedScan *shared);
void pfs_shared_scan_rewind(PfsSharedScan *shared);

/* The row images, image_bytes long. */
static inline const char *
pfs_shared_scan_images(const PfsSharedScan *shared)
{
	return (const char *) shared + MAXALIGN(sizeof(PfsSharedScan));
}

#endif
