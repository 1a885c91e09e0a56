/*
 * partitions.h
 *		The partitions of samples, of its tiers and of traces: by UTC day, those of the hour tier by
 *		month.
 */
#ifndef PFS_PARTITIONS_H
#define PFS_PARTITIONS_H

#include "profstore.h"

#include "datatype/timestamp.h"

typedef struct PfsPartitioned
{
	const char *name;	 /* of the table in schema profstore */
	const char *comment; /* what a partition holds, for its comment */
	bool by_month;
	bool of_traces; /* a heap with indexes, where the others are columns */
} PfsPartitioned;

extern const PfsPartitioned pfs_partitioned_minute;
extern const PfsPartitioned pfs_partitioned_hour;

/*
 * The partition that holds a time, made where it is missing: then with ShareUpdateExclusiveLock on
 * the parent until the transaction ends. Raises DATETIME_VALUE_OUT_OF_RANGE outside the years 1970
 * to 9999, and DUPLICATE_TABLE where a table of its name is none of the parent's partitions.
 */
Oid pfs_ensure_partition(const PfsPartitioned *table, TimestampTz time);

#endif
