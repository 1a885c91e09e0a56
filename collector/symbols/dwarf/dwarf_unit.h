/*
 * dwarf_unit.h
 *		Units of a DWARF file, and their entries.
 */
#ifndef COLLECTOR_DWARF_UNIT_H
#define COLLECTOR_DWARF_UNIT_H

#include <stdbool.h>
#include <stdint.h>

#include "symbols/dwarf/dwarf_abbrevs.h"
#include "symbols/dwarf/dwarf_file.h"

#define DWARF_NOWHERE UINT64_MAX /* an offset or address that is unknown */

typedef enum DwarfUnitKind
{
	DWARF_UNIT_CODE,	 /* may have functions */
	DWARF_UNIT_SKELETON, /* its functions are in a split unit */
	DWARF_UNIT_OTHER	 /* partial, types: has only what others refer to */
} DwarfUnitKind;

struct DwarfUnit
{
	DwarfFile *file;
	uint64_t offset; /* in .debug_info, like the next two */
	uint64_t root;	 /* of the first entry */
	uint64_t end;
	uint64_t abbrev_offset;
	DwarfSizes sizes;
	uint8_t type; /* DW_UT_…; 0 before DWARF 5 */
	bool root_read;
	DwarfUnitKind kind;	   /* of the root, like all that follow */
	uint16_t language;	   /* DW_LANG_… */
	uint64_t line_table;   /* in .debug_line */
	const char *directory; /* NULL if unknown */
	const char *split_name;
	uint64_t split_id; /* of a skeleton and its split unit */
	uint64_t str_base;
	uint64_t addr_base;
	uint64_t lists_base;
	uint64_t ranges_base;
	uint64_t low_pc;				  /* that ranges are relative to */
	const DwarfAbbrevs *abbrevs;	  /* NULL: not read yet */
	const struct DwarfUnit *skeleton; /* of a split unit; has its addresses */
};

/* A value of an attribute, as it stands in the entry. */
typedef struct DwarfValue
{
	uint64_t number; /* of a string in the entry: its offset in .debug_info */
	uint16_t form;	 /* DW_FORM_… */
} DwarfValue;

typedef struct DwarfEntry
{
	DwarfUnit *unit;
	uint64_t offset;
	uint64_t next; /* behind it: its first child, if it has any */
	uint32_t has;  /* set of 1 << DwarfSlot */
	uint16_t tag;  /* 0: the end of a list of children */
	bool has_children;
	DwarfValue values[DWARF_SLOTS + 1]; /* the last is of attributes that are not read */
} DwarfEntry;

static inline bool
dwarf_entry_has(const DwarfEntry *entry, DwarfSlot slot)
{
	return (entry->has & 1U << slot) != 0;
}

/* Reads the headers of all units of a file. Returns 0 or -ENOMEM. */
int dwarf_units_read(DwarfFile *file);

/*
 * Reads the root of a unit. skeleton: of a split unit; NULL: none. Returns false if it is damaged.
 */
bool dwarf_unit_read_root(DwarfUnit *unit, const DwarfUnit *skeleton);

/* Reads the entry of a unit's root, whose children are not read. Returns false if it is damaged. */
bool dwarf_unit_read_root_entry(DwarfUnit *unit, DwarfEntry *root);

/* Returns the unit that holds an offset of .debug_info, with its root; NULL if there is none. */
DwarfUnit *dwarf_file_unit_at(DwarfFile *file, uint64_t offset);

/*
 * Reads the entry at an offset of a unit's .debug_info. Returns false at the end of the unit, or if
 * it is damaged.
 */
bool dwarf_entry_read(DwarfUnit *unit, uint64_t offset, DwarfEntry *entry);

/*
 * Reads the next entry, from an offset on, that is a function, an inlined call, the end of a list
 * of children, or may have functions inside. Others are skipped, which takes a fraction of the
 * time. Adds to *depth the number of skipped entries that the entry is inside of. Returns false at
 * the end of the unit, or if it is damaged.
 */
bool dwarf_entry_next_scope(DwarfUnit *unit, uint64_t offset, unsigned *depth, DwarfEntry *entry);

/* Returns the offset behind an entry and all its children. */
uint64_t dwarf_entry_after(const DwarfEntry *entry);

/* Reads the entry that a value refers to. Returns false if there is none. */
bool dwarf_entry_follow(const DwarfEntry *entry, DwarfSlot slot, DwarfEntry *target);

/* Returns the string of an attribute; NULL if there is none. It lives as long as the file. */
const char *dwarf_entry_string(const DwarfEntry *entry, DwarfSlot slot);

/* Gets an unsigned number of an attribute. Returns false if it has none. */
bool dwarf_entry_number(const DwarfEntry *entry, DwarfSlot slot, uint64_t *number);

/* Gets the address of an attribute. Returns false if it has none. */
bool dwarf_entry_address(const DwarfEntry *entry, DwarfSlot slot, uint64_t *address);

/* Gets an address by its index in the unit's part of .debug_addr. */
bool dwarf_unit_address(const DwarfUnit *unit, uint64_t index, uint64_t *address);

/* Reads a value of a form, as in line tables, where offsets are those of sizes. */
bool dwarf_value_read(DwarfCursor *cursor, const uint8_t *section, unsigned form,
					  const DwarfSizes *sizes, DwarfValue *value);

#endif
