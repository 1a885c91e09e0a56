/*
 * carries.c
 *		Keeps the carries of sums in a hash table. Few sums have any.
 */
#include "merge/carries.h"

#define INITIAL_CARRIES 16

#define CARRY_BITS 64

void
pfs_carry(PfsCarries *carries, int32 series, int64 id, int64 carry)
{
	bool found;

	/* Most queries have no carry at all. */
	if (carries->table == NULL)
		carries->table = pfs_series_table_create(carries->context, INITIAL_CARRIES, NULL);
	pfs_series_table_get(carries->table, series, id, &found)->value += carry;
}

void
pfs_add_wide_carrying(int64 *sum, int128 value, PfsCarries *carries, int32 series, int64 id)
{
	int64 low = (int64) (uint64) value;
	/* low is signed, so value - low is a multiple of 2^64 even for a negative value. */
	int64 high = (int64) ((value - low) >> CARRY_BITS);

	pfs_add_carrying(sum, low, carries, series, id);
	if (high != 0)
		pfs_carry(carries, series, id, high);
}

int128
pfs_look_for_carry(const PfsCarries *carries, int32 series, int64 id, int64 sum)
{
	const PfsSeriesKey key = { id, series };
	const PfsSeriesEntry *entry = pfs_series_table_lookup(carries->table, key);

	return entry == NULL ? sum : sum + ((int128) entry->value * ((int128) 1 << CARRY_BITS));
}
