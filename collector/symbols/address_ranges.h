/*
 * address_ranges.h
 *		Address ranges that may nest or overlap, each with a value; finds the innermost.
 */
#ifndef COLLECTOR_ADDRESS_RANGES_H
#define COLLECTOR_ADDRESS_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct AddressRange
{
	uint64_t low;
	uint64_t high;	/* exclusive */
	uint64_t reach; /* greatest high up to this range: where looking back ends */
	uint64_t value;
} AddressRange;

/* Zeroed at first. */
typedef struct AddressRanges
{
	AddressRange *items;
	size_t count;
	size_t room;
} AddressRanges;

/* 0 or -ENOMEM. Empty ranges are left out. */
int address_ranges_add(AddressRanges *ranges, uint64_t low, uint64_t high, uint64_t value);
void address_ranges_sort(AddressRanges *ranges); /* once all are added, before the first search */
void address_ranges_fini(AddressRanges *ranges);

/* The covering range that begins last and, among those, is shortest. */
bool address_ranges_find(const AddressRanges *ranges, uint64_t address, uint64_t *value);

#endif
