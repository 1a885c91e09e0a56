/*
 * dwarf_abbrevs.h
 *		Abbreviations of DWARF entries: which attributes an entry has, in the order of its bytes.
 *
 * An abbreviation is stored as steps. Adjacent attributes that no code reads become one step with
 * the sum of their sizes, so that most entries are skipped at once.
 */
#ifndef COLLECTOR_DWARF_ABBREVS_H
#define COLLECTOR_DWARF_ABBREVS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/dwarf/dwarf_bytes.h"

/* The attributes that are read. */
typedef enum DwarfSlot
{
	DWARF_SIBLING,
	DWARF_NAME,
	DWARF_LINKAGE_NAME,
	DWARF_LOW_PC,
	DWARF_HIGH_PC,
	DWARF_RANGES_AT,
	DWARF_ORIGIN,		 /* the function of which an inlined call or a copy is an instance */
	DWARF_SPECIFICATION, /* the declaration that a function completes */
	DWARF_DECL_FILE,
	DWARF_DECL_LINE,
	DWARF_CALL_FILE,
	DWARF_CALL_LINE,
	/* The slots below belong to the root of a unit. */
	DWARF_LINE_TABLE,
	DWARF_DIRECTORY,
	DWARF_LANGUAGE,
	DWARF_STR_BASE,
	DWARF_ADDR_BASE,
	DWARF_LISTS_BASE,  /* base of .debug_rnglists */
	DWARF_RANGES_BASE, /* base of .debug_ranges, which the split unit uses */
	DWARF_SPLIT_NAME,
	DWARF_SPLIT_ID,
	DWARF_SLOTS,
	DWARF_NO_SLOT = DWARF_SLOTS
} DwarfSlot;

typedef struct DwarfStep
{
	uint16_t form; /* 0: skip as many bytes as value says */
	uint8_t slot;
	int8_t size_bytes; /* size of the form: see dwarf_form_bytes() */
	int32_t value;	   /* value of an implicit constant; 0 if it needs more than 32 bits */
} DwarfStep;

typedef struct DwarfAbbrev
{
	uint64_t code;
	uint32_t first; /* index of its first step */
	uint32_t count;
	/*
	 * Steps that read only address ranges and the sibling, for an inlined call or a block of fixed
	 * size; no steps: all attributes must be read.
	 */
	uint32_t range_first;
	uint32_t range_count;
	int32_t fixed_bytes;   /* size of all attributes; -1 if it varies */
	int32_t sibling_bytes; /* position of DW_AT_sibling in them, if it is a ref4; otherwise -1 */
	uint16_t tag;
	bool has_children;
	/* contains neither functions nor inlined calls, and has no reference to its sibling */
	bool is_plain;
	bool is_code;		/* a function that has addresses */
	bool is_file_level; /* a unit, a namespace or a module: its functions are in no function */
} DwarfAbbrev;

/* The sizes on which forms depend. */
typedef struct DwarfSizes
{
	uint8_t version;
	uint8_t address_bytes;
	uint8_t offset_bytes;
} DwarfSizes;

/* How a search for functions steps over an entry. */
typedef struct DwarfSkip
{
	int32_t bytes;	 /* size of the attributes; DWARF_LOOK: the entry must be looked at */
	int32_t sibling; /* position of DW_AT_sibling; or one of the values below */
} DwarfSkip;

#define DWARF_LOOK		  (-1)
#define DWARF_NO_CHILDREN (-1) /* no children, or children among which functions are searched */
#define DWARF_BY_CHILD	  (-2) /* children that are skipped one by one */

typedef struct DwarfAbbrevs
{
	uint64_t offset;
	DwarfSizes sizes;
	DwarfAbbrev *items; /* sorted by code */
	DwarfStep *steps;
	uint32_t count;
	uint32_t step_count;
	bool is_dense;	  /* codes are 1, 2, ... */
	DwarfSkip *skips; /* by code, if codes are dense; code 0 ends a list of children */
	uint32_t skip_count;
	uint32_t skip_room_bytes; /* largest size of an entry that skips can step over */
} DwarfAbbrevs;

/* Returns the size of a form in bytes; -1 if it varies, -2 if the form is not known. */
int dwarf_form_bytes(unsigned form, const DwarfSizes *sizes);

/*
 * Reads the abbreviations at an offset of .debug_abbrev up to their end or up to the code last.
 * Returns NULL if they are damaged or memory is exhausted.
 */
DwarfAbbrevs *dwarf_abbrevs_read(const DwarfSpan *section, uint64_t offset, const DwarfSizes *sizes,
								 uint64_t last);
void dwarf_abbrevs_free(DwarfAbbrevs *abbrevs); /* accepts NULL */

/* Like dwarf_abbrevs_find(), but for codes with gaps. */
const DwarfAbbrev *dwarf_abbrevs_search(const DwarfAbbrevs *abbrevs, uint64_t code);

/* Returns the abbreviation of a code; NULL if there is none. */
static inline const DwarfAbbrev *
dwarf_abbrevs_find(const DwarfAbbrevs *abbrevs, uint64_t code)
{
	if (abbrevs->is_dense)
		return code - 1 < abbrevs->count ? &abbrevs->items[code - 1] : NULL;
	return dwarf_abbrevs_search(abbrevs, code);
}

#endif
