/*
 * partitions.h
 *		Partitions of samples, its tiers and trace_samples: one per UTC day, for the hour tier
 *		one per month.
 */
#ifndef PFS_PARTITIONS_H
#define PFS_PARTITIONS_H

#include "profstore.h"

#include "datatype/timestamp.h"

typedef struct PfsPartitioned
{
	const char *name;	 /* name of the partitioned table in schema profstore */
	const char *comment; /* contents of a partition, for its COMMENT */
	bool by_month;
	bool of_traces; /* a heap with indexes; otherwise a table of access method profstore */
} PfsPartitioned;

extern const PfsPartitioned pfs_partitioned_minute;
extern const PfsPartitioned pfs_partitioned_hour;

/*
 * Returns the partition for a time. If it is missing, creates it under ShareUpdateExclusiveLock on
 * the parent, held until the transaction ends. Raises DATETIME_VALUE_OUT_OF_RANGE outside the years
 * 1970 to 9999, and DUPLICATE_TABLE if a table that is not a partition of the parent has the name.
 */
Oid pfs_ensure_partition(const PfsPartitioned *table, TimestampTz time);

#endif
