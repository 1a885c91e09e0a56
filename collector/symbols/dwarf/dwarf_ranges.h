/*
 * dwarf_ranges.h
 *		The address ranges of an entry.
 */
#ifndef COLLECTOR_DWARF_RANGES_H
#define COLLECTOR_DWARF_RANGES_H

#include "symbols/dwarf/dwarf_unit.h"

/* A walk over the ranges of an entry. */
typedef struct DwarfRanges
{
	const DwarfUnit *unit;
	DwarfCursor cursor; /* in a list */
	uint64_t base;		/* address to which pairs of the list are relative */
	uint64_t low;		/* start of the only range, if the entry has no list */
	uint64_t high;
	DwarfFile *file; /* has the list; NULL: the entry has no list */
} DwarfRanges;

/*
 * Sets *low and *high (exclusive) to the range of an entry that has two addresses, or an address
 * and a size. Returns false if it has not.
 */
bool dwarf_entry_range(const DwarfEntry *entry, uint64_t *low, uint64_t *high);

/*
 * Begins a walk. If the entry has no ranges, the walk has none; likewise if the file's lists were
 * read too often, which happens only if many entries of a hostile file share long lists.
 */
void dwarf_ranges_begin(DwarfRanges *ranges, const DwarfEntry *entry);

/* Sets *low and *high (exclusive) to the next range. Returns false after the last one. */
bool dwarf_ranges_next(DwarfRanges *ranges, uint64_t *low, uint64_t *high);

#endif
