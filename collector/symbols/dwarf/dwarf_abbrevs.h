/*
 * dwarf_abbrevs.h
 *		Abbreviations of DWARF entries: which attributes an entry has, in the order of its bytes.
 *
 * They are kept as steps: attributes that no one reads are joined to one step of their size, so
 * that most entries are skipped at once.
 */
#ifndef COLLECTOR_DWARF_ABBREVS_H
#define COLLECTOR_DWARF_ABBREVS_H

#include <stdbool.h>
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
	DWARF_ORIGIN,		 /* the function that an inlined call or a copy is one of */
	DWARF_SPECIFICATION, /* the declaration that a function completes */
	DWARF_DECL_FILE,
	DWARF_DECL_LINE,
	DWARF_CALL_FILE,
	DWARF_CALL_LINE,
	/* of a unit's root */
	DWARF_LINE_TABLE,
	DWARF_DIRECTORY,
	DWARF_LANGUAGE,
	DWARF_STR_BASE,
	DWARF_ADDR_BASE,
	DWARF_LISTS_BASE,  /* of .debug_rnglists */
	DWARF_RANGES_BASE, /* of .debug_ranges, for the split unit */
	DWARF_SPLIT_NAME,
	DWARF_SPLIT_ID,
	DWARF_SLOTS,
	DWARF_NO_SLOT = DWARF_SLOTS
} DwarfSlot;

typedef struct DwarfStep
{
	uint16_t form; /* 0: skip value bytes */
	uint8_t slot;
	int8_t size_bytes; /* of the form, as of dwarf_form_bytes() */
	int32_t value;	   /* of an implicit constant, 0 if it takes more than 32 bits */
} DwarfStep;

typedef struct DwarfAbbrev
{
	uint64_t code;
	uint32_t first; /* of its steps */
	uint32_t count;
	uint16_t tag;
	bool has_children;
	bool is_plain; /* no function or inlined call can be inside, and no sibling is known */
} DwarfAbbrev;

/* Sizes that forms depend on. */
typedef struct DwarfSizes
{
	uint8_t version;
	uint8_t address_bytes;
	uint8_t offset_bytes;
} DwarfSizes;

typedef struct DwarfAbbrevs
{
	uint64_t offset;
	DwarfSizes sizes;
	DwarfAbbrev *items; /* ordered by code */
	DwarfStep *steps;
	uint32_t count;
	uint32_t step_count;
	bool is_dense; /* codes are 1, 2, ... */
} DwarfAbbrevs;

/* Returns true if functions or inlined calls can lie inside of an entry, or it is one. */
bool dwarf_tag_holds_scopes(unsigned tag);

/* Returns the bytes of a form; -1 if they vary, -2 if the form is unknown. */
int dwarf_form_bytes(unsigned form, const DwarfSizes *sizes);

/*
 * Reads the abbreviations at an offset of .debug_abbrev up to their end or up to the code last.
 * Returns NULL if they are damaged or memory is exhausted.
 */
DwarfAbbrevs *dwarf_abbrevs_read(const DwarfSpan *section, uint64_t offset, const DwarfSizes *sizes,
								 uint64_t last);
void dwarf_abbrevs_free(DwarfAbbrevs *abbrevs); /* accepts NULL */

/* Returns the abbreviation of a code; NULL if there is none. */
const DwarfAbbrev *dwarf_abbrevs_find(const DwarfAbbrevs *abbrevs, uint64_t code);

#endif
