/*
 * dwarf_abbrevs.c
 *		Reads .debug_abbrev.
 */
#include "symbols/dwarf/dwarf_abbrevs.h"

#include <dwarf.h>
#include <stdlib.h>

#include "base/grow.h"

#define ABBREVS_MAX (1U << 18) /* limit of a table, above what link-time optimization produces */
#define STEPS_MAX	(1U << 21)
#define SKIPS_MAX	(1U << 14) /* codes below take at most two bytes */

/* Maps attribute numbers to slots. The numbers of GNU's attributes begin at 0x2100. */
static DwarfSlot
slot_of_attribute(uint64_t attribute)
{
	switch (attribute)
	{
		case DW_AT_sibling:
			return DWARF_SIBLING;
		case DW_AT_name:
			return DWARF_NAME;
		case DW_AT_linkage_name:
		case DW_AT_MIPS_linkage_name:
			return DWARF_LINKAGE_NAME;
		case DW_AT_low_pc:
			return DWARF_LOW_PC;
		case DW_AT_high_pc:
			return DWARF_HIGH_PC;
		case DW_AT_ranges:
			return DWARF_RANGES_AT;
		case DW_AT_abstract_origin:
			return DWARF_ORIGIN;
		case DW_AT_specification:
			return DWARF_SPECIFICATION;
		case DW_AT_decl_file:
			return DWARF_DECL_FILE;
		case DW_AT_decl_line:
			return DWARF_DECL_LINE;
		case DW_AT_call_file:
			return DWARF_CALL_FILE;
		case DW_AT_call_line:
			return DWARF_CALL_LINE;
		case DW_AT_stmt_list:
			return DWARF_LINE_TABLE;
		case DW_AT_comp_dir:
			return DWARF_DIRECTORY;
		case DW_AT_language:
			return DWARF_LANGUAGE;
		case DW_AT_str_offsets_base:
			return DWARF_STR_BASE;
		case DW_AT_addr_base:
		case DW_AT_GNU_addr_base:
			return DWARF_ADDR_BASE;
		case DW_AT_rnglists_base:
			return DWARF_LISTS_BASE;
		case DW_AT_GNU_ranges_base:
			return DWARF_RANGES_BASE;
		case DW_AT_dwo_name:
		case DW_AT_GNU_dwo_name:
			return DWARF_SPLIT_NAME;
		case DW_AT_GNU_dwo_id:
			return DWARF_SPLIT_ID;
		default:
			return DWARF_NO_SLOT;
	}
}

/* Returns the slot of an attribute if entries of the tag are read; others are only skipped. */
static DwarfSlot
wanted_slot(uint64_t tag, uint64_t attribute)
{
	DwarfSlot slot = slot_of_attribute(attribute);

	switch (tag)
	{
		case DW_TAG_compile_unit:
		case DW_TAG_partial_unit:
		case DW_TAG_skeleton_unit:
		case DW_TAG_subprogram:
		case DW_TAG_inlined_subroutine:
			return slot;
		case DW_TAG_lexical_block:
		case DW_TAG_try_block:
		case DW_TAG_catch_block:
		case DW_TAG_with_stmt:
			return slot == DWARF_LOW_PC || slot == DWARF_HIGH_PC || slot == DWARF_RANGES_AT ||
						   slot == DWARF_SIBLING
					   ? slot
					   : DWARF_NO_SLOT;
		default:
			return slot == DWARF_SIBLING ? slot : DWARF_NO_SLOT;
	}
}

/* Returns true for a function, an inlined call, or an entry that may contain some. */
static bool
holds_scopes(unsigned tag)
{
	switch (tag)
	{
		case DW_TAG_compile_unit:
		case DW_TAG_namespace:
		case DW_TAG_module:
		case DW_TAG_class_type:
		case DW_TAG_structure_type:
		case DW_TAG_union_type:
		case DW_TAG_interface_type:
		case DW_TAG_subprogram:
		case DW_TAG_inlined_subroutine:
		case DW_TAG_lexical_block:
		case DW_TAG_try_block:
		case DW_TAG_catch_block:
		case DW_TAG_with_stmt:
		case DW_TAG_common_block:
			return true;
		default:
			return false;
	}
}

static bool
is_file_level(unsigned tag)
{
	return tag == DW_TAG_compile_unit || tag == DW_TAG_partial_unit || tag == DW_TAG_namespace ||
		   tag == DW_TAG_module;
}

