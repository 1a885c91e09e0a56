/*
 * shared_samples.c
 *		Shares the scans of partitions among processes, one partition after another.
 */
#include "select/shared_samples.h"

#include "access/table.h"
#include "commands/defrem.h"
#include "storage/shmem.h"
#include "utils/rel.h"

static bool
partition_is_columnar(Relation relation)
{
	return relation->rd_rel->relam == get_table_am_oid("profstore", true);
}

/* Returns the bytes of a partition's shared scan; 0 if it has none. */
static Size
scan_bytes(Oid relid)
{
	Relation relation = table_open(relid, NoLock);
	Size bytes = partition_is_columnar(relation) ? MAXALIGN(pfs_shared_scan_bytes(relation)) : 0;

	table_close(relation, NoLock);
	return bytes;
}

static Size
shared_samples_head_bytes(const List *partitions)
{
	return MAXALIGN(add_size(offsetof(PfsSharedSamples, partitions),
							 mul_size(sizeof(PfsSharedPartition), list_length(partitions))));
}

Size
pfs_shared_samples_bytes(const List *partitions)
{
	Size bytes = shared_samples_head_bytes(partitions);
	ListCell *cell;

	foreach(cell, partitions)
		bytes = add_size(bytes, scan_bytes(lfirst_oid(cell)));
	return bytes;
}

void
pfs_shared_samples_init(PfsSharedSamples *shared, const List *partitions, int tier_partitions,
						const TimestampTz *tier_ends)
{
	Size offset = shared_samples_head_bytes(partitions);
	ListCell *cell;

	pfs_shared_counters_init(&shared->counters);
	memcpy(shared->tier_ends, tier_ends, sizeof(shared->tier_ends));
	shared->tier_partitions = tier_partitions;
	shared->partition_count = 0;
	foreach(cell, partitions)
	{
		PfsSharedPartition *partition = &shared->partitions[shared->partition_count++];
		Relation relation = table_open(lfirst_oid(cell), NoLock);

		partition->relid = lfirst_oid(cell);
		partition->scan_offset = 0;
		pg_atomic_init_u32(&partition->is_taken, 0);
		if (partition_is_columnar(relation))
		{
			partition->scan_offset = offset;
			pfs_shared_scan_init(relation, (PfsSharedScan *) ((char *) shared + offset));
			offset += MAXALIGN(pfs_shared_scan_bytes(relation));
		}
		table_close(relation, NoLock);
	}
}

PfsSharedScan *
pfs_shared_samples_scan(PfsSharedSamples *shared, int partition)
{
	Size offset = shared->partitions[partition].scan_offset;

	return offset == 0 ? NULL : (PfsSharedScan *) ((char *) shared + offset);
}

bool
pfs_shared_samples_take(PfsSharedSamples *shared, int partition)
{
	return pg_atomic_exchange_u32(&shared->partitions[partition].is_taken, 1) == 0;
}
