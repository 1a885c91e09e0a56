/*
 * packed_table.c
 *		Converts a list of rows to pages of lines.
 */
#include "unwind/packed_table.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

#define PAGE_BYTES	   (UINT64_C(1) << PFS_UNWIND_PAGE_BITS)
#define MAX_RULE_PAGES 16384 /* no compiler's code has one rule for more than 64 MiB */

typedef struct Packer
{
	PackedTable *packed;
	size_t line_capacity;
	size_t page_capacity;
	uint64_t page; /* number of the page being filled */
	bool page_is_open;
	uint32_t row_count; /* in the page's last line */
} Packer;

/*
 * Repeats the last row in the unused rows of the page's last line, so that a binary search needs no
 * count of rows.
 */
static void
close_page(Packer *packer)
{
	PackedTable *packed = packer->packed;

	if (packer->page_is_open)
	{
		struct pfs_unwind_line *line = &packed->lines[packed->line_count - 1];

		for (uint32_t i = packer->row_count; i < PFS_UNWIND_LINE_ROWS; i++)
			line->rows[i] = line->rows[packer->row_count - 1];
	}
	packer->page_is_open = false;
}

static int
open_page(Packer *packer, uint64_t page)
{
	PackedTable *packed = packer->packed;
	int err =
		grow_array(&packed->pages, &packer->page_capacity, packed->page_count, sizeof(PackedPage));

	if (err != 0)
		return err;
	packed->pages[packed->page_count++] =
		(PackedPage){ .page = page, .first_line = (uint32_t) packed->line_count };
	packer->page = page;
	packer->page_is_open = true;
	packer->row_count = PFS_UNWIND_LINE_ROWS; /* makes the first row of the page begin a new line */
	return 0;
}

/* Makes room for a row in the last line of a page, which becomes the current page. */
static int
open_line(Packer *packer, uint64_t page)
{
	PackedTable *packed = packer->packed;
	int err = 0;

	if (packer->page_is_open && packer->page != page)
		close_page(packer);
	if (!packer->page_is_open)
		err = open_page(packer, page);
	if (err == 0 && packer->row_count == PFS_UNWIND_LINE_ROWS)
	{
		err = grow_array(&packed->lines, &packer->line_capacity, packed->line_count,
						 sizeof(struct pfs_unwind_line));
		if (err == 0)
		{
			packed->line_count++;
			/* lines are appended for the last page only, so the lines of a page are contiguous */
			packed->pages[packed->page_count - 1].line_count++;
			packer->row_count = 0;
		}
	}
	return err;
}

static inline int
packer_append_row(Packer *packer, uint64_t address, uint16_t rule)
{
	PackedTable *packed = packer->packed;
	uint64_t page = address >> PFS_UNWIND_PAGE_BITS;
	int err = 0;

	if (!packer->page_is_open || packer->page != page || packer->row_count == PFS_UNWIND_LINE_ROWS)
		err = open_line(packer, page);
	if (err == 0)
		packed->lines[packed->line_count - 1].rows[packer->row_count++] = (struct pfs_unwind_row){
			.offset = (uint16_t) (address & (PAGE_BYTES - 1)),
			.rule = rule,
		};
	return err;
}

/*
 * A page must begin with the rule that is valid at its start: adds such rows to all pages inside a
 * rule's range, up to the address of the next rule.
 */
static int
append_continuations(Packer *packer, uint64_t start, uint64_t end, uint16_t rule)
{
	uint64_t address = (start | (PAGE_BYTES - 1)) + 1;
	int err = 0;

	/* rule 0 means that there is no code or no rule; pages without rules are absent */
	if (rule == 0)
		return 0;
	/*
	 * A forged row may cover terabytes. Its first page keeps the rule; the continuation is left
	 * out.
	 */
	if (end > address && (end - address) / PAGE_BYTES > MAX_RULE_PAGES)
	{
		packer->packed->rows_outside++;
		return 0;
	}
	for (; err == 0 && address < end; address += PAGE_BYTES)
		err = packer_append_row(packer, address, rule);
	return err;
}

