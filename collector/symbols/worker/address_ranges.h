/*
 * address_ranges.h
 *		Finds the innermost of address ranges that may nest or overlap; each range has a value.
 */
#ifndef COLLECTOR_ADDRESS_RANGES_H
#define COLLECTOR_ADDRESS_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct AddressRange
{
	uint64_t low;
	uint32_t size_bytes;
	uint32_t value;
} AddressRange;

/* A zeroed AddressRanges is empty. */
typedef struct AddressRanges
{
	AddressRange *items;
	size_t count;
	size_t room;
} AddressRanges;

/*
 * Adds the range from low up to, but not including, high; at most 4 GiB of it. Ignores an empty
 * range. Returns 0 or -ENOMEM.
 */
int address_ranges_add(AddressRanges *ranges, uint64_t low, uint64_t high, uint32_t value);

/*
 * Sorts the ranges and cuts them where others cover them, which at most doubles their number:
 * afterwards no two overlap. Call it once, after all ranges were added and before the first search.
 * Returns 0 or -ENOMEM.
 */
int address_ranges_sort(AddressRanges *ranges);
void address_ranges_fini(AddressRanges *ranges);

/*
 * Finds the value of the range that covers an address. If several did when they were added, chooses
 * the one that begins last; among those the shortest; among those the one with the smallest value.
 * Returns false if no range covers the address.
 */
bool address_ranges_find(const AddressRanges *ranges, uint64_t address, uint32_t *value);

#endif
