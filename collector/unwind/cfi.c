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

typedef struct FdeList
{
	CfiFde *items;
	size_t count;
	size_t capacity;
} FdeList;

typedef struct Builder
{
	UnwindTable *table;
	size_t capacity;
	uint64_t limit; /* an FDE's rows end here, whatever its program says */
} Builder;

static int
collect_fdes(const CfiInput *input, bool eh_frame, FdeList *list, CfiStats *stats)
{
	CfiEntries entries;

	cfi_entries_begin(&entries, input, eh_frame);
	for (;;)
	{
		int err = grow_array(&list->items, &list->capacity, list->count, sizeof(CfiFde));

		if (err != 0)
			return err;
		switch (cfi_entries_next(&entries, &list->items[list->count]))
		{
			case CFI_FDE:
				list->count++;
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
}

static int
compare_fdes(const void *left, const void *right)
{
	const CfiFde *a = left;
	const CfiFde *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return (int) b->from_eh_frame - (int) a->from_eh_frame;
}

static int
append_row(void *context, uint64_t address, const struct pfs_unwind_rule *rule)
{
	Builder *builder = context;
	UnwindTable *table = builder->table;
	UnwindRow *last = table->count > 0 ? &table->rows[table->count - 1] : NULL;
	int err;

	if (address >= builder->limit)
		return 0;
	if (last != NULL && last->address == address)
	{
		last->rule = *rule;
		return 0;
	}
	if (last != NULL && memcmp(&last->rule, rule, sizeof(*rule)) == 0)
		return 0;
	if (table->count == CFI_MAX_ROWS)
		return -E2BIG;
	err = grow_array(&table->rows, &builder->capacity, table->count, sizeof(UnwindRow));
	if (err == 0)
		table->rows[table->count++] = (UnwindRow){ .address = address, .rule = *rule };
	return err;
}

static int
append_gap(Builder *builder, uint64_t address)
{
	static const struct pfs_unwind_rule invalid = { .kind = PFS_UNWIND_INVALID };

	builder->limit = UINT64_MAX;
	return append_row(builder, address, &invalid);
}

/* One FDE's rows; where its program is broken the rows that it gave are taken back and its code is unknown. */
static int
append_fde(Builder *builder, const CfiFde *fde, uint16_t machine)
{
	UnwindTable *table = builder->table;
	size_t before = table->count;
	UnwindRow last_before = before > 0 ? table->rows[before - 1] : (UnwindRow){ 0 };
	int err;

	builder->limit = fde->end;
	err = cfi_program_run(fde, machine, append_row, builder, &table->stats.rows_unsupported);
	if (err != -EBADMSG)
		return err;

	table->stats.fdes_malformed++;
	table->count = before;
	if (before > 0)
		table->rows[before - 1] = last_before;
	return append_gap(builder, fde->start);
}

static int
build_rows(const FdeList *list, uint16_t machine, Builder *builder)
{
	uint64_t covered = 0; /* end of the code that has rows */

	for (size_t i = 0; i < list->count; i++)
	{
		const CfiFde *fde = &list->items[i];
		int err = 0;

		if (fde->start < covered)
		{
			builder->table->stats.fdes_overlapped++;
			continue;
		}
		if (covered != 0 && fde->start - covered > PADDING_BYTES)
			err = append_gap(builder, covered);
		if (err == 0)
			err = append_fde(builder, fde, machine);
		if (err != 0)
			return err;
		covered = fde->end;
	}
	return covered == 0 ? 0 : append_gap(builder, covered);
}

int
cfi_compile(const CfiInput *input, UnwindTable *table)
{
	FdeList list = { 0 };
	Builder builder = { .table = table };
	int err;

	memset(table, 0, sizeof(*table));
	if (input->machine != EM_X86_64 && input->machine != EM_AARCH64)
		return -ENOTSUP;

	err = collect_fdes(input, true, &list, &table->stats);
	if (err == 0)
		err = collect_fdes(input, false, &list, &table->stats);
	if (err == 0)
	{
		qsort(list.items, list.count, sizeof(CfiFde), compare_fdes);
		err = build_rows(&list, input->machine, &builder);
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
	size_t high = table->count;

	while (low < high)
	{
		size_t middle = low + (high - low) / 2;

		if (table->rows[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low == 0 ? NULL : &table->rows[low - 1];
}
