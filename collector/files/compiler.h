/*
 * compiler.h
 *		Determines which compiler made a binary.
 *
 * GCC, Clang and rustc each leave a line in the section .comment; Go's linker writes its version
 * into .go.buildinfo, whose form since Go 1.18 is read.
 */
#ifndef COLLECTOR_COMPILER_H
#define COLLECTOR_COMPILER_H

#include "files/elf_headers.h"

#define COMPILER_BYTES 64

/*
 * Writes "gcc 12.2.0", "clang 14.0.6", "rustc 1.75.0", "go 1.21.5", or "" if the file does not name
 * its compiler.
 */
void compiler_read(const ElfSource *source, char compiler[COMPILER_BYTES]);

/* Like compiler_read(), but from the bytes of a section .comment. */
void compiler_parse_comment(const char *bytes, size_t length, char compiler[COMPILER_BYTES]);

#endif
