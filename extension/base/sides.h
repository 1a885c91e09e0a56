/*
 * sides.h
 *		A pair of values, one for each side of a comparison. Without a comparison the base is 0.
 */
#ifndef PFS_SIDES_H
#define PFS_SIDES_H

#include "profstore.h"

typedef struct PfsSides
{
	int64 value;
	int64 base; /* the value of the base selection */
} PfsSides;

/*
 * Running sums of both sides. int128 cannot overflow here, so the order of additions does not
 * affect the result.
 */
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
 * Returns a - b, modulo 2^64. If the difference is a sum of stacks that fits int8, the result is
 * exact even if the running sums do not fit.
 */
static inline PfsSides
pfs_subtract_sides(PfsSides a, PfsSides b)
{
	return (PfsSides){ (int64) ((uint64) a.value - (uint64) b.value),
					   (int64) ((uint64) a.base - (uint64) b.base) };
}

#endif
