/*
 * packed_table.h
 *		An unwind table as the kernel side reads it: rows of 4 bytes in cache lines, by pages of 4
 *		KiB.
 */
#ifndef COLLECTOR_PACKED_TABLE_H
#define COLLECTOR_PACKED_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "unwind/cfi.h"

typedef struct PackedPage
{
	uint64_t page;		 /* ELF virtual address >> PFS_UNWIND_PAGE_BITS */
	uint32_t first_line; /* relative to the table's own lines */
	uint32_t line_count;
} PackedPage;

typedef struct PackedTable
{
	struct pfs_unwind_line *lines;
	size_t line_count;
	PackedPage *pages; /* ascending; pages without any rule are absent */
	size_t page_count;
	uint64_t rows_outside; /* rows at addresses that page numbers cannot express, left out */
} PackedTable;

/*
 * A page's first row repeats the rule in force where the page begins inside of it, so that each
 * page is complete by itself. 0 or -ENOMEM.
 */
int packed_table_build(const UnwindTable *table, PackedTable *packed);

/* Compiles the input into a packed table, without a list of all its rows. As cfi_compile(). */
int packed_table_compile(const CfiInput *input, RuleSet *rules, PackedTable *packed,
						 CfiStats *stats);
void packed_table_free(PackedTable *packed);

#endif
