/*
 * symbol_table.h
 *		Function symbols of one binary, sorted by address, 8 bytes each.
 *
 * A table holds addresses and where each symbol stands in its file; size and name are read from the
 * file when an address is looked up. So a program with 150,000 functions costs 1.2 MB.
 */
#ifndef COLLECTOR_SYMBOL_TABLE_H
#define COLLECTOR_SYMBOL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/elf_file.h"

#define SYMBOL_NAME_MAX_BYTES  8192
#define SYMBOL_TABLE_FILES_MAX 3

typedef struct SymbolTable SymbolTable;

/*
 * Reads the symbols of a binary and of the files that belong to it (separate debug file, mini debug
 * information), at most SYMBOL_TABLE_FILES_MAX. Later calls with this table pass the same files in
 * the same order. The first file's .dynsym is left out where a .symtab holds all of it. An empty
 * table is a success. 0 or -ENOMEM.
 */
int symbol_table_create(const ElfFile *const *files, uint32_t file_count, SymbolTable **table);
void symbol_table_free(SymbolTable *table); /* accepts NULL */

/*
 * Name of the function that covers an address: a symbol of known size up to its end, one of unknown
 * size up to the next symbol or the end of its section. PLT stubs are named function@plt. False
 * where nothing covers it. name has SYMBOL_NAME_MAX_BYTES.
 */
bool symbol_table_find(const SymbolTable *table, const ElfFile *const *files, uint64_t address,
					   char *name, uint64_t *start);

#endif
