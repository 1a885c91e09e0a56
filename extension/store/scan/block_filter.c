/*
 * block_filter.c
 *		Filters over values: a range, and optionally a set of keys within it.
 */
#include "store/scan/block_filter.h"

#include "base/arrays.h"

/* Returns the position of the first key that is not less than value. */
static uint32
lower_bound(const PfsBlockFilter *filter, int64 value)
{
	return pfs_lower_bound(filter->keys, 0, filter->key_count, value);
}

static bool
is_range(const PfsBlockFilter *filter)
{
	return filter->keys == NULL && !filter->keeps_nulls;
}

bool
pfs_filter_narrow(PfsBlockFilter *filter, const PfsBlockFilter *other)
{
	/* Sets of keys and tests for null are not combined. */
	if (filter->attnum != other->attnum || !is_range(filter) || !is_range(other))
		return false;
	filter->low = Max(filter->low, other->low);
	filter->high = Min(filter->high, other->high);
	return true;
}

bool
pfs_filter_overlaps(const PfsBlockFilter *filter, int64 min, int64 max)
{
	uint32 position;

	/* A filter that keeps nulls drops every value. */
	if (filter->keeps_nulls)
		return false;
	min = Max(min, filter->low);
	max = Min(max, filter->high);
	if (min > max)
		return false;
	if (filter->keys == NULL)
		return true;
	position = lower_bound(filter, min >> filter->key_shift);
	/* The first key that is not before the range must not be after it. */
	return position < filter->key_count && filter->keys[position] <= max >> filter->key_shift;
}

bool
pfs_filter_passes(const PfsBlockFilter *filter, int64 value)
{
	return pfs_filter_overlaps(filter, value, value);
}

bool
pfs_filter_contains(const PfsBlockFilter *filter, int64 min, int64 max)
{
	uint64 span;
	uint32 position;

	if (filter->keeps_nulls || min < filter->low || max > filter->high)
		return false;
	if (filter->keys == NULL)
		return true;
	min >>= filter->key_shift;
	max >>= filter->key_shift;
	/* The unsigned difference is right for any two int64 values. */
	span = (uint64) max - (uint64) min;
	/*
	 * Keys are distinct and ascending, so all numbers between min and max are keys if the key span
	 * places ahead is max.
	 */
	position = lower_bound(filter, min);
	return span < filter->key_count - position && filter->keys[position] == min &&
		   filter->keys[position + span] == max;
}

static uint32
select_range(const PfsBlockFilter *filter, const int64 *values, uint16 *selection, uint32 count)
{
	uint32 kept = 0;

	for (uint32 i = 0; i < count; i++)
	{
		int64 value = values[selection[i]];

		selection[kept] = selection[i];
		/*
		 * & instead of &&, so that the loop has no branch. Each row is stored, and overwritten
		 * unless it is kept.
		 */
		kept += (value >= filter->low) & (value <= filter->high);
	}
	return kept;
}

/*
 * Like select_range(), but over rows 0 .. count - 1, which selection need not hold. One unsigned
 * comparison tests both bounds.
 */
static uint32
select_range_of_all(const PfsBlockFilter *filter, const int64 *values, uint16 *selection,
					uint32 count)
{
	uint64 span = (uint64) filter->high - (uint64) filter->low;
	uint32 kept = 0;

	/* For an empty range the unsigned span would be huge. */
	if (filter->low > filter->high)
		return 0;
	for (uint32 row = 0; row < count; row++)
	{
		selection[kept] = (uint16) row;
		kept += (uint64) values[row] - (uint64) filter->low <= span;
	}
	return kept;
}

/*
 * Keeps rows whose value is a key. Sorted segments repeat a value over long runs, so the answer for
 * the value before is kept.
 */
static uint32
select_keys(const PfsBlockFilter *filter, const int64 *values, uint16 *selection, uint32 count)
{
	uint32 kept = 0;
	int64 last_value = 0;
	bool last_passes = pfs_filter_passes(filter, 0);

	for (uint32 i = 0; i < count; i++)
	{
		int64 value = values[selection[i]];

		if (value != last_value)
		{
			last_value = value;
			last_passes = pfs_filter_passes(filter, value);
		}
		selection[kept] = selection[i];
		kept += last_passes;
	}
	return kept;
}

/* Keeps the rows whose flag is wanted. */
static uint32
select_nulls(const bool *nulls, bool wanted, uint16 *selection, uint32 count)
{
	uint32 kept = 0;

	for (uint32 i = 0; i < count; i++)
	{
		selection[kept] = selection[i];
		kept += nulls[selection[i]] == wanted;
	}
	return kept;
}

uint32
pfs_filter_select(const PfsBlockFilter *filter, const int64 *values, const bool *nulls,
				  uint16 *selection, uint32 count)
{
	if (filter->keeps_nulls)
		return nulls == NULL ? 0 : select_nulls(nulls, true, selection, count);
	if (nulls != NULL)
		/* No value is compared with null, so null rows never pass. */
		count = select_nulls(nulls, false, selection, count);
	if (filter->keys != NULL)
		return select_keys(filter, values, selection, count);
	return select_range(filter, values, selection, count);
}

uint32
pfs_filter_select_of_all(const PfsBlockFilter *filter, const int64 *values, const bool *nulls,
						 uint16 *selection, uint32 count)
{
	/*
	 * The most frequent case, a range of a column without nulls, needs no list of rows to begin
	 * with.
	 */
	if (!filter->keeps_nulls && nulls == NULL && filter->keys == NULL)
		return select_range_of_all(filter, values, selection, count);
	for (uint32 row = 0; row < count; row++)
		selection[row] = (uint16) row;
	return pfs_filter_select(filter, values, nulls, selection, count);
}
