/*
 * sides.h
 *		A pair of values: a side each of a comparison. Without a comparison the base is 0.
 */
#ifndef PFS_SIDES_H
#define PFS_SIDES_H

#include "profstore.h"

typedef struct PfsSides
{
	int64 value;
	int64 base; /* what the value is compared with */
} PfsSides;

/* Sums of many, while they are added up: exact, so that the order is of no account. */
typedef struct PfsWideSides
{
	int128 value;
	int128 base;
} PfsWideSides;

static inline void
pfs_add_sides(PfsWideSides *sum, PfsSides more)
{
	sum->value += more.value;
	sum->base += more.base;
}

static inline void
pfs_add_wide_sides(PfsWideSides *sum, const PfsWideSides *more)
{
	sum->value += more->value;
	sum->base += more->base;
}

/*
 * a - b, modulo 2^64. The rest of a total fits where it is a sum of stacks, even if sums on the way
 * there do not.
 */
static inline PfsSides
pfs_subtract_sides(PfsSides a, PfsSides b)
{
	return (PfsSides){ (int64) ((uint64) a.value - (uint64) b.value),
					   (int64) ((uint64) a.base - (uint64) b.base) };
}

#endif
