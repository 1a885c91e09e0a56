/*
 * dwarf_unit.c
 *		Reads units and entries of .debug_info.
 */
#include "symbols/dwarf/dwarf_unit.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/hash.h"

#define UNITS_MAX (1U << 20)

/*
 * Reads the header of a unit. Returns false if the unit cannot be used; the cursor is then past the
 * unit.
 */
static bool
dwarf_unit_read_header(DwarfFile *file, DwarfCursor *cursor, DwarfUnit *unit)
{
	const uint8_t *begin = file->sections[DWARF_INFO].bytes;
	DwarfCursor inside = *cursor;

	*unit = (DwarfUnit){ .file = file, .offset = (uint64_t) (cursor->at - begin) };
	dwarf_cursor_enter(&inside, &unit->sizes.offset_bytes);
	if (inside.failed)
	{
		dwarf_cursor_fail(cursor);
		return false;
	}
	/* the length of the header leads to the next unit, whatever this one contains */
	cursor->at = inside.end;
	unit->end = (uint64_t) (inside.end - begin);
	unit->sizes.version = (uint8_t) dwarf_cursor_number(&inside, 2);
	if (unit->sizes.version < 2 || unit->sizes.version > 5)
		return false;
	if (unit->sizes.version == 5)
	{
		unit->type = (uint8_t) dwarf_cursor_number(&inside, 1);
		unit->sizes.address_bytes = (uint8_t) dwarf_cursor_number(&inside, 1);
		unit->abbrev_offset = dwarf_cursor_number(&inside, unit->sizes.offset_bytes);
		if (unit->type == DW_UT_skeleton || unit->type == DW_UT_split_compile)
			unit->split_id = dwarf_cursor_number(&inside, 8);
		else if (unit->type == DW_UT_type || unit->type == DW_UT_split_type)
			dwarf_cursor_skip(&inside, 8 + unit->sizes.offset_bytes);
	}
	else
	{
		unit->abbrev_offset = dwarf_cursor_number(&inside, unit->sizes.offset_bytes);
		unit->sizes.address_bytes = (uint8_t) dwarf_cursor_number(&inside, 1);
	}
	unit->root = (uint64_t) (inside.at - begin);
	/* the root decides the kind, when it is read */
	unit->kind = DWARF_UNIT_OTHER;
	return !inside.failed && (unit->sizes.address_bytes == 4 || unit->sizes.address_bytes == 8);
}

int
dwarf_units_read(DwarfFile *file)
{
	DwarfCursor cursor = dwarf_cursor(&file->sections[DWARF_INFO], 0);
	size_t room = 0;

	while (!cursor.failed && cursor.at < cursor.end && file->unit_count < UNITS_MAX)
	{
		DwarfUnit unit;

		/* a unit of an unknown version is left out; the units after it can be read */
		if (!dwarf_unit_read_header(file, &cursor, &unit))
			continue;
		if (grow_array(&file->units, &room, file->unit_count, sizeof(unit)) != 0)
			return -ENOMEM;
		file->units[file->unit_count++] = unit;
	}
	return 0;
}

/* Compares offset and sizes, which together identify abbreviations in the table. */
static bool
abbrevs_equal(const void *item, const void *key)
{
	const DwarfAbbrevs *abbrevs = *(DwarfAbbrevs *const *) item;
	const DwarfUnit *unit = key;

	return abbrevs->offset == unit->abbrev_offset &&
		   memcmp(&abbrevs->sizes, &unit->sizes, sizeof(unit->sizes)) == 0;
}

/*
 * Sets the abbreviations of a unit, which units that have one offset of .debug_abbrev share.
 * Returns false if there are none.
 */
