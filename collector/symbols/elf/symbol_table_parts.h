/*
 * symbol_table_parts.h
 *		Internal structures of a symbol table, for symbol_table.c and symbol_table_file.c.
 */
#ifndef COLLECTOR_SYMBOL_TABLE_PARTS_H
#define COLLECTOR_SYMBOL_TABLE_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "symbols/elf/elf_file.h"

/*
 * A place identifies a symbol in the files: 2 bits for the file, 1 for .dynsym, 28 for the index.
 * The bit above these is set if an earlier symbol of the sorted table extends beyond this symbol's
 * start.
 */
#define PLACE_INDEX_BITS 28
#define PLACE_INDEX_MAX	 ((1U << PLACE_INDEX_BITS) - 1)
/* an earlier symbol extends beyond its start */
#define PLACE_NESTED	 (1U << (PLACE_INDEX_BITS + 3))

typedef struct SymbolEntry
{
	uint32_t start; /* address relative to base */
	uint32_t place;
} SymbolEntry;

struct SymbolTable
{
	uint64_t base;
	uint32_t count;
	SymbolEntry entries[];
};

static inline uint32_t
place_file_index(uint32_t place)
{
	return place >> (PLACE_INDEX_BITS + 1) & 3;
}

static inline ElfSymbolsKind
place_kind(uint32_t place)
{
	return (place >> PLACE_INDEX_BITS & 1) != 0 ? ELF_DYNSYM : ELF_SYMTAB;
}

/*
 * Returns true if no .symtab holds all symbols, so that the first file's .dynsym belongs to the
 * table.
 */
bool symbol_table_needs_dynsym(const ElfFile *const *files, uint32_t file_count);

#endif
