/*
 * cfi.c
 *		From all FDEs of a file to one sorted table.
 *
 * 1. Collect the FDEs of .eh_frame and .debug_frame and sort them by start address; .eh_frame goes first where both
 *    speak of the same code.
 * 2. Run each FDE and append its rows. An FDE that starts in code which is covered already is dropped.
 * 3. Between two FDEs that do not touch, a row PFS_UNWIND_INVALID says that nothing is known, unless the gap is padding.
 *
 * Memory is bounded by the input: an FDE takes at least 12 bytes of it, a row at least one.
 */
#include "unwind/cfi.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "unwind/cfi_program.h"

/* Compilers align functions to 16 bytes: shorter gaps hold no code that runs, and no row is spent on them. */
#define PADDING_BYTES 15

/* Where an FDE stands; it is read again when its turn comes, which costs less than keeping it. */
typedef struct FdePlace
{
	uint64_t start;	 /* of its code, ELF virtual address */
	uint32_t offset; /* in its section */
	uint32_t debug;	 /* 1: in .debug_frame */
} FdePlace;

typedef struct FdeList
{
	FdePlace *items;
	size_t count;
	size_t capacity;
} FdeList;

typedef struct Builder
{
	const CfiInput *input;
	UnwindTable *table;
	RuleSet *rules;
	CfiEntries entries[2]; /* .eh_frame, .debug_frame */
	size_t capacity;
	uint64_t limit; /* an FDE's rows end here, whatever its program says */
} Builder;

static int
collect_fdes(Builder *builder, uint32_t debug, FdeList *list)
{
	CfiEntries *entries = &builder->entries[debug];
	CfiStats *stats = &builder->table->stats;

	cfi_entries_begin(entries, builder->input, debug == 0);
	while (entries->offset <= UINT32_MAX)
	{
		CfiFde fde;
		int err;

		switch (cfi_entries_next(entries, &fde))
		{
			case CFI_FDE:
				err = grow_array(&list->items, &list->capacity, list->count, sizeof(FdePlace));
				if (err != 0)
					return err;
				list->items[list->count++] = (FdePlace){ fde.start, (uint32_t) fde.offset, debug };
				stats->fdes++;
				break;
			case CFI_MALFORMED:
				stats->fdes_malformed++;
				break;
			case CFI_CUT:
				stats->sections_cut++;
				return 0;
			case CFI_END:
				return 0;
		}
	}
	return 0;
}

static int
compare_places(const void *left, const void *right)
{
	const FdePlace *a = left;
	const FdePlace *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return (a->debug > b->debug) - (a->debug < b->debug);
}

/* Linkers write .eh_frame in the order of the code, or nearly so. */
static void
sort_places(FdeList *list)
{
	for (size_t i = 1; i < list->count; i++)
	{
		if (compare_places(&list->items[i - 1], &list->items[i]) > 0)
		{
			qsort(list->items, list->count, sizeof(FdePlace), compare_places);
			return;
		}
	}
}

static int
append_rule(Builder *builder, uint64_t address, uint16_t rule)
{
	UnwindTable *table = builder->table;
	uint32_t offset = (uint32_t) (address - table->base);
	UnwindRow *last = table->count > 0 ? &table->rows[table->count - 1] : NULL;
	int err;

	if (last != NULL && last->offset == offset)
	{
		last->rule = rule;
		return 0;
	}
	if (last != NULL && last->rule == rule)
		return 0;
	err = grow_array(&table->rows, &builder->capacity, table->count, sizeof(UnwindRow));
	if (err == 0)
		table->rows[table->count++] = (UnwindRow){ .offset = offset, .rule = rule };
	return err;
}

static int
append_row(void *context, uint64_t address, const struct pfs_unwind_rule *rule)
{
	Builder *builder = context;

	if (address >= builder->limit)
		return 0;
	return append_rule(builder, address, rule_set_add(builder->rules, rule));
}

/* One FDE's rows; where its program is broken the rows that it gave are taken back and its code is unknown. */
static int
append_fde(Builder *builder, const CfiFde *fde)
{
	UnwindTable *table = builder->table;
	size_t before = table->count;
	UnwindRow last_before = before > 0 ? table->rows[before - 1] : (UnwindRow){ 0 };
	int err;

	builder->limit = fde->end;
	err = cfi_program_run(fde, builder->input->machine, append_row, builder,
						  &table->stats.rows_unsupported);
	if (err != -EBADMSG)
		return err;

	table->stats.fdes_malformed++;
	table->count = before;
	if (before > 0)
		table->rows[before - 1] = last_before;
	return append_rule(builder, fde->start, 0);
}

static int
build_rows(Builder *builder, const FdeList *list)
{
	uint64_t covered = 0; /* end of the code that has rows */

	for (size_t i = 0; i < list->count; i++)
	{
		CfiEntries *entries = &builder->entries[list->items[i].debug];
		CfiFde fde;
		int err = 0;

		if (list->items[i].start < covered)
		{
			builder->table->stats.fdes_overlapped++;
			continue;
		}
		entries->offset = list->items[i].offset;
		if (cfi_entries_next(entries, &fde) != CFI_FDE)
			return -EBADMSG;
		if (covered != 0 && fde.start - covered > PADDING_BYTES)
			err = append_rule(builder, covered, 0);
		if (err == 0)
			err = append_fde(builder, &fde);
		if (err != 0)
			return err;
		covered = fde.end;
	}
	return covered == 0 ? 0 : append_rule(builder, covered, 0);
}

int
cfi_compile(const CfiInput *input, RuleSet *rules, UnwindTable *table)
{
	FdeList list = { 0 };
	Builder builder = { .input = input, .table = table, .rules = rules };
	int err;

	memset(table, 0, sizeof(*table));
	if (input->machine != EM_X86_64 && input->machine != EM_AARCH64)
		return -ENOTSUP;
	if (input->code_end > input->code_start && input->code_end - input->code_start > UINT32_MAX)
		return -E2BIG;
	table->base = input->code_start;

	err = collect_fdes(&builder, 0, &list);
	if (err == 0)
		err = collect_fdes(&builder, 1, &list);
	if (err == 0)
	{
		sort_places(&list);
		err = build_rows(&builder, &list);
	}
	free(list.items);
	if (err != 0)
		unwind_table_free(table);
	return err;
}

void
unwind_table_free(UnwindTable *table)
{
	free(table->rows);
	memset(table, 0, sizeof(*table));
}

const UnwindRow *
unwind_table_find(const UnwindTable *table, uint64_t address)
{
	size_t low = 0;
	size_t high = address >= table->base ? table->count : 0;

	while (low < high)
	{
		size_t middle = low + (high - low) / 2;

		if (unwind_row_address(table, middle) <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low == 0 ? NULL : &table->rows[low - 1];
}