static bool
read_abbrevs(DwarfUnit *unit)
{
	DwarfFile *file = unit->file;
	uint64_t hash =
		hash_bytes(file->abbrevs.seed, &unit->abbrev_offset, sizeof(unit->abbrev_offset));
	DwarfAbbrevs *made;
	uint32_t position;

	if (table_find(&file->abbrevs, hash, abbrevs_equal, unit, &position))
	{
		unit->abbrevs = *(DwarfAbbrevs **) table_item(&file->abbrevs, position);
		return true;
	}
	if (table_reserve(&file->abbrevs) != 0)
		return false;
	made = dwarf_abbrevs_read(&file->sections[DWARF_ABBREV], unit->abbrev_offset, &unit->sizes, 0);
	if (made == NULL)
		return false;
	*(DwarfAbbrevs **) table_append(&file->abbrevs, hash) = made;
	unit->abbrevs = made;
	return true;
}

static inline bool
find_abbrevs(DwarfUnit *unit)
{
	return unit->abbrevs != NULL || read_abbrevs(unit);
}

bool
dwarf_value_read(DwarfCursor *cursor, const uint8_t *section, unsigned form,
				 const DwarfSizes *sizes, DwarfValue *value)
{
	int size_bytes;

	if (form == DW_FORM_indirect)
	{
		form = (unsigned) dwarf_cursor_uleb(cursor);
		/* a form that names another form could be nested without end; a constant is in no entry */
		if (form == DW_FORM_indirect || form == DW_FORM_implicit_const)
			return false;
	}
	value->form = (uint16_t) form;
	value->number = 0;
	size_bytes = dwarf_form_bytes(form, sizes);
	if (size_bytes > 8)
	{
		dwarf_cursor_skip(cursor, (uint64_t) size_bytes);
		return !cursor->failed;
	}
	if (size_bytes >= 0)
	{
		value->number = dwarf_cursor_number(cursor, (unsigned) size_bytes);
		return !cursor->failed;
	}
	switch (form)
	{
		case DW_FORM_string:
			value->number = (uint64_t) (cursor->at - section);
			(void) dwarf_cursor_string(cursor);
			break;
		case DW_FORM_sdata:
			value->number = (uint64_t) dwarf_cursor_sleb(cursor);
			break;
		case DW_FORM_block1:
		case DW_FORM_block2:
		case DW_FORM_block4:
			dwarf_cursor_skip(cursor, dwarf_cursor_number(cursor, form == DW_FORM_block1   ? 1
																  : form == DW_FORM_block2 ? 2
																						   : 4));
			break;
		case DW_FORM_block:
		case DW_FORM_exprloc:
			dwarf_cursor_skip(cursor, dwarf_cursor_uleb(cursor));
			break;
		default:
			if (size_bytes == -2)
				return false;
			value->number = dwarf_cursor_uleb(cursor);
	}
	return !cursor->failed;
}

/* Reads an entry's attributes by steps of its abbreviation. */
static inline bool
unit_read_attributes(DwarfCursor *cursor, const uint8_t *section, const DwarfAbbrevs *abbrevs,
					 uint32_t first, uint32_t count, DwarfEntry *entry)
{
	const DwarfStep *step = abbrevs->steps + first;

	for (uint32_t i = 0; i < count; i++, step++)
	{
		DwarfValue *value = &entry->values[step->slot];

		if (step->form == 0)
		{
			dwarf_cursor_skip(cursor, (uint64_t) step->value);
			continue;
		}
		entry->has |= 1U << step->slot;
		value->form = step->form;
		if (step->size_bytes > 0 && step->size_bytes <= 8)
			value->number = dwarf_cursor_number(cursor, (unsigned) step->size_bytes);
		else if (step->form == DW_FORM_implicit_const)
			value->number = (uint64_t) step->value;
		else if (!dwarf_value_read(cursor, section, step->form, &abbrevs->sizes, value))
			return false;
	}
	entry->has &= (1U << DWARF_NO_SLOT) - 1;
	return !cursor->failed;
}