/* Packs rows. A CfiRowsSink. */
static int
pack_rows(void *context, const UnwindTable *table, size_t count)
{
	const uint64_t limit = (PFS_UNWIND_MOST_PAGE + 1) << PFS_UNWIND_PAGE_BITS;
	Packer *packer = context;
	int err = 0;

	for (size_t i = 0; err == 0 && i < count; i++)
	{
		uint64_t start = unwind_row_address(table, i);
		/*
		 * The last row of a table has rule 0 and ends all code, so it needs no end. In a batch of
		 * cfi_compile_to() the row after the last one is present, but belongs to the next batch.
		 */
		uint64_t end = i + 1 < table->count ? unwind_row_address(table, i + 1) : start;
		uint16_t rule = table->rows[i].rule;

		if (start >= limit || end >= limit)
		{
			packer->packed->rows_outside++;
			continue;
		}
		err = packer_append_row(packer, start, rule);
		/* true if start and end are in different pages */
		if (err == 0 && (start ^ end) >> PFS_UNWIND_PAGE_BITS != 0)
			err = append_continuations(packer, start, end, rule);
	}
	return err;
}

static int
end_packing(Packer *packer, int err)
{
	close_page(packer);
	if (err != 0)
		packed_table_free(packer->packed);
	return err;
}

int
packed_table_build(const UnwindTable *table, PackedTable *packed)
{
	Packer packer = { .packed = packed };

	memset(packed, 0, sizeof(*packed));
	return end_packing(&packer, pack_rows(&packer, table, table->count));
}

int
packed_table_compile(const CfiInput *input, RuleSet *rules, PackedTable *packed, CfiStats *stats)
{
	Packer packer = { .packed = packed };

	memset(packed, 0, sizeof(*packed));
	return end_packing(&packer, cfi_compile_to(input, rules, pack_rows, &packer, stats));
}

void
packed_table_free(PackedTable *packed)
{
	free(packed->lines);
	free(packed->pages);
	memset(packed, 0, sizeof(*packed));
}

void
packed_parts_add(PackedParts *parts, uint64_t address)
{
	uint64_t page = address >> PFS_UNWIND_PAGE_BITS;

	if (parts->count < PACKED_PARTS_MANY && !packed_parts_hold(parts, page))
		parts->numbers[parts->count++] = packed_page_part(page);
}

bool
packed_parts_hold(const PackedParts *parts, uint64_t page)
{
	uint64_t part = packed_page_part(page);

	for (uint32_t i = 0; i < parts->count; i++)
	{
		if (parts->numbers[i] == part)
			return true;
	}
	return false;
}

bool
packed_table_is_whole(const PackedTable *packed)
{
	for (size_t i = 0; i < packed->page_count; i++)
	{
		if ((packed->pages[i].line_count & PFS_UNWIND_NOT_LOADED) != 0)
			return false;
	}
	return true;
}

void
packed_table_filter(PackedTable *packed, PackedPageFilter stays, const void *context)
{
	size_t count = 0;

	for (size_t i = 0; i < packed->page_count; i++)
	{
		PackedPage *page = &packed->pages[i];
		size_t first = page->first_line;

		if ((page->line_count & PFS_UNWIND_NOT_LOADED) != 0 || !stays(context, page->page))
		{
			*page = packed_page_without_lines(page);
			continue;
		}
		/*
		 * Pages and their lines ascend, so lines move towards the start only and never overwrite
		 * lines that are still to be moved.
		 */
		page->first_line = (uint32_t) count;
		memmove(&packed->lines[count], &packed->lines[first],
				page->line_count * sizeof(*packed->lines));
		count += page->line_count;
	}
	packed->line_count = count;
}

static bool
is_chosen(const void *context, uint64_t page)
{
	return packed_parts_hold(context, page);
}

void
packed_table_choose(PackedTable *packed, const PackedParts *parts)
{
	if (packed->line_count >= PACKED_WHOLE_LINES)
		packed_table_filter(packed, is_chosen, parts);
}
