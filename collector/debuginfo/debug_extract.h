/*
 * debug_extract.h
 *		Extracts the part of an ELF file that names its code: symbols, DWARF except the places of
 *		variables, and Go's table of functions.
 *
 * All sections keep their addresses. Sections that symbolization does not need lose their bytes. A
 * Go program without DWARF is copied as a whole, because its table of functions refers to several
 * of its data sections.
 */
#ifndef COLLECTOR_DEBUG_EXTRACT_H
#define COLLECTOR_DEBUG_EXTRACT_H

#include "files/elf_headers.h"

/*
 * Writes the part to an empty file. Returns 0; -ENOEXEC if input is not an ELF file of this
 * machine's byte order; -ENODATA if it has no build ID; -ENOENT if it has no DWARF, no symbol
 * table and no table of Go's functions; -EIO.
 */
int debug_extract(int input, int output, char build_id[ELF_BUILD_ID_TEXT_BYTES]);

#endif
