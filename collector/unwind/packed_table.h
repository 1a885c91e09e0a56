/*
 * packed_table.h
 *		An unwind table in the layout of the BPF program: rows of 4 bytes, in lines of one cache
 *		line, grouped by pages of 4 KiB of code.
 *
 * A large table is loaded in parts, because walks need few of them. Each part has the rows of 64
 * KiB of code.
 */
#ifndef COLLECTOR_PACKED_TABLE_H
#define COLLECTOR_PACKED_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/cfi/cfi.h"

typedef struct PackedPage
{
	uint64_t page;		 /* ELF virtual address >> PFS_UNWIND_PAGE_BITS */
	uint32_t first_line; /* relative to the table's first line */
	uint32_t line_count; /* with PFS_UNWIND_NOT_LOADED if the lines were left out */
} PackedPage;

typedef struct PackedTable
{
	struct pfs_unwind_line *lines;
	size_t line_count;
	PackedPage *pages; /* ascending; pages without rules are absent */
	size_t page_count;
	/* rows that were left out, because page numbers cannot express their addresses */
	uint64_t rows_outside;
} PackedTable;

#define PACKED_PART_PAGE_BITS 4 /* bits of a page's number within its part */
#define PACKED_PART_PAGES	  (1 << PACKED_PART_PAGE_BITS)
#define PACKED_WHOLE_LINES	  1024 /* a table with fewer lines is loaded as a whole */

#define PACKED_PARTS_MANY 16

/* Parts that are requested together. */
typedef struct PackedParts
{
	uint64_t numbers[PACKED_PARTS_MANY]; /* page numbers >> PACKED_PART_PAGE_BITS */
	uint32_t count;
} PackedParts;

static inline uint64_t
packed_page_part(uint64_t page)
{
	return page >> PACKED_PART_PAGE_BITS;
}

/* Returns the number of lines of a page, including those left out. */
static inline uint32_t
packed_page_lines(const PackedPage *page)
{
	return page->line_count & ~PFS_UNWIND_NOT_LOADED;
}

static inline PackedPage
packed_page_without_lines(const PackedPage *page)
{
	return (PackedPage){ .page = page->page,
						 .line_count = page->line_count | PFS_UNWIND_NOT_LOADED };
}

/* Adds the part around an ELF address if there is room. */
void packed_parts_add(PackedParts *parts, uint64_t address);
bool packed_parts_hold(const PackedParts *parts, uint64_t page);

/*
 * Converts a table. The first row of a page repeats the rule that is valid at the start of the
 * page, so that a page can be searched alone. Returns 0 or -ENOMEM.
 */
int packed_table_build(const UnwindTable *table, PackedTable *packed);

/*
 * Compiles the input into a packed table without making a list of all rows. Returns like
 * cfi_compile().
 */
int packed_table_compile(const CfiInput *input, RuleSet *rules, PackedTable *packed,
						 CfiStats *stats);
void packed_table_free(PackedTable *packed);

/* Returns true if no lines were left out. */
bool packed_table_is_whole(const PackedTable *packed);

/* Returns true if the lines of a page must be kept. */
typedef bool (*PackedPageFilter)(const void *context, uint64_t page);

/* Leaves out the lines of pages for which the filter returns false. */
void packed_table_filter(PackedTable *packed, PackedPageFilter stays, const void *context);

/* If the table is large, leaves out all its parts except the given ones. */
void packed_table_choose(PackedTable *packed, const PackedParts *parts);

#endif
