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
	uint64_t reach; /* greatest end up to this range: where looking back ends */
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
 * Adds low up to and excluding high, of which 4 GiB count. Ignores an empty range. Returns 0 or
 * -ENOMEM.
 */
int address_ranges_add(AddressRanges *ranges, uint64_t low, uint64_t high, uint32_t value);
void address_ranges_sort(AddressRanges *ranges); /* once all are added, before the first search */
void address_ranges_fini(AddressRanges *ranges);

/*
 * Finds the value of the range that covers an address: of several, the one that begins last, of
 * those the shortest, and of those the one of the smallest value. Returns false if no range covers
 * it.
 */
bool address_ranges_find(const AddressRanges *ranges, uint64_t address, uint32_t *value);

#endif
