/*
 * symbol_table_file.h
 *		A symbol table on disk, so that a new worker does not sort the symbols of a large binary.
 *
 * A table file is believed only if its checksum holds, if all that it says is in bounds, and if it
 * was made of the very symbols, names and sections that the files have now. So a file that claims
 * to be another one, by build ID, size or anything else, has no use of its table.
 *
 *		OFFSET  SIZE   DESCRIPTION
 *		0       8      "PFSSYMBL"
 *		8       4      CRC-32 of all that follows
 *		12      4      SYMBOL_TABLE_VERSION
 *		16      8      seed, drawn for this table file
 *		24      8      hash under the seed of the symbols, names and sections
 *		32      8      address of the first symbol
 *		40      4      number of entries
 *		44      4      0
 *		48      8 × n  SymbolEntry, by address
 *
 * In the byte order of the machine: a table file never leaves it.
 */
#ifndef COLLECTOR_SYMBOL_TABLE_FILE_H
#define COLLECTOR_SYMBOL_TABLE_FILE_H

#include "symbols/symbol_table.h"

/* To be raised if symbol_table.c chooses or orders symbols in another way. */
#define SYMBOL_TABLE_VERSION 1

#define SYMBOL_TABLE_FILE_MAX (8U << 20) /* bytes of a table file */

/*
 * Writes a table of these files to an empty file. 0; -EFBIG if the table or its sources are too
 * large to be kept; another -errno.
 */
int symbol_table_write(const SymbolTable *table, const ElfFile *const *files, uint32_t file_count,
					   int fd);

/*
 * Reads the table of these files, to be freed. 0; -EBADMSG if the bytes are no sound table file;
 * -ESTALE if it was made of other symbols, or by another version; -ENOMEM.
 */
int symbol_table_read(const ElfFile *const *files, uint32_t file_count, int fd,
					  SymbolTable **table);

#endif
