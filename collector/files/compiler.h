/*
 * compiler.h
 *		What a binary was compiled by, as it says itself.
 *
 * Compilers leave a line each in the section .comment: GCC, Clang, rustc; Go's linker its version
 * in .go.buildinfo (from Go 1.18 on in the form that is read here).
 */
#ifndef COLLECTOR_COMPILER_H
#define COLLECTOR_COMPILER_H

#include "files/elf_headers.h"

#define COMPILER_BYTES 64

/* "gcc 12.2.0", "clang 14.0.6", "rustc 1.75.0", "go 1.21.5"; "" where the file does not say. */
void compiler_read(const ElfSource *source, char compiler[COMPILER_BYTES]);

/* The same from the bytes of a section .comment. */
void compiler_parse_comment(const char *bytes, size_t length, char compiler[COMPILER_BYTES]);

#endif