int
dwarf_form_bytes(unsigned form, const DwarfSizes *sizes)
{
	switch (form)
	{
		case DW_FORM_flag_present:
		case DW_FORM_implicit_const:
			return 0;
		case DW_FORM_data1:
		case DW_FORM_ref1:
		case DW_FORM_flag:
		case DW_FORM_strx1:
		case DW_FORM_addrx1:
			return 1;
		case DW_FORM_data2:
		case DW_FORM_ref2:
		case DW_FORM_strx2:
		case DW_FORM_addrx2:
			return 2;
		case DW_FORM_strx3:
		case DW_FORM_addrx3:
			return 3;
		case DW_FORM_data4:
		case DW_FORM_ref4:
		case DW_FORM_strx4:
		case DW_FORM_addrx4:
		case DW_FORM_ref_sup4:
			return 4;
		case DW_FORM_data8:
		case DW_FORM_ref8:
		case DW_FORM_ref_sig8:
		case DW_FORM_ref_sup8:
			return 8;
		case DW_FORM_data16:
			return 16;
		case DW_FORM_addr:
			return sizes->address_bytes;
		case DW_FORM_ref_addr:
			return sizes->version == 2 ? sizes->address_bytes : sizes->offset_bytes;
		case DW_FORM_strp:
		case DW_FORM_line_strp:
		case DW_FORM_sec_offset:
		case DW_FORM_strp_sup:
		case DW_FORM_GNU_strp_alt:
		case DW_FORM_GNU_ref_alt:
			return sizes->offset_bytes;
		case DW_FORM_block:
		case DW_FORM_block1:
		case DW_FORM_block2:
		case DW_FORM_block4:
		case DW_FORM_exprloc:
		case DW_FORM_sdata:
		case DW_FORM_udata:
		case DW_FORM_ref_udata:
		case DW_FORM_string:
		case DW_FORM_indirect:
		case DW_FORM_strx:
		case DW_FORM_addrx:
		case DW_FORM_loclistx:
		case DW_FORM_rnglistx:
		case DW_FORM_GNU_addr_index:
		case DW_FORM_GNU_str_index:
			return -1;
		default:
			return -2;
	}
}

/* Tables that are being read. */
typedef struct Reading
{
	DwarfAbbrevs *made;
	size_t item_room;
	size_t step_room;
} Reading;

/* Adds a step. Returns false if memory is exhausted. */
static bool
add_step(Reading *reading, const DwarfStep *step)
{
	DwarfAbbrevs *made = reading->made;

	if (made->step_count >= STEPS_MAX ||
		grow_array(&made->steps, &reading->step_room, made->step_count, sizeof(*step)) != 0)
		return false;
	made->steps[made->step_count++] = *step;
	return true;
}

/*
 * Adds an attribute to the abbreviation that is being read. Returns false if the data is damaged.
 */
static bool
add_attribute(Reading *reading, const DwarfAbbrev *abbrev, uint64_t attribute, uint64_t form,
			  int64_t value)
{
	DwarfAbbrevs *made = reading->made;
	DwarfStep step = { .slot = (uint8_t) wanted_slot(abbrev->tag, attribute) };
	int size_bytes = form <= UINT16_MAX ? dwarf_form_bytes((unsigned) form, &made->sizes) : -2;
	DwarfStep *last = made->step_count > abbrev->first ? &made->steps[made->step_count - 1] : NULL;

	if (size_bytes == -2)
		return false;
	/* adjacent attributes that nobody reads become one step, which is passed at once */
	if (step.slot == DWARF_NO_SLOT && size_bytes >= 0)
	{
		if (size_bytes == 0)
			return true;
		if (last != NULL && last->form == 0 && last->value <= INT32_MAX - size_bytes)
		{
			last->value += size_bytes;
			return true;
		}
		step.value = size_bytes;
		return add_step(reading, &step);
	}
	step.form = (uint16_t) form;
	step.size_bytes = (int8_t) size_bytes;
	/* only implicit constants have a value here: small numbers such as files and lines */
	step.value = (int32_t) (value < INT32_MIN || value > INT32_MAX ? 0 : value);
	return add_step(reading, &step);
}

