/*
 * exported_symbol.h
 *		Finds a symbol that a file exports, by the hash table that the dynamic linker uses. This
 *		takes a few reads, regardless of the number of symbols.
 */
#ifndef COLLECTOR_EXPORTED_SYMBOL_H
#define COLLECTOR_EXPORTED_SYMBOL_H

#include "files/elf_headers.h"

typedef struct ExportedSymbol
{
	uint64_t address;
	uint64_t size_bytes;
} ExportedSymbol;

/*
 * Finds a defined symbol of one of the types (a set of 1 << STT_…). Returns false if there is none,
 * if the file is not 64-bit, or if it has no section .gnu.hash.
 */
bool exported_symbol_find(ElfHeaders *headers, const char *name, uint32_t types,
						  ExportedSymbol *found);

#endif
