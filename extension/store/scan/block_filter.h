/*
 * block_filter.h
 *		Deciding by a filter: on a range of values, on one value, on a block of them.
 */
#ifndef PFS_BLOCK_FILTER_H
#define PFS_BLOCK_FILTER_H

#include "profstore.h"

#include "access/attnum.h"

/*
 * Keeps rows whose column lies in [low, high] and, where keys is not NULL, is one of keys; never
 * NULL rows. Or, where keeps_nulls is set, just those.
 */
typedef struct PfsBlockFilter
{
	AttrNumber attnum;
	int64 low;	/* inclusive; keys of values, see value.h: values themselves but for floats */
	int64 high; /* inclusive */
	const int64 *keys; /* sorted ascending, distinct, or NULL; must outlive the scan */
	uint32 key_count;
	uint8 key_shift; /* keys stand for all numbers that agree from this bit on; mostly 0 */
	bool keeps_nulls;
} PfsBlockFilter;

/* Takes in another filter of the same column, if both are ranges; false where it does not. */
bool pfs_filter_narrow(PfsBlockFilter *filter, const PfsBlockFilter *other);

/* On keys of values: whether any value in [min, max] can pass. */
bool pfs_filter_overlaps(const PfsBlockFilter *filter, int64 min, int64 max);
bool pfs_filter_passes(const PfsBlockFilter *filter, int64 value);
/* Whether every value in [min, max] passes. */
bool pfs_filter_contains(const PfsBlockFilter *filter, int64 min, int64 max);

/*
 * Keeps those of the selected rows whose key, or null, passes. selection holds ascending row
 * numbers; returns how many are left. nulls may be NULL.
 */
uint32 pfs_filter_select(const PfsBlockFilter *filter, const int64 *values, const bool *nulls,
						 uint16 *selection, uint32 count);
/* The same of rows 0 .. count - 1, whatever selection holds. */
uint32 pfs_filter_select_of_all(const PfsBlockFilter *filter, const int64 *values,
								const bool *nulls, uint16 *selection, uint32 count);

#endif
