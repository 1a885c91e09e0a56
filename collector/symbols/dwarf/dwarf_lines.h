/*
 * dwarf_lines.h
 *		Finds file and line of an address in compact line tables of units.
 *
 * A table takes 12 bytes for each change of file or line, and each path exists once.
 */
#ifndef COLLECTOR_DWARF_LINES_H
#define COLLECTOR_DWARF_LINES_H

#include "symbols/dwarf/dwarf_unit.h"

typedef struct DwarfLines DwarfLines;

/* Makes an empty cache of line tables. Returns 0 or -ENOMEM. */
int dwarf_lines_create(DwarfLines **lines);
/* accepts NULL; call it before the files of its units are freed */
void dwarf_lines_free(DwarfLines *lines);

/*
 * Finds path and line of an address in the table of a unit. Returns false if the table has none.
 * The path is that in the table, "" if not known, and valid until dwarf_lines_free().
 */
bool dwarf_lines_find(DwarfLines *lines, const DwarfUnit *unit, uint64_t address, const char **path,
					  int32_t *line);

/* Returns true if memory was exhausted since the last call, so that a path or a line is missing. */
bool dwarf_lines_exhausted(DwarfLines *lines);

/* Returns the path of a file by its number in the unit's table; NULL if there is no such number. */
const char *dwarf_lines_path(DwarfLines *lines, const DwarfUnit *unit, uint64_t number);

#endif
