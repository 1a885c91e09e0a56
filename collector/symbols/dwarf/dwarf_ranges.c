/*
 * dwarf_ranges.c
 *		Reads .debug_ranges (up to DWARF 4) and .debug_rnglists.
 */
#include "symbols/dwarf/dwarf_ranges.h"

#include <dwarf.h>

/* How often each byte of a file's lists may be read, on average. Blocks in blocks share lists. */
#define LIST_READS_MAX 64
#define LIST_BYTES_MIN 4096 /* smaller sections count as large as this */

bool
dwarf_entry_range(const DwarfEntry *entry, uint64_t *low, uint64_t *high)
{
	if (!dwarf_entry_has(entry, DWARF_HIGH_PC) || !dwarf_entry_address(entry, DWARF_LOW_PC, low))
		return false;
	if (dwarf_entry_address(entry, DWARF_HIGH_PC, high))
		return true;
	/* a constant is the size of the range; one that wraps around is damaged */
	*high = *low + entry->values[DWARF_HIGH_PC].number;
	return *high >= *low;
}

/*
 * Returns the offset of a list in .debug_rnglists. If the list is given by an index, the offset is
 * read from the array before the lists.
 */
static uint64_t
list_offset(const DwarfUnit *unit, const DwarfValue *value)
{
	DwarfCursor cursor;

	if (value->form != DW_FORM_rnglistx)
		return value->number;
	cursor = dwarf_cursor(&unit->file->sections[DWARF_RNGLISTS], unit->lists_base);
	if (cursor.failed || value->number >= dwarf_cursor_left(&cursor) / unit->sizes.offset_bytes)
		return DWARF_NOWHERE;
	dwarf_cursor_skip(&cursor, value->number * unit->sizes.offset_bytes);
	return unit->lists_base + dwarf_cursor_number(&cursor, unit->sizes.offset_bytes);
}

/* Begins a list. Before DWARF 5 the lists of a split unit are in its skeleton's file. */
static void
begin_list(DwarfRanges *ranges, const DwarfUnit *unit, const DwarfValue *value)
{
	bool is_new = unit->sizes.version >= 5;
	const DwarfUnit *owner = is_new || unit->skeleton == NULL ? unit : unit->skeleton;
	const DwarfSpan *lists = &owner->file->sections[is_new ? DWARF_RNGLISTS : DWARF_RANGES];

	ranges->file = owner->file;
	/* pairs are relative to the unit until the list selects another base */
	ranges->base = unit->low_pc;
	/* each entry of a hostile file may refer to one long list */
	if (owner->file->list_bytes_read / LIST_READS_MAX > lists->size_bytes + LIST_BYTES_MIN)
		ranges->cursor = (DwarfCursor){ .failed = true };
	else if (is_new)
		ranges->cursor = dwarf_cursor(lists, list_offset(unit, value));
	else
		ranges->cursor =
			dwarf_cursor(lists, (owner != unit ? owner->ranges_base : 0) + value->number);
}

void
dwarf_ranges_begin(DwarfRanges *ranges, const DwarfEntry *entry)
{
	*ranges = (DwarfRanges){ .unit = entry->unit };
	if (dwarf_entry_range(entry, &ranges->low, &ranges->high))
		return;
	ranges->low = ranges->high = 0;
	if (dwarf_entry_has(entry, DWARF_RANGES_AT))
		begin_list(ranges, entry->unit, &entry->values[DWARF_RANGES_AT]);
}

/* Reads pairs of .debug_ranges up to the next range. */
static bool
next_pair(DwarfRanges *ranges, uint64_t *low, uint64_t *high)
{
	unsigned address_bytes = ranges->unit->sizes.address_bytes;
	uint64_t escape = address_bytes == 8 ? UINT64_MAX : UINT32_MAX;

	for (;;)
	{
		*low = dwarf_cursor_number(&ranges->cursor, address_bytes);
		*high = dwarf_cursor_number(&ranges->cursor, address_bytes);
		/* the format has no empty range at 0: two zeros are the end of the list */
		if (ranges->cursor.failed || (*low == 0 && *high == 0))
			return false;
		/* the largest address selects a base and is no range */
		if (*low != escape)
			break;
		ranges->base = *high;
	}
	*low += ranges->base;
	*high += ranges->base;
	return true;
}

/* Reads an address that is given by its index. */
static uint64_t
indexed(DwarfRanges *ranges)
{
	uint64_t address = 0;

	if (!dwarf_unit_address(ranges->unit, dwarf_cursor_uleb(&ranges->cursor), &address))
		dwarf_cursor_fail(&ranges->cursor);
	return address;
}

/* Reads entries of .debug_rnglists up to the next range. */
static bool
next_entry(DwarfRanges *ranges, uint64_t *low, uint64_t *high)
{
	DwarfCursor *cursor = &ranges->cursor;
	unsigned address_bytes = ranges->unit->sizes.address_bytes;

	while (!cursor->failed)
	{
		switch (dwarf_cursor_number(cursor, 1))
		{
			case DW_RLE_base_addressx:
				/* an index that is outside fails the cursor, which ends the loop */
				ranges->base = indexed(ranges);
				continue;
			case DW_RLE_base_address:
				ranges->base = dwarf_cursor_number(cursor, address_bytes);
				continue;
			case DW_RLE_startx_endx:
				*low = indexed(ranges);
				*high = indexed(ranges);
				break;
			case DW_RLE_startx_length:
				*low = indexed(ranges);
				*high = *low + dwarf_cursor_uleb(cursor);
				break;
			case DW_RLE_offset_pair:
				*low = ranges->base + dwarf_cursor_uleb(cursor);
				*high = ranges->base + dwarf_cursor_uleb(cursor);
				break;
			case DW_RLE_start_end:
				*low = dwarf_cursor_number(cursor, address_bytes);
				*high = dwarf_cursor_number(cursor, address_bytes);
				break;
			case DW_RLE_start_length:
				*low = dwarf_cursor_number(cursor, address_bytes);
				*high = *low + dwarf_cursor_uleb(cursor);
				break;
			default:
				return false; /* the list ends here, or is damaged */
		}
		return !cursor->failed;
	}
	return false;
}

bool
dwarf_ranges_next(DwarfRanges *ranges, uint64_t *low, uint64_t *high)
{
	if (ranges->file != NULL)
	{
		const uint8_t *before = ranges->cursor.at;
		bool found = ranges->unit->sizes.version >= 5 ? next_entry(ranges, low, high)
													  : next_pair(ranges, low, high);

		ranges->file->list_bytes_read += (uint64_t) (ranges->cursor.at - before);
		return found;
	}
	*low = ranges->low;
	*high = ranges->high;
	/* the only range was returned, so the next call ends the walk */
	ranges->low = ranges->high = 0;
	return *low < *high;
}
