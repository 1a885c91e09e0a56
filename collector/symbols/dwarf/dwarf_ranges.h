/*
 * dwarf_ranges.h
 *		The address ranges of an entry.
 */
#ifndef COLLECTOR_DWARF_RANGES_H
#define COLLECTOR_DWARF_RANGES_H

#include "symbols/dwarf/dwarf_unit.h"

/* A walk of an entry's ranges. */
typedef struct DwarfRanges
{
	const DwarfUnit *unit;
	DwarfCursor cursor; /* in a list */
	uint64_t base;		/* that pairs of the list are relative to */
	uint64_t low;		/* of the only range, if it has no list */
	uint64_t high;
	bool is_list;
} DwarfRanges;

/* Begins a walk of no ranges if the entry has none. */
void dwarf_ranges_begin(DwarfRanges *ranges, const DwarfEntry *entry);

/* Gets the next range, high exclusive. Returns false after the last one. */
bool dwarf_ranges_next(DwarfRanges *ranges, uint64_t *low, uint64_t *high);

/* Returns true if an entry's ranges cover an address. */
bool dwarf_entry_covers(const DwarfEntry *entry, uint64_t address);

#endif