/* Like dwarf_entry_read(), but with given abbreviations instead of the unit's. */
static bool
dwarf_unit_read_entry(DwarfUnit *unit, const DwarfAbbrevs *abbrevs, uint64_t offset,
					  DwarfEntry *entry)
{
	const uint8_t *section = unit->file->sections[DWARF_INFO].bytes;
	DwarfCursor cursor = { section + offset, section + unit->end, false };
	const DwarfAbbrev *abbrev;
	uint64_t code;

	/* references come from the file, so that they may lead anywhere */
	if (offset < unit->root || offset >= unit->end)
		return false;
	entry->unit = unit;
	entry->offset = offset;
	entry->has = 0;
	entry->tag = 0;
	entry->has_children = false;
	code = dwarf_cursor_uleb(&cursor);
	if (code != 0)
	{
		abbrev = dwarf_abbrevs_find(abbrevs, code);
		if (abbrev == NULL ||
			!unit_read_attributes(&cursor, section, abbrevs, abbrev->first, abbrev->count, entry))
			return false;
		entry->tag = abbrev->tag;
		entry->has_children = abbrev->has_children;
	}
	entry->next = (uint64_t) (cursor.at - section);
	return !cursor.failed;
}

bool
dwarf_entry_read(DwarfUnit *unit, uint64_t offset, DwarfEntry *entry)
{
	return find_abbrevs(unit) && dwarf_unit_read_entry(unit, unit->abbrevs, offset, entry);
}

/* Returns true for a form whose value is an offset of fixed size in the unit. */
static bool
is_unit_offset(unsigned form)
{
	return form == DW_FORM_ref1 || form == DW_FORM_ref2 || form == DW_FORM_ref4 ||
		   form == DW_FORM_ref8;
}

/* Like skip_attributes(), but for an abbreviation whose size varies. */
static bool
skip_steps(DwarfCursor *cursor, const uint8_t *section, const DwarfAbbrevs *abbrevs,
		   const DwarfAbbrev *abbrev, uint64_t *sibling)
{
	const DwarfStep *step = abbrevs->steps + abbrev->first;
	DwarfValue value;

	*sibling = 0;
	for (uint32_t i = 0; i < abbrev->count; i++, step++)
	{
		if (step->form == 0)
			dwarf_cursor_skip(cursor, (uint64_t) step->value);
		else if (step->slot == DWARF_SIBLING && is_unit_offset(step->form))
			*sibling = dwarf_cursor_number(cursor, (unsigned) step->size_bytes);
		else if (step->size_bytes >= 0)
			dwarf_cursor_skip(cursor, (uint64_t) step->size_bytes);
		else if (step->form == DW_FORM_exprloc)
			dwarf_cursor_skip(cursor, dwarf_cursor_uleb(cursor));
		else if (step->form == DW_FORM_string)
			(void) dwarf_cursor_string(cursor);
		else if (!dwarf_value_read(cursor, section, step->form, &abbrevs->sizes, &value))
			return false;
	}
	return !cursor->failed;
}

/*
 * Skips the attributes of an entry. Sets *sibling to the offset that the entry has as its sibling,
 * relative to the unit; 0 if it has none.
 */
static inline bool
skip_attributes(DwarfCursor *cursor, const uint8_t *section, const DwarfAbbrevs *abbrevs,
				const DwarfAbbrev *abbrev, uint64_t *sibling)
{
	uint32_t offset = 0;

	if (abbrev->fixed_bytes < 0)
		return skip_steps(cursor, section, abbrevs, abbrev, sibling);
	if ((uint64_t) abbrev->fixed_bytes > dwarf_cursor_left(cursor))
	{
		dwarf_cursor_fail(cursor);
		return false;
	}
	if (abbrev->sibling_bytes >= 0)
		memcpy(&offset, cursor->at + abbrev->sibling_bytes, sizeof(offset));
	*sibling = offset;
	cursor->at += abbrev->fixed_bytes;
	return true;
}

/*
 * Reads an entry whose code has been read: if its abbreviation has steps for that, only its ranges
 * and sibling; otherwise all of it.
 */
