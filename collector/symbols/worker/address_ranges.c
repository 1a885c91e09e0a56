/*
 * address_ranges.c
 *		Keeps ranges in a sorted array, cut so that none overlap; finds one by binary search.
 */
#include "symbols/worker/address_ranges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 8 /* number of ranges that are sorted by insertion, before blocks are merged */

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
	/* a range that is larger than 4 GiB is damaged; its begin may still be right */
	if (high - low > UINT32_MAX)
		high = low + UINT32_MAX;
	ranges->items[ranges->count++] = (AddressRange){ low, (uint32_t) (high - low), value };
	return 0;
}

/*
 * Returns true if a range begins before another one or, at equal starts, ends after it. Of ranges
 * that cover an address the last one is then the innermost. Of equal ranges that with the largest
 * value comes first.
 */
static inline bool
range_precedes(const AddressRange *left, const AddressRange *right)
{
	if (left->low != right->low)
		return left->low < right->low;
	if (left->size_bytes != right->size_bytes)
		return left->size_bytes > right->size_bytes;
	return left->value > right->value;
}

/* Sorts a few ranges by insertion. */
static void
sort_block(AddressRange *items, size_t count)
{
	for (size_t i = 1; i < count; i++)
	{
		const AddressRange item = items[i];
		size_t at = i;

		for (; at > 0 && range_precedes(&item, &items[at - 1]); at--)
			items[at] = items[at - 1];
		items[at] = item;
	}
}

/* Merges two sorted parts of an array, the second of which begins at middle. */
static void
merge_parts(const AddressRange *items, size_t middle, size_t count, AddressRange *merged)
{
	size_t left = 0;
	size_t right = middle;

	for (size_t i = 0; i < count; i++)
		merged[i] =
			right == count || (left < middle && !range_precedes(&items[right], &items[left]))
				? items[left++]
				: items[right++];
}

/*
 * Sorts all ranges. Inlined calls of a function have a hundred ranges, mostly in runs of a few, for
 * which qsort() takes twice as many instructions. Returns 0 or -ENOMEM.
 */
static int
sort_items(AddressRange *items, size_t count)
{
	AddressRange *other = malloc(count * sizeof(*other));
	AddressRange *from = items;
	AddressRange *to = other;

	if (other == NULL)
		return -ENOMEM;
	/* ranges of a scope follow each other, so that short blocks are nearly sorted */
	for (size_t i = 0; i < count; i += BLOCK)
		sort_block(&items[i], count - i < BLOCK ? count - i : BLOCK);
	for (size_t width = BLOCK; width < count; width *= 2)
	{
		AddressRange *next = from;

		for (size_t i = 0; i < count; i += 2 * width)
		{
			size_t left = count - i;

			merge_parts(&from[i], width < left ? width : left, 2 * width < left ? 2 * width : left,
						&to[i]);
		}
		from = to;
		to = next;
	}
	if (from != items)
		memcpy(items, from, count * sizeof(*items));
	free(other);
	return 0;
}

/* The sorted ranges while they are cut. */
typedef struct RangeCutting
{
	const AddressRange *items;
	size_t *open; /* ranges that began and may not have ended, the innermost last */
	size_t open_count;
	uint64_t at; /* all addresses before it are done */
	AddressRange *parts;
	size_t part_count;
} RangeCutting;

/* Makes the parts of open ranges up to an address. */
static void
cutting_advance(RangeCutting *cutting, uint64_t limit)
{
	while (cutting->open_count > 0 && cutting->at < limit)
	{
		const AddressRange *range = &cutting->items[cutting->open[cutting->open_count - 1]];
		uint64_t end = range->low + range->size_bytes;
		uint64_t high = end < limit ? end : limit;

		if (high > cutting->at)
		{
			cutting->parts[cutting->part_count++] =
				(AddressRange){ cutting->at, (uint32_t) (high - cutting->at), range->value };
			cutting->at = high;
		}
		/* a range that ended before the one inside it did is dropped here, without a part */
		if (end <= limit)
			cutting->open_count--;
	}
	cutting->at = limit;
}

static bool
address_ranges_overlap(const AddressRanges *ranges)
{
	for (size_t i = 1; i < ranges->count; i++)
		if (ranges->items[i].low - ranges->items[i - 1].low < ranges->items[i - 1].size_bytes)
			return true;
	return false;
}

/*
 * Replaces sorted ranges that overlap by parts that do not. A part ends where a range begins or
 * ends, so there are fewer than two for each range.
 */
static int
address_ranges_cut(AddressRanges *ranges)
{
	RangeCutting cutting = { .items = ranges->items };

	cutting.open = malloc(ranges->count * sizeof(*cutting.open));
	cutting.parts = malloc(2 * ranges->count * sizeof(*cutting.parts));
	if (cutting.open == NULL || cutting.parts == NULL)
	{
		free(cutting.open);
		free(cutting.parts);
		return -ENOMEM;
	}
	for (size_t i = 0; i < ranges->count; i++)
	{
		cutting_advance(&cutting, ranges->items[i].low);
		cutting.open[cutting.open_count++] = i;
	}
	/* no range begins after the last one, so the open ones last up to their ends */
	cutting_advance(&cutting, UINT64_MAX);
	free(cutting.open);
	free(ranges->items);
	*ranges = (AddressRanges){ cutting.parts, cutting.part_count, 2 * ranges->count };
	return 0;
}

int
address_ranges_sort(AddressRanges *ranges)
{
	AddressRange *items;

	if (ranges->count == 0)
		return 0;
	if (sort_items(ranges->items, ranges->count) != 0 ||
		(address_ranges_overlap(ranges) && address_ranges_cut(ranges) != 0))
		return -ENOMEM;
	/* the index of a unit lives as long as its file is open */
	items = realloc(ranges->items, ranges->count * sizeof(*items));
	if (items != NULL)
	{
		ranges->items = items;
		ranges->room = ranges->count;
	}
	return 0;
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
	if (low == 0 || address - ranges->items[low - 1].low >= ranges->items[low - 1].size_bytes)
		return false;
	*value = ranges->items[low - 1].value;
	return true;
}
