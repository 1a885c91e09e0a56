/*
 * symbol_table.h
 *		Function symbols of one binary, sorted by address, 8 bytes each.
 *
 * A table holds addresses and the place of each symbol in its file; size and name are read from the
 * file at a lookup. A program with 150,000 functions takes 1.2 MB.
 */
#ifndef COLLECTOR_SYMBOL_TABLE_H
#define COLLECTOR_SYMBOL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/elf/elf_file.h"

#define SYMBOL_NAME_MAX_BYTES  8192
#define SYMBOL_TABLE_FILES_MAX 3

typedef struct SymbolTable SymbolTable;

/*
 * Reads the symbols of a binary and of its other files (separate debug file, mini debug
 * information), at most SYMBOL_TABLE_FILES_MAX. Later calls with this table must pass these files
 * in this order. The .dynsym of the first file is ignored if a .symtab holds all of its symbols. An
 * empty table is a success. Returns 0 or -ENOMEM.
 */
int symbol_table_create(const ElfFile *const *files, uint32_t file_count, SymbolTable **table);
void symbol_table_free(SymbolTable *table); /* accepts NULL */

/*
 * Finds the function that covers an address. A symbol with a size extends to its end, one without
 * to the next symbol or the end of its section. PLT stubs are named function@plt. name has
 * SYMBOL_NAME_MAX_BYTES. Returns false if nothing covers the address.
 */
bool symbol_table_find(const SymbolTable *table, const ElfFile *const *files, uint64_t address,
					   char *name, uint64_t *start);

#endif