/* Sets sizes by which an entry is skipped in one step, if its attributes have fixed sizes. */
static void
set_sizes(const DwarfAbbrevs *made, DwarfAbbrev *abbrev)
{
	int32_t size_bytes = 0;

	abbrev->fixed_bytes = -1;
	abbrev->sibling_bytes = -1;
	for (uint32_t i = 0; i < abbrev->count; i++)
	{
		const DwarfStep *step = &made->steps[abbrev->first + i];
		int32_t step_bytes = step->form == 0 ? step->value : step->size_bytes;

		/* only a damaged table has a size that overflows; its attributes are read one by one */
		if (step_bytes < 0 || step_bytes > INT32_MAX - size_bytes)
			return;
		if (step->slot == DWARF_SIBLING && step->form == DW_FORM_ref4)
			abbrev->sibling_bytes = size_bytes;
		else if (step->slot == DWARF_SIBLING)
			return;
		size_bytes += step_bytes;
	}
	abbrev->fixed_bytes = size_bytes;
}

/* Returns true for an entry of which a reader of scopes needs only the ranges. */
static bool
is_inner_scope(unsigned tag)
{
	return tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block ||
		   tag == DW_TAG_try_block || tag == DW_TAG_catch_block || tag == DW_TAG_with_stmt;
}

/*
 * Adds the steps that read only the ranges and the sibling. Names, origins and call sites are read
 * for the few inlined calls that cover an address, ranges for all calls of a function. Returns
 * false if memory is exhausted.
 */
static bool
add_range_steps(Reading *reading, DwarfAbbrev *abbrev)
{
	DwarfAbbrevs *made = reading->made;
	int32_t skipped = 0;

	abbrev->range_first = made->step_count;
	if (!is_inner_scope(abbrev->tag) || abbrev->fixed_bytes < 0)
		return true;
	for (uint32_t i = 0; i < abbrev->count; i++)
	{
		const DwarfStep step = made->steps[abbrev->first + i];
		const DwarfStep skip = { .slot = DWARF_NO_SLOT, .value = skipped };

		if (step.slot != DWARF_LOW_PC && step.slot != DWARF_HIGH_PC &&
			step.slot != DWARF_RANGES_AT && step.slot != DWARF_SIBLING)
		{
			skipped += step.form == 0 ? step.value : step.size_bytes;
			continue;
		}
		if ((skipped > 0 && !add_step(reading, &skip)) || !add_step(reading, &step))
			return false;
		skipped = 0;
	}
	abbrev->range_count = made->step_count - abbrev->range_first;
	return true;
}

/* Reads one abbreviation. Returns false at the end of the table, or if it is damaged. */
static bool
read_abbrev(Reading *reading, DwarfCursor *cursor)
{
	DwarfAbbrevs *made = reading->made;
	DwarfAbbrev abbrev = { .code = dwarf_cursor_uleb(cursor), .first = made->step_count };
	uint64_t tag;

	/* code 0 ends the table */
	if (abbrev.code == 0)
		return false;
	tag = dwarf_cursor_uleb(cursor);
	/* no tag that we use has more than 16 bits, and no entry has the tag 0 */
	abbrev.tag = tag <= UINT16_MAX ? (uint16_t) tag : 0;
	abbrev.has_children = dwarf_cursor_number(cursor, 1) != 0;
	abbrev.is_plain = !holds_scopes(abbrev.tag);
	abbrev.is_file_level = is_file_level(abbrev.tag);
	for (;;)
	{
		uint64_t attribute = dwarf_cursor_uleb(cursor);
		uint64_t form = dwarf_cursor_uleb(cursor);
		int64_t value = form == DW_FORM_implicit_const ? dwarf_cursor_sleb(cursor) : 0;

		if (attribute == 0 && form == 0)
			break;
		if (!add_attribute(reading, &abbrev, attribute, form, value))
			dwarf_cursor_fail(cursor);
		/* the reference passes all children at once, so such an entry is not plain */
		if (attribute == DW_AT_sibling)
			abbrev.is_plain = false;
		/* declarations and abstract functions have no address */
		if (attribute == DW_AT_low_pc || attribute == DW_AT_ranges)
			abbrev.is_code = abbrev.tag == DW_TAG_subprogram;
	}
	abbrev.count = made->step_count - abbrev.first;
	set_sizes(made, &abbrev);
	if (!add_range_steps(reading, &abbrev) || cursor->failed || made->count >= ABBREVS_MAX ||
		grow_array(&made->items, &reading->item_room, made->count, sizeof(abbrev)) != 0)
	{
		cursor->failed = true;
		return false;
	}
	/* compilers number abbreviations from 1, so that most tables need no search */
	made->is_dense = made->is_dense && abbrev.code == made->count + 1;
	made->items[made->count++] = abbrev;
	return true;
}

