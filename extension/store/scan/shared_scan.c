/*
 * shared_scan.c
 *		Copies waiting rows for the other processes of a scan.
 */
#include "store/scan/shared_scan.h"

#include "storage/shmem.h"

#include "store/segment/storage.h"
#include "store/write/write_buffer.h"

Size
pfs_shared_scan_bytes(Relation relation)
{
	return add_size(MAXALIGN(sizeof(PfsSharedScan)),
					pfs_write_buffer_image_bytes(pfs_storage_id(relation)));
}

void
pfs_shared_scan_init(Relation relation, PfsSharedScan *shared)
{
	int64 storage_id = pfs_storage_id(relation);

	pg_atomic_init_u64(&shared->next_chunk, 0);
	shared->image_bytes = pfs_write_buffer_image_bytes(storage_id);
	pfs_write_buffer_image_make(storage_id, unconstify(char *, pfs_shared_scan_images(shared)));
}

void
pfs_shared_scan_rewind(PfsSharedScan *shared)
{
	pg_atomic_write_u64(&shared->next_chunk, 0);
}
