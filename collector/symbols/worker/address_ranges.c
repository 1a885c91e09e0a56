/*
 * address_ranges.c
 *		Keeps ranges in a sorted array; finds one by binary search, then backwards.
 */
#include "symbols/worker/address_ranges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int
address_ranges_add(AddressRanges *ranges, uint64_t low, uint64_t high, uint32_t value)
{
	if (high <= low)
		return 0;
	if (ranges->count == ranges->room)
	{
		size_t room = ranges->room == 0 ? 64 : ranges->room * 2;
		AddressRange *items = realloc(ranges->items, room * sizeof(*items));

		if (items == NULL)
			return -ENOMEM;
		ranges->items = items;
		ranges->room = room;
	}
	if (high - low > UINT32_MAX)
		high = low + UINT32_MAX;
	ranges->items[ranges->count++] = (AddressRange){ low, high, (uint32_t) (high - low), value };
	return 0;
}

/*
 * Compares the starts of ranges; at equal starts the longest range comes first, so that a search
 * backwards finds the innermost range first.
 */
static int
compare_ranges(const void *a, const void *b)
{
	const AddressRange *left = a;
	const AddressRange *right = b;

	if (left->low != right->low)
		return left->low < right->low ? -1 : 1;
	if (left->size_bytes != right->size_bytes)
		return left->size_bytes > right->size_bytes ? -1 : 1;
	return (left->value < right->value) - (left->value > right->value);
}

void
address_ranges_sort(AddressRanges *ranges)
{
	AddressRange *items = realloc(ranges->items, (ranges->count + 1) * sizeof(*items));

	if (items != NULL)
	{
		ranges->items = items;
		ranges->room = ranges->count + 1;
	}
	if (ranges->count > 0)
		qsort(ranges->items, ranges->count, sizeof(*ranges->items), compare_ranges);
	for (size_t i = 1; i < ranges->count; i++)
		if (ranges->items[i].reach < ranges->items[i - 1].reach)
			ranges->items[i].reach = ranges->items[i - 1].reach;
}

void
address_ranges_fini(AddressRanges *ranges)
{
	free(ranges->items);
	memset(ranges, 0, sizeof(*ranges));
}

bool
address_ranges_find(const AddressRanges *ranges, uint64_t address, uint32_t *value)
{
	size_t low = 0;
	size_t high = ranges->count;

	while (low < high)
	{
		size_t middle = low + (high - low) / 2;

		if (ranges->items[middle].low <= address)
			low = middle + 1;
		else
			high = middle;
	}
	while (low > 0 && ranges->items[low - 1].reach > address)
	{
		low--;
		if (address - ranges->items[low].low < ranges->items[low].size_bytes)
		{
			*value = ranges->items[low].value;
			return true;
		}
	}
	return false;
}