static bool
unit_read_ranges(DwarfUnit *unit, DwarfCursor *cursor, uint64_t offset, const DwarfAbbrev *abbrev,
				 DwarfEntry *entry)
{
	const uint8_t *section = unit->file->sections[DWARF_INFO].bytes;
	const uint8_t *begin = cursor->at;

	if (abbrev == NULL || abbrev->range_count == 0)
		return dwarf_unit_read_entry(unit, unit->abbrevs, offset, entry);
	entry->unit = unit;
	entry->offset = offset;
	entry->has = 0;
	entry->tag = abbrev->tag;
	entry->has_children = abbrev->has_children;
	if ((uint64_t) abbrev->fixed_bytes > dwarf_cursor_left(cursor) ||
		!unit_read_attributes(cursor, section, unit->abbrevs, abbrev->range_first,
							  abbrev->range_count, entry))
		return false;
	/* attributes may follow those that were read */
	entry->next = (uint64_t) (begin - section) + (uint64_t) abbrev->fixed_bytes;
	return true;
}

/*
 * Skips the children of an entry whose attributes have been read; sibling is as skip_attributes()
 * sets it. Returns false if they are damaged.
 */
static bool
skip_children(const DwarfUnit *unit, DwarfCursor *cursor, uint64_t sibling)
{
	const uint8_t *section = unit->file->sections[DWARF_INFO].bytes;
	unsigned depth = 1;

	for (;;)
	{
		const DwarfAbbrev *abbrev;
		uint64_t code;

		/* a sibling must lie ahead, so that damaged references cannot make an endless loop */
		if (sibling != 0 && sibling <= unit->end - unit->offset &&
			unit->offset + sibling > (uint64_t) (cursor->at - section))
		{
			cursor->at = section + unit->offset + sibling;
			depth--;
		}
		if (depth == 0)
			return true;
		code = dwarf_cursor_uleb(cursor);
		sibling = 0;
		if (cursor->failed || unit->abbrevs == NULL)
			return false;
		if (code == 0)
		{
			depth--;
			continue;
		}
		abbrev = dwarf_abbrevs_find(unit->abbrevs, code);
		if (abbrev == NULL || !skip_attributes(cursor, section, unit->abbrevs, abbrev, &sibling))
			return false;
		/* without children a sibling is the next entry in any case */
		depth += abbrev->has_children;
		if (!abbrev->has_children)
			sibling = 0;
	}
}

bool
dwarf_entry_next_scope(DwarfUnit *unit, uint64_t offset, unsigned *depth, DwarfEntry *entry)
{
	const uint8_t *section = unit->file->sections[DWARF_INFO].bytes;
	DwarfCursor cursor = { section + offset, section + unit->end, false };
	unsigned inside = 0; /* number of skipped entries whose children follow */

	if (offset < unit->root || offset > unit->end || !find_abbrevs(unit))
		return false;
	for (;;)
	{
		const DwarfAbbrev *abbrev;
		const uint8_t *before = cursor.at;
		uint64_t code = dwarf_cursor_uleb(&cursor);
		uint64_t sibling;

		/* this ends the children of a skipped entry; the caller sees only ends of its own lists */
		if (code == 0 && inside > 0)
		{
			inside--;
			continue;
		}
		abbrev = code != 0 ? dwarf_abbrevs_find(unit->abbrevs, code) : NULL;
		if (abbrev == NULL || !abbrev->is_plain)
		{
			*depth += inside;
			return unit_read_ranges(unit, &cursor, (uint64_t) (before - section), abbrev, entry);
		}
		if (!skip_attributes(&cursor, section, unit->abbrevs, abbrev, &sibling))
			return false;
		inside += abbrev->has_children;
	}
}

/*
 * Steps over entries of fixed size in which a search for functions finds nothing. Stops before the
 * first other entry, and near the end of the unit.
 */
