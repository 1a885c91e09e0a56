/*
 * debug_content.h
 *		Describes an untrusted file with debug information: its build ID, and which names and lines
 *		it has.
 */
#ifndef COLLECTOR_DEBUG_CONTENT_H
#define COLLECTOR_DEBUG_CONTENT_H

#include <stdbool.h>

#include "files/elf_headers.h"

typedef struct DebugContent
{
	char build_id[ELF_BUILD_ID_TEXT_BYTES]; /* "": none */
	/* the file has DWARF, or a Go program's table of functions */
	bool has_lines;
	/* the file has lines or a symbol table; without these "symbolize" cannot use it */
	bool has_names;
} DebugContent;

/*
 * Returns true if the file has the bytes of Go's table of functions, which strip does not remove.
 */
bool debug_content_has_go_table(const ElfSource *source);

/*
 * Reads a regular file with bounds checks, without libelf. Returns 0; -ENOEXEC if it is not an ELF
 * file; -ENOMEM.
 */
int debug_content_read(int fd, DebugContent *content);

#endif
