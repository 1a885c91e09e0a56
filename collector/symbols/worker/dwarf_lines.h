/*
 * dwarf_lines.h
 *		Compact line tables of a file's DWARF: from an address to file and line.
 *
 * libdw keeps 100 bytes per row while a file is open. Here a separate libdw session reads the table
 * of one unit and is closed again. What stays are 12 bytes for each change of file or line, and
 * each path once.
 *
 * Only the worker process uses it.
 */
#ifndef COLLECTOR_DWARF_LINES_H
#define COLLECTOR_DWARF_LINES_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct DwarfLines DwarfLines;

/* Creates empty tables of an ELF file, which must stay open. Returns 0 or -ENOMEM. */
int dwarf_lines_create(Elf *elf, DwarfLines **lines);
void dwarf_lines_free(DwarfLines *lines); /* accepts NULL */

/*
 * Finds path and line of an address in the table of a unit, given by the offset of its DIE. Returns
 * false if the table has none. The path is as the table has it, "" if unknown, and valid until
 * dwarf_lines_free().
 */
bool dwarf_lines_find(DwarfLines *lines, Dwarf_Off unit, Dwarf_Addr address, const char **path,
					  int *line);

/* Returns the path of a file by its number in the unit's table; NULL if there is no such number. */
const char *dwarf_lines_path(DwarfLines *lines, Dwarf_Off unit, Dwarf_Word number);

#endif