static void
skip_uniform(const DwarfUnit *unit, bool everywhere, DwarfCursor *cursor)
{
	const uint8_t *begin = unit->file->sections[DWARF_INFO].bytes + unit->offset;
	const DwarfSkip *skips = unit->abbrevs->skips;
	const uint32_t skip_count = unit->abbrevs->skip_count;
	/* with this much room a code of two bytes and the attributes are within the unit */
	const int64_t room_bytes = 2 + (int64_t) unit->abbrevs->skip_room_bytes;
	const uint8_t *at = cursor->at;

	while (cursor->end - at >= room_bytes)
	{
		const uint8_t *attributes = at + 1;
		uint32_t code = *at;
		DwarfSkip skip;
		uint32_t sibling;

		/* if a third byte follows, the second one makes the code too large for the table */
		if (code >= 0x80)
			code = (code & 0x7f) | (uint32_t) *attributes++ << 7;
		if (code >= skip_count)
			break;
		skip = skips[code];
		if (skip.bytes == DWARF_LOOK)
			break;
		if (skip.sibling == DWARF_NO_CHILDREN || everywhere)
		{
			at = attributes + skip.bytes;
			continue;
		}
		if (skip.sibling == DWARF_BY_CHILD)
			break;
		memcpy(&sibling, attributes + skip.sibling, sizeof(sibling));
		/* a sibling must lie ahead, so that damaged references cannot make an endless loop */
		if (sibling > unit->end - unit->offset || begin + sibling <= attributes + skip.bytes)
			break;
		at = begin + sibling;
	}
	cursor->at = at;
}

bool
dwarf_entry_next_function(DwarfUnit *unit, uint64_t offset, bool everywhere, DwarfEntry *entry)
{
	const uint8_t *section = unit->file->sections[DWARF_INFO].bytes;
	DwarfCursor cursor = { section + offset, section + unit->end, false };

	if (offset < unit->root || offset > unit->end || !find_abbrevs(unit))
		return false;
	while (cursor.at < cursor.end)
	{
		const DwarfAbbrev *abbrev;
		const uint8_t *before;
		uint64_t sibling;
		uint64_t code;

		skip_uniform(unit, everywhere, &cursor);
		before = cursor.at;
		code = dwarf_cursor_uleb(&cursor);
		if (code == 0)
			continue;
		abbrev = dwarf_abbrevs_find(unit->abbrevs, code);
		if (abbrev == NULL)
			return false;
		if (abbrev->is_code)
			return dwarf_unit_read_entry(unit, unit->abbrevs, (uint64_t) (before - section), entry);
		if (!skip_attributes(&cursor, section, unit->abbrevs, abbrev, &sibling))
			return false;
		if (abbrev->has_children && !abbrev->is_file_level && !everywhere &&
			!skip_children(unit, &cursor, sibling))
			return false;
	}
	return false;
}

uint64_t
dwarf_entry_after(const DwarfEntry *entry)
{
	const DwarfValue *value = &entry->values[DWARF_SIBLING];
	const uint8_t *section = entry->unit->file->sections[DWARF_INFO].bytes;
	DwarfCursor cursor = { section + entry->next, section + entry->unit->end, false };
	bool has_sibling = dwarf_entry_has(entry, DWARF_SIBLING) && is_unit_offset(value->form);

	if (entry->has_children &&
		!skip_children(entry->unit, &cursor, has_sibling ? value->number : 0))
		return entry->unit->end;
	return (uint64_t) (cursor.at - section);
}

/* Sets the kind of a unit from its root. */
static void
set_kind(DwarfUnit *unit, const DwarfEntry *root)
{
	bool is_code = root->tag == DW_TAG_compile_unit || root->tag == DW_TAG_skeleton_unit;
	bool is_skeleton = unit->sizes.version == 5
						   ? unit->type == DW_UT_skeleton
						   : dwarf_entry_has(root, DWARF_SPLIT_ID) && !root->has_children;

	unit->kind = !is_code ? DWARF_UNIT_OTHER : is_skeleton ? DWARF_UNIT_SKELETON : DWARF_UNIT_CODE;
}

/*
 * Returns the length of the header of a section's part in DWARF 5, which precedes the base. A split
 * unit has no attribute with a base, because its part begins at 0.
 */
static uint64_t
base_of(const DwarfEntry *root, DwarfSlot slot, unsigned header_bytes)
{
	const DwarfSizes *sizes = &root->unit->sizes;

	if (dwarf_entry_has(root, slot))
		return root->values[slot].number;
	if (sizes->version < 5)
		return 0;
	return header_bytes + (sizes->offset_bytes == 8 ? 12 : 4);
}

