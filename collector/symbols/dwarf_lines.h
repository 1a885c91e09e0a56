/*
 * dwarf_lines.h
 *		Line tables of one file's DWARF in little memory: from an address to file and line.
 *
 * libdw keeps 100 bytes a row for as long as a file is open. Here a unit's table is read by a libdw
 * session of its own, which is closed at once; what stays is 12 bytes for each change of file or
 * line, and each file's name once.
 *
 * Only the worker uses it, as dwarf_session.h.
 */
#ifndef COLLECTOR_DWARF_LINES_H
#define COLLECTOR_DWARF_LINES_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct DwarfLines DwarfLines;

/* Of one ELF file, which must stay open. 0 or -ENOMEM. */
int dwarf_lines_create(Elf *elf, DwarfLines **lines);
void dwarf_lines_free(DwarfLines *lines); /* accepts NULL */

/*
 * Path and line of an address by the table of the unit whose DIE has this offset; false where it
 * has none. The path is as the table has it, "" where unknown, and holds until all is freed.
 */
bool dwarf_lines_find(DwarfLines *lines, Dwarf_Off unit, Dwarf_Addr address, const char **path,
					  int *line);

/* Path of a file by its number in the unit's table; NULL where the table has no such number. */
const char *dwarf_lines_path(DwarfLines *lines, Dwarf_Off unit, Dwarf_Word number);

#endif
