/*
 * dwarf_file.h
 *		The DWARF sections of one ELF file, its units and abbreviations.
 *
 * Nothing in the file is trusted: each offset is checked where it is used, and a part that cannot
 * be read counts as absent. Memory is proportional to the parts read, and is not limited here: the
 * worker's allocations beyond its limit fail.
 */
#ifndef COLLECTOR_DWARF_FILE_H
#define COLLECTOR_DWARF_FILE_H

#include <libelf.h>

#include "base/table.h"
#include "symbols/dwarf/dwarf_bytes.h"

typedef enum DwarfSection
{
	DWARF_INFO,
	DWARF_ABBREV,
	DWARF_STR,
	DWARF_LINE_STR,
	DWARF_STR_OFFSETS,
	DWARF_ADDR,
	DWARF_LINE,
	DWARF_RANGES,
	DWARF_RNGLISTS,
	DWARF_CU_INDEX, /* index of a package of split units (.dwp) */
	DWARF_SECTIONS
} DwarfSection;

typedef struct DwarfUnit DwarfUnit;

typedef struct DwarfFile
{
	DwarfSpan sections[DWARF_SECTIONS];
	struct DwarfFile *supplement; /* supplement made by dwz; NULL: none */
	DwarfUnit *units;			  /* sorted by offset */
	uint32_t unit_count;
	Budget budget;			  /* only counts memory */
	Table abbrevs;			  /* DwarfAbbrevs *, one for each offset */
	uint64_t list_bytes_read; /* of lists of address ranges, each time that one is read */
} DwarfFile;

/*
 * Subtracts from the room the size of those compressed sections that dwarf_file_init() with the
 * same split unpacks. Returns false if they do not fit.
 */
bool dwarf_elf_fits(Elf *elf, bool split, uint64_t *room_bytes);

/*
 * Reads the sections of an ELF file, which must stay open, or those of split units (.dwo).
 * Compressed ones are unpacked in memory. Returns 0, or -ENODATA if there is no .debug_info.
 * dwarf_file_fini() accepts a zeroed DwarfFile.
 */
int dwarf_file_init(DwarfFile *file, Elf *elf, bool split);

/*
 * Makes a file with the sections of another file, which must stay open. The caller then narrows the
 * sections.
 */
void dwarf_file_init_part(DwarfFile *part, const DwarfFile *whole);
void dwarf_file_fini(DwarfFile *file);

#endif