#define STR_OFFSETS_HEADER 4 /* version and padding, after the length */
#define LISTS_HEADER	   8 /* version, sizes and number of offsets, after the length */

bool
dwarf_unit_read_root_entry(DwarfUnit *unit, DwarfEntry *root)
{
	DwarfAbbrevs *first = NULL;
	bool read;

	/*
	 * The root's abbreviation is the first one of the table; the rest of the table may never be
	 * needed.
	 */
	if (unit->abbrevs == NULL)
		first = dwarf_abbrevs_read(&unit->file->sections[DWARF_ABBREV], unit->abbrev_offset,
								   &unit->sizes, 1);
	read = (first != NULL && dwarf_unit_read_entry(unit, first, unit->root, root)) ||
		   dwarf_entry_read(unit, unit->root, root);
	dwarf_abbrevs_free(first);
	return read;
}

bool
dwarf_unit_read_root(DwarfUnit *unit, const DwarfUnit *skeleton)
{
	DwarfEntry root;
	uint64_t number;

	if (!dwarf_unit_read_root_entry(unit, &root))
		return false;
	unit->root_read = true;
	set_kind(unit, &root);
	/* the strings below need the bases, so these come first */
	unit->skeleton = skeleton;
	unit->str_base = base_of(&root, DWARF_STR_BASE, STR_OFFSETS_HEADER);
	unit->addr_base = base_of(&root, DWARF_ADDR_BASE, 4);
	unit->lists_base = base_of(&root, DWARF_LISTS_BASE, LISTS_HEADER);
	unit->ranges_base =
		dwarf_entry_has(&root, DWARF_RANGES_BASE) ? root.values[DWARF_RANGES_BASE].number : 0;
	unit->line_table = dwarf_entry_has(&root, DWARF_LINE_TABLE)
						   ? root.values[DWARF_LINE_TABLE].number
						   : DWARF_NOWHERE;
	unit->directory = dwarf_entry_string(&root, DWARF_DIRECTORY);
	unit->split_name = dwarf_entry_string(&root, DWARF_SPLIT_NAME);
	if (dwarf_entry_number(&root, DWARF_LANGUAGE, &number))
		unit->language = (uint16_t) number;
	if (dwarf_entry_number(&root, DWARF_SPLIT_ID, &number))
		unit->split_id = number;
	/* a split unit has no address of its own */
	if (!dwarf_entry_address(&root, DWARF_LOW_PC, &unit->low_pc))
		unit->low_pc = skeleton != NULL ? skeleton->low_pc : 0;
	return true;
}

