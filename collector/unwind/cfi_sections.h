/*
 * cfi_sections.h
 *		The CFI sections of an ELF file, read into memory for the compiler.
 */
#ifndef COLLECTOR_CFI_SECTIONS_H
#define COLLECTOR_CFI_SECTIONS_H

#include "unwind/cfi_input.h"

#define CFI_BUILD_ID_MAX_BYTES 64

typedef struct CfiSections
{
	CfiInput input;								   /* points into the handle's memory */
	void *elf;									   /* libelf's handle */
	char build_id[2 * CFI_BUILD_ID_MAX_BYTES + 1]; /* hexadecimal; "" where there is none */
} CfiSections;

/*
 * Reads the sections of a 64-bit little-endian ELF file from a descriptor, which stays the caller's
 * and open until cfi_sections_fini. Sections are read, never mapped: a file cut short under us must
 * not raise SIGBUS. 0 or -ENOEXEC.
 */
int cfi_sections_init(CfiSections *sections, int fd);
void cfi_sections_fini(CfiSections *sections);

#endif
