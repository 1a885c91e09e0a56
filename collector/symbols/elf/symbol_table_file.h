/*
 * symbol_table_file.h
 *		A symbol table on disk, so that a new worker does not sort the symbols of a large binary
 *		again.
 *
 * A table file is used only if its checksum matches, all its values are in bounds, and the seeded
 * hash of the binary's current symbols, names and sections is the stored one. So a binary that
 * pretends to be another one, by build ID or size, cannot use its table.
 *
 *   OFFSET  SIZE   DESCRIPTION
 *   0       8      "PFSSYMBL"
 *   8       4      CRC-32 of all that follows
 *   12      4      SYMBOL_TABLE_VERSION
 *   16      8      seed, random for each table file
 *   24      8      hash under the seed of the symbols, names and sections
 *   32      8      address of the first symbol
 *   40      4      number of entries
 *   44      4      0
 *   48      8 × n  SymbolEntry, by address
 *
 * Numbers have the byte order of the machine, because a table file never leaves it.
 */
#ifndef COLLECTOR_SYMBOL_TABLE_FILE_H
#define COLLECTOR_SYMBOL_TABLE_FILE_H

#include "symbols/elf/symbol_table.h"

/* Increment this when symbol_table.c chooses or orders symbols differently. */
#define SYMBOL_TABLE_VERSION 1

#define SYMBOL_TABLE_FILE_MAX (8U << 20) /* bytes of a table file */

/*
 * Writes the table of these files to an empty file. Returns 0; -EFBIG if the table or its sources
 * are too large; another -errno.
 */
int symbol_table_write(const SymbolTable *table, const ElfFile *const *files, uint32_t file_count,
					   int fd);

/*
 * Reads the table of these files; the caller frees it. Returns 0; -EBADMSG if the file is damaged;
 * -ESTALE if it belongs to other symbols or another version; -ENOMEM.
 */
int symbol_table_read(const ElfFile *const *files, uint32_t file_count, int fd,
					  SymbolTable **table);

#endif
