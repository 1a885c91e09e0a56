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

#define DWARF_NOWHERE UINT64_MAX /* marks an offset or address as not known */

typedef enum DwarfUnitKind
{
	DWARF_UNIT_CODE,	 /* the unit may contain functions */
	DWARF_UNIT_SKELETON, /* the unit's functions are in a split unit */
	DWARF_UNIT_OTHER	 /* partial or type unit: contains only entries to which others refer */
} DwarfUnitKind;

struct DwarfUnit
{
	DwarfFile *file;
	uint64_t offset; /* offset in .debug_info; the next two fields are, too */
	uint64_t root;	 /* offset of the first entry */
	uint64_t end;
	uint64_t abbrev_offset;
	DwarfSizes sizes;
	uint8_t type; /* DW_UT_…; 0 before DWARF 5 */
	bool root_read;
	DwarfUnitKind kind;	   /* this and all fields below come from the root */
	uint16_t language;	   /* DW_LANG_… */
	uint64_t line_table;   /* offset in .debug_line */
	const char *directory; /* NULL if unknown */
	const char *split_name;
	uint64_t split_id; /* id of a skeleton and of its split unit */
	uint64_t str_base;
	uint64_t addr_base;
	uint64_t lists_base;
	uint64_t ranges_base;
	uint64_t low_pc;			 /* address to which ranges are relative */
	const DwarfAbbrevs *abbrevs; /* NULL: not read yet */
	/* split unit: its skeleton, which has the addresses; otherwise NULL */
	const struct DwarfUnit *skeleton;
};

/* The value of an attribute as it is stored in the entry. */
typedef struct DwarfValue
{
	uint64_t number; /* the number; for a string in the entry, its offset in .debug_info */
	uint16_t form;	 /* DW_FORM_… */
} DwarfValue;

typedef struct DwarfEntry
{
	DwarfUnit *unit;
	uint64_t offset;
	uint64_t next; /* offset after the entry: of its first child, if it has children */
	uint32_t has;  /* set of 1 << DwarfSlot */
	uint16_t tag;  /* 0: the end of a list of children */
	bool has_children;
	DwarfValue values[DWARF_SLOTS + 1]; /* the last slot receives attributes that are not used */
} DwarfEntry;

static inline bool
dwarf_entry_has(const DwarfEntry *entry, DwarfSlot slot)
{
	return (entry->has & 1U << slot) != 0;
}

/* Reads the headers of all units of a file. Returns 0 or -ENOMEM. */
int dwarf_units_read(DwarfFile *file);

/*
 * Reads the root of a unit. skeleton is that of a split unit, otherwise NULL. Returns false if the
 * root is damaged.
 */
bool dwarf_unit_read_root(DwarfUnit *unit, const DwarfUnit *skeleton);

/* Reads only the entry of a unit's root. Returns false if it is damaged. */
bool dwarf_unit_read_root_entry(DwarfUnit *unit, DwarfEntry *root);

/*
 * Returns the unit that contains an offset of .debug_info, with its root read; NULL if there is
 * none.
 */
DwarfUnit *dwarf_file_unit_at(DwarfFile *file, uint64_t offset);

/*
 * Reads the entry at an offset of a unit's .debug_info. Returns false at the end of the unit, or if
 * it is damaged.
 */
bool dwarf_entry_read(DwarfUnit *unit, uint64_t offset, DwarfEntry *entry);

/*
 * Reads the next entry at or after an offset that is a function, an inlined call, the end of a list
 * of children, or may contain functions. Other entries are skipped, which takes a fraction of the
 * time; *depth is increased by the number of skipped entries around the result. Of an inlined call
 * or a block *entry may have only the ranges and the sibling. Returns false at the end of the unit,
 * or if it is damaged.
 */
bool dwarf_entry_next_scope(DwarfUnit *unit, uint64_t offset, unsigned *depth, DwarfEntry *entry);

/*
 * Reads the next entry at or after an offset that is a function with addresses. Looks into units,
 * namespaces and modules only; if everywhere is true, also into types and other functions. Returns
 * false at the end of the unit, or if it is damaged.
 */
bool dwarf_entry_next_function(DwarfUnit *unit, uint64_t offset, bool everywhere,
							   DwarfEntry *entry);

/* Returns the offset after an entry and all its children. */
uint64_t dwarf_entry_after(const DwarfEntry *entry);

/* Finds unit and offset of the entry to which a value refers. Returns false if there is none. */
bool dwarf_entry_target(const DwarfEntry *entry, DwarfSlot slot, DwarfUnit **unit,
						uint64_t *offset);

/* Reads the entry to which a value refers. Returns false if there is none. */
bool dwarf_entry_follow(const DwarfEntry *entry, DwarfSlot slot, DwarfEntry *target);

/* Returns the string of an attribute; NULL if there is none. It lives as long as the file. */
const char *dwarf_entry_string(const DwarfEntry *entry, DwarfSlot slot);

/* Reads an attribute as an unsigned number. Returns false if the entry lacks it. */
bool dwarf_entry_number(const DwarfEntry *entry, DwarfSlot slot, uint64_t *number);

/* Reads an attribute as an address. Returns false if the entry lacks it. */
bool dwarf_entry_address(const DwarfEntry *entry, DwarfSlot slot, uint64_t *address);

/* Reads an address by its index in the unit's part of .debug_addr. */
bool dwarf_unit_address(const DwarfUnit *unit, uint64_t index, uint64_t *address);

/*
 * Reads a value of a form outside of entries, as line tables have them; sizes determines the size
 * of offsets.
 */
bool dwarf_value_read(DwarfCursor *cursor, const uint8_t *section, unsigned form,
					  const DwarfSizes *sizes, DwarfValue *value);

#endif
