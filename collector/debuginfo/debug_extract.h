/*
 * debug_extract.h
 *		The part of an ELF file that names its code: symbols, DWARF but for places of variables, and
 *		Go's table of functions.
 *
 * All sections stay where they were in the address space. Those that are not needed lose their
 * bytes, so the result is of no use but for symbolization. A Go program without DWARF is copied as
 * a whole: its table of functions refers to several of its data sections.
 */
#ifndef COLLECTOR_DEBUG_EXTRACT_H
#define COLLECTOR_DEBUG_EXTRACT_H

#include "files/elf_headers.h"

/*
 * Writes the part to an empty file. Returns 0; -ENOEXEC if it is no ELF file of this machine's byte
 * order; -ENODATA if it has no build ID; -ENOENT if nothing in it names code; -EIO.
 */
int debug_extract(int input, int output, char build_id[ELF_BUILD_ID_TEXT_BYTES]);

#endif
