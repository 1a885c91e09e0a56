/*
 * periods.c
 *		The times of slots.
 */
#include "insight/periods.h"

void
pfs_slot_range(const PfsPeriods *periods, uint32 slot, TimestampTz *from, TimestampTz *to)
{
	int64 half = periods->length_us / 2;

	if (slot < periods->base_count)
	{
		*from = periods->base_from + (int64) slot * periods->length_us;
		*to = *from + periods->length_us;
		return;
	}
	/* new and old versions have the same two halves */
	*from = periods->after_from + (slot - periods->base_count) % 2 * half;
	*to = (slot - periods->base_count) % 2 == 0 ? *from + half
												: periods->after_from + periods->length_us;
}
