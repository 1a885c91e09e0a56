/*
 * periods.h
 *		The periods around a deploy, and the hosts that are compared in them.
 */
#ifndef PFS_PERIODS_H
#define PFS_PERIODS_H

#include "profstore.h"

#include "datatype/timestamp.h"

/*
 * Periods of a base, one after another, and the time after the deploy, which begins a while after
 * the base ends.
 */
typedef struct PfsPeriods
{
	TimestampTz base_from;
	TimestampTz after_from;
	int64 length_us;   /* length of each period of the base, and of the time after */
	uint32 base_count; /* number of periods of the base, at least 1 */
} PfsPeriods;

/*
 * Slots after those of the base: the halves of the time after the deploy, first of series with the
 * new version, then of those with the old one.
 */
enum
{
	PFS_SLOT_NEW,
	PFS_SLOT_OLD = PFS_SLOT_NEW + 2,
	PFS_AFTER_SLOTS = PFS_SLOT_OLD + 2
};

typedef struct PfsHosts
{
	uint32 count;
	const char **names; /* names of the hosts, sorted */
	/* for each PfsSeries.index, the number of its host; -1 if it has none */
	const int32 *of_series;
	/* for each PfsSeries.index, true if its samples after the deploy are of the old version */
	const bool *is_old;
	/*
	 * For each PfsSeries.index, true if it has the new version, so that its samples before the
	 * deploy do not belong to the base.
	 */
	const bool *is_new;
} PfsHosts;

/* Returns the times at which a slot begins and ends. */
void pfs_slot_range(const PfsPeriods *periods, uint32 slot, TimestampTz *from, TimestampTz *to);

#endif