static int
compare_codes(const void *a, const void *b)
{
	const DwarfAbbrev *left = a;
	const DwarfAbbrev *right = b;

	return (left->code > right->code) - (left->code < right->code);
}

/* Returns how a search for functions steps over entries of an abbreviation. */
static DwarfSkip
skip_of(const DwarfAbbrev *abbrev)
{
	if (abbrev->is_code || abbrev->fixed_bytes < 0)
		return (DwarfSkip){ DWARF_LOOK, DWARF_NO_CHILDREN };
	if (!abbrev->has_children || abbrev->is_file_level)
		return (DwarfSkip){ abbrev->fixed_bytes, DWARF_NO_CHILDREN };
	return (DwarfSkip){ abbrev->fixed_bytes,
						abbrev->sibling_bytes >= 0 ? abbrev->sibling_bytes : DWARF_BY_CHILD };
}

/*
 * Makes the table by which a search for functions steps over most entries of a unit. It has 8 bytes
 * a code instead of the abbreviation's 72, so that it stays in the processor's cache. Without
 * memory for it the search is slower.
 */
static void
list_skips(DwarfAbbrevs *made)
{
	uint32_t count = made->count < SKIPS_MAX ? made->count : SKIPS_MAX - 1;

	if (!made->is_dense)
		return;
	made->skips = calloc(count + 1, sizeof(*made->skips));
	if (made->skips == NULL)
		return;
	made->skip_count = count + 1;
	made->skips[0] = (DwarfSkip){ 0, DWARF_NO_CHILDREN };
	for (uint32_t i = 0; i < count; i++)
	{
		const DwarfSkip skip = skip_of(&made->items[i]);

		made->skips[i + 1] = skip;
		if (skip.bytes > (int64_t) made->skip_room_bytes)
			made->skip_room_bytes = (uint32_t) skip.bytes;
	}
}

/* Gives back the memory that the arrays do not use. */
static void
shrink(Reading *reading)
{
	DwarfAbbrevs *made = reading->made;
	DwarfAbbrev *items = realloc(made->items, (made->count + 1) * sizeof(*items));
	DwarfStep *steps = realloc(made->steps, (made->step_count + 1) * sizeof(*steps));

	if (items != NULL)
		made->items = items;
	if (steps != NULL)
		made->steps = steps;
}

DwarfAbbrevs *
dwarf_abbrevs_read(const DwarfSpan *section, uint64_t offset, const DwarfSizes *sizes,
				   uint64_t last)
{
	DwarfCursor cursor = dwarf_cursor(section, offset);
	Reading reading = { .made = calloc(1, sizeof(DwarfAbbrevs)) };

	if (reading.made == NULL)
		return NULL;
	reading.made->offset = offset;
	reading.made->sizes = *sizes;
	reading.made->is_dense = true;
	while (!cursor.failed && read_abbrev(&reading, &cursor))
	{
		if (reading.made->items[reading.made->count - 1].code == last)
			break;
	}
	if (cursor.failed)
	{
		dwarf_abbrevs_free(reading.made);
		return NULL;
	}
	shrink(&reading);
	if (last == 0)
		list_skips(reading.made);
	/* the order of codes matters only if they are searched */
	if (!reading.made->is_dense)
		qsort(reading.made->items, reading.made->count, sizeof(DwarfAbbrev), compare_codes);
	return reading.made;
}

void
dwarf_abbrevs_free(DwarfAbbrevs *abbrevs)
{
	if (abbrevs == NULL)
		return;
	free(abbrevs->items);
	free(abbrevs->steps);
	free(abbrevs->skips);
	free(abbrevs);
}

const DwarfAbbrev *
dwarf_abbrevs_search(const DwarfAbbrevs *abbrevs, uint64_t code)
{
	const DwarfAbbrev wanted = { .code = code };

	return bsearch(&wanted, abbrevs->items, abbrevs->count, sizeof(wanted), compare_codes);
}
