/*
 * carries.h
 *		Sums of int8 that are exact whatever the order of their parts.
 *
 * A sum is added up modulo 2^64, which costs no more than looking whether it fits. Each time that
 * it leaves int8, its carry, in units of 2^64, goes to a table that is made then. So sums that come
 * back are what they would be in any other order, and only the result is cut to what int8 holds
 * (pfs_clip).
 */
#ifndef PFS_CARRIES_H
#define PFS_CARRIES_H

#include "profstore.h"

#include "base/series_table.h"

/* NULL table: there are none. */
typedef struct PfsCarries
{
	MemoryContext context;
	pfs_series_table_hash *table;
} PfsCarries;

void pfs_carry(PfsCarries *carries, int32 series, int64 id, int64 carry);

static inline void
pfs_add_carrying(int64 *sum, int64 value, PfsCarries *carries, int32 series, int64 id)
{
	if (unlikely(__builtin_add_overflow(*sum, value, sum)))
		pfs_carry(carries, series, id, value < 0 ? -1 : 1);
}

/* The same of a value that may be wider. */
void pfs_add_wide_carrying(int64 *sum, int128 value, PfsCarries *carries, int32 series, int64 id);

int128 pfs_look_for_carry(const PfsCarries *carries, int32 series, int64 id, int64 sum);

static inline int128
pfs_with_carry(const PfsCarries *carries, int32 series, int64 id, int64 sum)
{
	return likely(carries->table == NULL) ? sum : pfs_look_for_carry(carries, series, id, sum);
}

#endif
