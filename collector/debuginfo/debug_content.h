/*
 * debug_content.h
 *		Describes an untrusted file with debug information: its build ID, and how much it names.
 */
#ifndef COLLECTOR_DEBUG_CONTENT_H
#define COLLECTOR_DEBUG_CONTENT_H

#include <stdbool.h>

#include "files/elf_headers.h"

typedef struct DebugContent
{
	char build_id[ELF_BUILD_ID_TEXT_BYTES]; /* "": none */
	bool has_lines;							/* DWARF, or the table of a Go program */
	bool has_names;							/* lines or a symbol table, which symbolize needs */
} DebugContent;

/* Returns true if a file has the bytes of Go's table of functions, which strip leaves. */
bool debug_content_has_go_table(const ElfSource *source);

/*
 * Reads a regular file with bounds checks, without libelf. Returns 0; -ENOEXEC if it is not an ELF
 * file; -ENOMEM.
 */
int debug_content_read(int fd, DebugContent *content);

#endif
