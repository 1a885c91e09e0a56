/*
 * dwarf_line_program.h
 *		Decodes one line table: its files, and the rows that its program produces.
 */
#ifndef COLLECTOR_DWARF_LINE_PROGRAM_H
#define COLLECTOR_DWARF_LINE_PROGRAM_H

#include "symbols/dwarf/dwarf_unit.h"

typedef struct LineFile
{
	const char *name;
	uint64_t directory; /* number of its directory */
} LineFile;

/* The files of a table. Strings live as long as the DWARF file. */
typedef struct LineTable
{
	DwarfSizes sizes;
	uint8_t instruction_bytes;
	int8_t line_base;
	uint8_t line_range;
	uint8_t opcode_base;
	const uint8_t *opcode_lengths;
	const char **directories;
	size_t directory_count;
	LineFile *files;
	size_t file_count;
	DwarfCursor program;
	bool exhausted; /* directories, files or rows are missing, because memory was exhausted */
} LineTable;

/* Rows where file or line changes, ordered by address. */
typedef struct LineRows
{
	uint64_t *places;	/* address << 16 | number of the file, or LINE_END */
	int32_t *line_nums; /* line of the row with the same index in places */
	size_t count;
} LineRows;

#define LINE_FILE_NONE (UINT16_MAX - 1) /* replaces file numbers that do not fit */
#define LINE_END	   UINT16_MAX		/* file number of the row at the end of a sequence */

/*
 * Reads the header of a unit's line table. Returns false if it has none, or if it is damaged.
 * line_table_fini() frees the table; it also accepts a zeroed one.
 */
bool line_table_read(LineTable *table, const DwarfUnit *unit);
void line_table_fini(LineTable *table);

/*
 * Runs the program. Rows after damage are missing; all are if memory is exhausted. The caller frees
 * the arrays.
 */
void line_table_run(LineTable *table, LineRows *rows);

#endif
