/*
 * go_table.h
 *		Functions and lines of a Go program from its own function table, which no linker flag
 *		removes.
 *
 * The layout is that of runtime/symtab.go and runtime/runtime2.go since Go 1.16. For Go 1.18 and
 * later unwind/cfi/pclntab.h decides which tables are understood and where code starts. Entries are
 * read from the file when needed; every offset is checked.
 */
#ifndef COLLECTOR_GO_TABLE_H
#define COLLECTOR_GO_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "files/elf_headers.h"
#include "symbols/elf/go_addresses.h"
#include "unwind/cfi/pclntab.h"

typedef struct GoTable GoTable;

/* A function at an address. Strings are valid until the next lookup. */
typedef struct GoFunction
{
	const char *name;
	const char *file;	/* "" if unknown */
	int32_t start_line; /* 0 if unknown (before Go 1.20) */
	int32_t line;		/* 0 if unknown */
} GoFunction;

/*
 * Finds and opens the table of a file. The source must stay open. Returns 0; -ENOENT if the file
 * has no table that is understood; -ENOMEM.
 */
int go_table_open(const ElfSource *source, GoTable **table);

/*
 * Opens a table of Go 1.18 or later whose section and header are known. data is the module's data
 * (go_module.h), or empty: then inlined calls are not found. The source must stay open. Returns 0;
 * -ENOENT; -ENOMEM.
 */
int go_table_make(const ElfSource *source, const ElfExtent *section, const ElfExtent *data,
				  const Pclntab *header, GoTable **table);

/*
 * Opens a table of Go 1.16 or 1.17. Takes over the addresses of its section, and leaves none.
 * Returns 0; -ENOENT if it is another table; -ENOMEM.
 */
int go_table_make_1_16(const ElfSource *source, const ElfExtent *section, GoAddresses *addresses,
					   GoTable **table);
void go_table_close(GoTable *table); /* accepts NULL */

/*
 * Finds the function that covers an ELF virtual address, with the calls that are inlined there,
 * innermost first, at most max. If there are more, or they cannot be read, the last one's line is
 * unknown. Returns their number, 0 if there is none.
 */
int go_table_find(GoTable *table, uint64_t address, GoFunction *functions, int max);

#endif
