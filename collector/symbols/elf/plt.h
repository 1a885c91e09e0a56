/*
 * plt.h
 *		Names of procedure linkage table stubs: function@plt.
 */
#ifndef COLLECTOR_PLT_H
#define COLLECTOR_PLT_H

#include "symbols/elf/elf_file.h"

/*
 * Names the function to which the stub at an address jumps, from the slot of the global offset
 * table that the stub loads (x86-64 and AArch64). start becomes the stub's address. Returns false
 * if the stub loads no function's slot; such is the first stub, which calls the dynamic linker.
 */
bool plt_find(const ElfFile *file, const ElfSection *section, uint64_t address, char *name,
			  size_t size_bytes, uint64_t *start);

#endif
