/*
 * go_table.h
 *		Functions and lines of a Go program by its own function table, which no linker flag strips.
 *
 * Layout: runtime/symtab.go and runtime/runtime2.go of Go 1.18 and later; which tables are
 * understood, and where code starts, unwind/pclntab.h knows. Read from the file as it is asked for,
 * every offset checked.
 */
#ifndef COLLECTOR_GO_TABLE_H
#define COLLECTOR_GO_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "files/elf_headers.h"
#include "unwind/pclntab.h"

typedef struct GoTable GoTable;

/* Strings hold until the next question. */
typedef struct GoFunction
{
	const char *name;
	const char *file;	/* "" where not known */
	int32_t start_line; /* 0 likewise (before Go 1.20) */
	int32_t line;		/* 0 likewise: code of inlined calls */
} GoFunction;

/* Keeps the source. 0; -ENOENT where the file has no table that is understood; -ENOMEM. */
int go_table_open(const ElfSource *source, GoTable **table);

/* The same of a section that was found, whose layout is known. */
int go_table_make(const ElfSource *source, const ElfExtent *section, const Pclntab *layout,
				  GoTable **table);
void go_table_close(GoTable *table); /* accepts NULL */

/* The function that covers an ELF virtual address; false where none does. */
bool go_table_find(GoTable *table, uint64_t address, GoFunction *function);

#endif