DwarfUnit *
dwarf_file_unit_at(DwarfFile *file, uint64_t offset)
{
	uint32_t low = 0;
	uint32_t high = file->unit_count;
	DwarfUnit *unit;

	while (low < high)
	{
		uint32_t middle = low + (high - low) / 2;

		if (file->units[middle].offset <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	unit = low > 0 ? &file->units[low - 1] : NULL;
	if (unit == NULL || offset >= unit->end)
		return NULL;
	/* the roots of other units are read when an entry refers to them */
	return unit->root_read || dwarf_unit_read_root(unit, NULL) ? unit : NULL;
}

bool
dwarf_entry_target(const DwarfEntry *entry, DwarfSlot slot, DwarfUnit **unit, uint64_t *offset)
{
	const DwarfValue *value = &entry->values[slot];
	DwarfFile *file = entry->unit->file;

	if (!dwarf_entry_has(entry, slot))
		return false;
	*offset = value->number;
	switch (value->form)
	{
		case DW_FORM_ref1:
		case DW_FORM_ref2:
		case DW_FORM_ref4:
		case DW_FORM_ref8:
		case DW_FORM_ref_udata:
			/* the sum may wrap around; dwarf_entry_read() refuses an offset outside of the unit */
			*unit = entry->unit;
			*offset += entry->unit->offset;
			break;
		case DW_FORM_ref_addr:
			*unit = dwarf_file_unit_at(file, *offset);
			break;
		case DW_FORM_GNU_ref_alt:
		case DW_FORM_ref_sup4:
		case DW_FORM_ref_sup8:
			*unit = file->supplement != NULL ? dwarf_file_unit_at(file->supplement, *offset) : NULL;
			break;
		default:
			return false;
	}
	return *unit != NULL;
}

bool
dwarf_entry_follow(const DwarfEntry *entry, DwarfSlot slot, DwarfEntry *target)
{
	DwarfUnit *unit;
	uint64_t offset;

	return dwarf_entry_target(entry, slot, &unit, &offset) &&
		   dwarf_entry_read(unit, offset, target) && target->tag != 0;
}

/* Reads an item of an array in a section: an offset or an address. */
static bool
array_item(const DwarfSpan *span, uint64_t base, uint64_t index, unsigned item_bytes,
		   uint64_t *item)
{
	DwarfCursor cursor = dwarf_cursor(span, base);

	/* dividing cannot overflow, as multiplying the index could */
	if (cursor.failed || index >= dwarf_cursor_left(&cursor) / item_bytes)
		return false;
	dwarf_cursor_skip(&cursor, index * item_bytes);
	*item = dwarf_cursor_number(&cursor, item_bytes);
	return true;
}

const char *
dwarf_entry_string(const DwarfEntry *entry, DwarfSlot slot)
{
	const DwarfValue *value = &entry->values[slot];
	const DwarfUnit *unit = entry->unit;
	const DwarfFile *file = unit->file;
	uint64_t offset = value->number;

	if (!dwarf_entry_has(entry, slot))
		return NULL;
	switch (value->form)
	{
		case DW_FORM_string:
			return (const char *) file->sections[DWARF_INFO].bytes + offset;
		case DW_FORM_strp:
			return dwarf_span_string(&file->sections[DWARF_STR], offset);
		case DW_FORM_line_strp:
			return dwarf_span_string(&file->sections[DWARF_LINE_STR], offset);
		case DW_FORM_GNU_strp_alt:
		case DW_FORM_strp_sup:
			return file->supplement != NULL
					   ? dwarf_span_string(&file->supplement->sections[DWARF_STR], offset)
					   : NULL;
		case DW_FORM_strx:
		case DW_FORM_strx1:
		case DW_FORM_strx2:
		case DW_FORM_strx3:
		case DW_FORM_strx4:
		case DW_FORM_GNU_str_index:
			return array_item(&file->sections[DWARF_STR_OFFSETS], unit->str_base, offset,
							  unit->sizes.offset_bytes, &offset)
					   ? dwarf_span_string(&file->sections[DWARF_STR], offset)
					   : NULL;
		default:
			return NULL;
	}
}

bool
dwarf_entry_number(const DwarfEntry *entry, DwarfSlot slot, uint64_t *number)
{
	if (!dwarf_entry_has(entry, slot))
		return false;
	*number = entry->values[slot].number;
	return true;
}

bool
dwarf_unit_address(const DwarfUnit *unit, uint64_t index, uint64_t *address)
{
	/* linkers relocate addresses in the program only, so a split unit uses those of its skeleton */
	const DwarfUnit *owner = unit->skeleton != NULL ? unit->skeleton : unit;

	return array_item(&owner->file->sections[DWARF_ADDR], owner->addr_base, index,
					  owner->sizes.address_bytes, address);
}

bool
dwarf_entry_address(const DwarfEntry *entry, DwarfSlot slot, uint64_t *address)
{
	const DwarfValue *value = &entry->values[slot];

	if (!dwarf_entry_has(entry, slot))
		return false;
	switch (value->form)
	{
		case DW_FORM_addr:
			*address = value->number;
			return true;
		case DW_FORM_addrx:
		case DW_FORM_addrx1:
		case DW_FORM_addrx2:
		case DW_FORM_addrx3:
		case DW_FORM_addrx4:
		case DW_FORM_GNU_addr_index:
			return dwarf_unit_address(entry->unit, value->number, address);
		default:
			return false;
	}
}
