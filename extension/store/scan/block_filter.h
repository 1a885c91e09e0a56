/*
 * block_filter.h
 *		Filters of a scan, applied to a range of values, to one value, or to a block of values.
 */
#ifndef PFS_BLOCK_FILTER_H
#define PFS_BLOCK_FILTER_H

#include "profstore.h"

#include "access/attnum.h"

/*
 * Keeps rows whose column lies in [low, high] and, if keys is not NULL, is one of keys; never NULL
 * rows. If keeps_nulls is set, keeps exactly the NULL rows instead.
 */
typedef struct PfsBlockFilter
{
	AttrNumber attnum;
	/*
	 * smallest key that passes. The key of a value, as value.h defines it, is the value itself,
	 * except for floats.
	 */
	int64 low;
	int64 high;		   /* greatest key that passes */
	const int64 *keys; /* ascending and distinct, or NULL; must outlive the scan */
	uint32 key_count;
	/* numbers are compared with keys only from this bit on; usually 0 */
	uint8 key_shift;
	bool keeps_nulls;
} PfsBlockFilter;

/* Narrows filter by another one if both are ranges on one column; otherwise returns false. */
bool pfs_filter_narrow(PfsBlockFilter *filter, const PfsBlockFilter *other);

/* Returns true if any value whose key lies in [min, max] can pass. */
bool pfs_filter_overlaps(const PfsBlockFilter *filter, int64 min, int64 max);
bool pfs_filter_passes(const PfsBlockFilter *filter, int64 value);
/* Returns true if every value in [min, max] passes. */
bool pfs_filter_contains(const PfsBlockFilter *filter, int64 min, int64 max);

/*
 * Reduces selection to the rows that pass. selection holds ascending row numbers, values the keys
 * of all rows; nulls may be NULL. Returns how many rows are left.
 */
uint32 pfs_filter_select(const PfsBlockFilter *filter, const int64 *values, const bool *nulls,
						 uint16 *selection, uint32 count);
/*
 * Like pfs_filter_select(), but starts from all rows 0 .. count - 1. The previous contents of
 * selection are ignored.
 */
uint32 pfs_filter_select_of_all(const PfsBlockFilter *filter, const int64 *values,
								const bool *nulls, uint16 *selection, uint32 count);

#endif
