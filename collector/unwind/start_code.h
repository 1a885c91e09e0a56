/*
 * init_section.h
 *		Unwind rules of .init and .fini: linkers put them together from pieces that have no CFI.
 *
 * They stand at the start of a page as a rule, so a program that starts is found in them whenever
 * the page must be fetched.
 */
#ifndef COLLECTOR_INIT_SECTION_H
#define COLLECTOR_INIT_SECTION_H

#include <stdbool.h>

#include "unwind/cfi_program.h"

/*
 * True where the section is, byte by byte, what the C library's crti.o and crtn.o make of it on
 * x86-64.
 */
bool init_section_is_known(const CfiSection *section);

/* The rows of such a section, as cfi_program_run gives them. */
int init_section_rows(const CfiSection *section, CfiRowSink sink, void *context);

#endif
