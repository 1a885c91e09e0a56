/*
 * carries.h
 *		Sums of int8 values that are exact in any order of addition.
 *
 * A sum is computed modulo 2^64, which costs no more than checking for overflow. Each time it
 * overflows, its carry, in units of 2^64, is recorded in a table. So a sum is exact even if it
 * overflows and later fits again, and only the result is clipped to int8 (pfs_clip()).
 */
#ifndef PFS_CARRIES_H
#define PFS_CARRIES_H

#include "profstore.h"

#include "base/series_table.h"

/* A NULL table means that there are no carries. */
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

/* Like pfs_add_carrying(), for a value that may be wider than int8. */
void pfs_add_wide_carrying(int64 *sum, int128 value, PfsCarries *carries, int32 series, int64 id);

int128 pfs_look_for_carry(const PfsCarries *carries, int32 series, int64 id, int64 sum);

static inline int128
pfs_with_carry(const PfsCarries *carries, int32 series, int64 id, int64 sum)
{
	return likely(carries->table == NULL) ? sum : pfs_look_for_carry(carries, series, id, sum);
}

#endif
