/*
 * plt.h
 *		Names of procedure linkage table stubs: function@plt.
 */
#ifndef COLLECTOR_PLT_H
#define COLLECTOR_PLT_H

#include "symbols/elf_file.h"

/*
 * Names the function that the stub at an address jumps to, by the slot that the stub loads (x86-64
 * and AArch64); start is the stub's address. False if the stub loads no slot of a function, as the
 * first one, which calls the dynamic linker.
 */
bool plt_find(const ElfFile *file, const ElfSection *section, uint64_t address, char *name,
			  size_t size_bytes, uint64_t *start);

#endif
