/*
 * cfi.c
 *		Compiles all FDEs of a file to one sorted table.
 *
 * 1. Collect the FDEs of .eh_frame and .debug_frame, the functions of Go's table, and start files'
 *    code, which has none of these, and sort them by start address. If several describe the same
 *    code, .eh_frame has precedence, then Go's table.
 * 2. Run the CFI program of each and append its rows. An FDE that starts in code which already has
 *    rows is dropped.
 * 3. Between two FDEs with a gap that is not padding, add a row PFS_UNWIND_INVALID, because nothing
 *    is known there.
 *
 * Time is bounded by the input: each entry that is read and each instruction that is run is a step,
 * and there are STEPS_PER_BYTE for each byte. Otherwise two long CIEs, referenced alternately,
 * would be run once for each FDE. Go's functions may share their depths, so the total number of
 * their rows, kept or not, is bounded by the bytes of the whole table.
 *
 * Memory is bounded by MAX_PLACES and MAX_ROWS, which exceed the kernel's tables, and by the
 * input's memory_bytes.
 */
#include "unwind/cfi/cfi.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "unwind/cfi/cfi_program.h"
#include "unwind/cfi/pclntab.h"
#include "unwind/cfi/plt_code.h"
#include "unwind/cfi/start_code.h"

/* Compilers align functions to 16 bytes, so shorter gaps contain no code and get no row. */
#define PADDING_BYTES 15

/* Limit of the linkage table: 262,144 functions. It is not counted in steps. */
#define PLT_BYTES_MAX (4U << 20)

#define STEPS_PER_BYTE 4
#define STEPS_MIN	   4096
#define MAX_PLACES	   (3U << 20)
#define MAX_ROWS	   (4U << 20)

#define ROWS_AT_ONCE 512

/* Bytes of a row here, in the packed table, and in its cache file. */
#define ROW_BYTES (sizeof(UnwindRow) + 2 * sizeof(struct pfs_unwind_row))

/* Sources of unwind information, in order of precedence. */
typedef enum Source
{
	SOURCE_EH_FRAME,
	SOURCE_PCLNTAB,
	SOURCE_DEBUG_FRAME,
	SOURCE_START_CODE,
	SOURCE_PLT,
	SOURCES
} Source;

/*
 * The position of an FDE, which is read again when its program is run; this costs less than keeping
 * its fields in memory.
 */
typedef struct FdePlace
{
	uint64_t start; /* start of the code, an ELF virtual address */
	/*
	 * offset in the source's section; for Go's table the number of the function, for start files'
	 * code the number of the piece
	 */
	uint32_t offset;
	Source source;
} FdePlace;

typedef struct FdeList
{
	FdePlace *items;
	size_t count;
	size_t capacity;
	size_t most;
} FdeList;

typedef struct Builder
{
	const CfiInput *input;
	UnwindTable *table;
	RuleSet *rules;
	CfiEntries entries[SOURCES]; /* readers of .eh_frame and .debug_frame */
	CfiMachine *machine;
	uint64_t *steps_left;
	Pclntab pclntab;
	uint64_t function_rows; /* number of rows from Go's table, including dropped ones */
	size_t capacity;
	CfiRowsSink sink; /* NULL: the table keeps all rows */
	void *sink_context;
	size_t rows_sunk; /* number of rows that were given to the sink and removed from the table */
	size_t most_rows;
	uint64_t limit; /* rows of the current FDE end at this address, regardless of its program */
} Builder;

static int
append_place(FdeList *list, uint64_t start, size_t offset, Source source)
{
	int err = list->count >= list->most ? -E2BIG : 0;

	if (err == 0)
		err = grow_array(&list->items, &list->capacity, list->count, sizeof(FdePlace));
	if (err == 0)
		list->items[list->count++] = (FdePlace){ start, (uint32_t) offset, source };
	return err;
}

/* Counts one entry as a step. Returns 0, or -E2BIG if no steps are left. */
static int
take_step(Builder *builder)
{
	if (*builder->steps_left == 0)
		return -E2BIG;
	--*builder->steps_left;
	return 0;
}

static int
collect_functions(Builder *builder, FdeList *list)
{
	int err = 0;

	if (!pclntab_open(builder->input, &builder->pclntab))
		return 0;
	for (uint32_t i = 0; err == 0 && i < builder->pclntab.count; i++)
	{
		PclntabFunction function;

		err = take_step(builder);
		if (err == 0 && pclntab_function(&builder->pclntab, i, &function))
			err = append_place(list, function.start, i, SOURCE_PCLNTAB);
	}
	return err;
}

/* Returns true if a section without CFI is inside the file's code. */
static bool
holds_code(const CfiInput *input, const CfiSection *section)
{
	return section->length > 0 && section->address >= input->code_start &&
		   section->address < input->code_end &&
		   section->length <= input->code_end - section->address;
}

static int
collect_plt(const Builder *builder, FdeList *list)
{
	const CfiInput *input = builder->input;

	/* a file without any CFI is walked by frame pointer throughout; a table would prevent that */
	if (list->count == 0 || input->machine != EM_AARCH64 || !holds_code(input, &input->plt) ||
		input->plt.length > PLT_BYTES_MAX)
		return 0;
	return append_place(list, input->plt.address, 0, SOURCE_PLT);
}

static int
collect_start_code(const Builder *builder, FdeList *list)
{
	const CfiInput *input = builder->input;
	int err = 0;

	for (size_t i = 0; err == 0 && i < CFI_START_CODE; i++)
	{
		const CfiSection *section = &input->start_code[i];
		uint64_t callee;

		if (input->machine == EM_X86_64 && section->length <= START_CODE_BYTES &&
			holds_code(input, section) && start_code_length(section, &callee) == section->length)
			err = append_place(list, section->address, i, SOURCE_START_CODE);
	}
	return err;
}

/* Lists the FDEs of a section. Malformed entries are counted and skipped. */
static int
collect_fdes(Builder *builder, Source source, FdeList *list)
{
	CfiEntries *entries = &builder->entries[source];
	CfiStats *stats = &builder->table->stats;

	cfi_entries_begin(entries, builder->input, source == SOURCE_EH_FRAME);
	while (entries->offset <= UINT32_MAX)
	{
		CfiFde fde;
		int err = take_step(builder);

		if (err != 0)
			return err;
		switch (cfi_entries_next(entries, &fde))
		{
			case CFI_FDE:
				err = append_place(list, fde.start, fde.offset, source);
				if (err != 0)
					return err;
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

static inline bool
is_before(const FdePlace *a, const FdePlace *b)
{
	return a->start < b->start || (a->start == b->start && a->source < b->source);
}

/* Returns the length of the run of ascending places that begins at the first. */
static size_t
ascending_run(const FdePlace *places, size_t count)
{
	size_t length = count > 0 ? 1 : 0;

	/* equal places belong to one run, in their order */
	while (length < count && !is_before(&places[length], &places[length - 1]))
		length++;
	return length;
}

/* Merges two adjacent runs. Equal places keep their order. */
static void
merge_runs(const FdePlace *first, size_t first_count, size_t second_count, FdePlace *merged)
{
	const FdePlace *second = first + first_count;
	const FdePlace *first_end = second;
	const FdePlace *second_end = second + second_count;

	while (first < first_end && second < second_end)
		*merged++ = is_before(second, first) ? *second++ : *first++;
	while (first < first_end)
		*merged++ = *first++;
	while (second < second_end)
		*merged++ = *second++;
}

/*
 * Sorts by merging ascending runs. Linkers write .eh_frame in the order of the code, except for
 * separated cold functions, so there are few runs. Returns 0 or -ENOMEM.
 */
static int
sort_places(FdeList *list)
{
	FdePlace *merged;

	if (ascending_run(list->items, list->count) == list->count)
		return 0;
	merged = reallocarray(NULL, list->count, sizeof(*merged));
	if (merged == NULL)
		return -ENOMEM;
	/* each turn merges pairs of runs, until one run is left */
	for (size_t runs = 2; runs > 1;)
	{
		FdePlace *items = list->items;

		runs = 0;
		for (size_t at = 0; at < list->count; runs++)
		{
			size_t first = ascending_run(items + at, list->count - at);
			size_t second = ascending_run(items + at + first, list->count - at - first);

			merge_runs(items + at, first, second, merged + at);
			at += first + second;
		}
		list->items = merged;
		merged = items;
	}
	free(merged);
	return 0;
}

/*
 * Appends a row unless its rule continues the last one; a row at the same address replaces the last
 * one.
 */
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
	if (builder->rows_sunk + table->count >= builder->most_rows)
		return -E2BIG;
	err = grow_array(&table->rows, &builder->capacity, table->count, sizeof(UnwindRow));
	if (err == 0)
		table->rows[table->count++] = (UnwindRow){ .offset = offset, .rule = rule };
	return err;
}

static int
append_numbered_row(void *context, uint64_t address, uint16_t rule)
{
	Builder *builder = context;

	/* an FDE's program may go beyond its code; such rows are dropped */
	return address < builder->limit ? append_rule(builder, address, rule) : 0;
}

static int
cfi_row_append(void *context, uint64_t address, const struct pfs_unwind_rule *rule)
{
	Builder *builder = context;

	if (address >= builder->limit)
		return 0;
	return append_rule(builder, address, rule_set_add(builder->rules, rule));
}

static int
append_function_row(void *context, uint64_t address, const struct pfs_unwind_rule *rule)
{
	Builder *builder = context;
	const UnwindTable *table = builder->table;

	if (take_step(builder) != 0)
		return -E2BIG;
	builder->function_rows++;
	/* the prologue is longer than its stretch of code, so rows would not ascend */
	if (table->count > 0 && address < unwind_row_address(table, table->count - 1))
		return -EBADMSG;
	return cfi_row_append(context, address, rule);
}

/*
 * The rows of one piece of code. If the code's CFI is malformed, its rows are removed, and no rule
 * is known for it.
 */
typedef struct Attempt
{
	size_t count;
	UnwindRow last;
} Attempt;

static Attempt
begin_attempt(const UnwindTable *table)
{
	/* append_rule() may replace the last row, so a copy of it is kept */
	size_t count = table->count;

	return (Attempt){ count, count > 0 ? table->rows[count - 1] : (UnwindRow){ 0 } };
}

static int
end_attempt(Builder *builder, const Attempt *attempt, uint64_t start, int err)
{
	UnwindTable *table = builder->table;

	/* only malformed CFI is undone; lack of memory or steps ends the whole file */
	if (err != -EBADMSG)
		return err;
	table->stats.fdes_malformed++;
	table->count = attempt->count;
	if (attempt->count > 0)
		table->rows[attempt->count - 1] = attempt->last;
	return append_rule(builder, start, 0);
}

static int
run_fde(Builder *builder, const CfiFde *fde)
{
	Attempt attempt = begin_attempt(builder->table);
	int err;

	builder->limit = fde->end;
	err = cfi_program_run(builder->machine, fde, append_numbered_row, builder,
						  &builder->table->stats.rows_unsupported);
	return end_attempt(builder, &attempt, fde->start, err);
}

static int
run_function(Builder *builder, const PclntabFunction *function)
{
	Attempt attempt = begin_attempt(builder->table);
	int err;

	builder->limit = function->end;
	err = pclntab_rows(&builder->pclntab, function, append_function_row, builder,
					   &builder->table->stats.rows_unsupported);
	return end_attempt(builder, &attempt, function->start, err);
}

/* Appends the rows of one piece of code; *end becomes the end of the code. */
static int
append_place_rows(Builder *builder, const FdePlace *place, uint64_t covered, uint64_t *end)
{
	PclntabFunction function;
	CfiFde fde;
	int err = 0;

	/* a gap that is longer than padding may have code without CFI */
	if (covered != 0 && place->start - covered > PADDING_BYTES)
		err = append_rule(builder, covered, 0);
	if (err == 0)
		err = take_step(builder);
	if (err != 0)
		return err;
	if (place->source == SOURCE_PCLNTAB)
	{
		if (!pclntab_function(&builder->pclntab, place->offset, &function))
			return -EBADMSG;
		*end = function.end;
		/*
		 * the table of a valid program has about 60 bytes for each row, so this many rows mean a
		 * forged table
		 */
		if (builder->function_rows > builder->pclntab.length)
			return append_rule(builder, function.start, 0);
		return run_function(builder, &function);
	}
	if (place->source == SOURCE_START_CODE)
	{
		const CfiSection *section = &builder->input->start_code[place->offset];

		*end = section->address + section->length;
		builder->limit = *end;
		return start_code_rows(section, cfi_row_append, builder);
	}
	if (place->source == SOURCE_PLT)
	{
		*end = builder->input->plt.address + builder->input->plt.length;
		builder->limit = *end;
		return plt_code_rows(&builder->input->plt, cfi_row_append, builder);
	}
	/* the entry is read again from its offset */
	builder->entries[place->source].offset = place->offset;
	if (cfi_entries_next(&builder->entries[place->source], &fde) != CFI_FDE)
		return -EBADMSG;
	*end = fde.end;
	return run_fde(builder, &fde);
}

/* Gives the first count rows to the sink. */
static int
sink_rows(Builder *builder, size_t count)
{
	UnwindTable *table = builder->table;
	int err = builder->sink(builder->sink_context, table, count);

	table->count -= count;
	memmove(table->rows, table->rows + count, table->count * sizeof(UnwindRow));
	builder->rows_sunk += count;
	return err;
}

/* Runs the sorted places in order, and ends the table with a row without rule. */
static int
build_rows(Builder *builder, const FdeList *list)
{
	uint64_t covered = 0; /* end of the code that has rows so far */

	for (size_t i = 0; i < list->count; i++)
	{
		int err;

		/* places are sorted, so this one begins inside of code that has rows */
		if (list->items[i].start < covered)
		{
			builder->table->stats.fdes_overlapped++;
			continue;
		}
		err = append_place_rows(builder, &list->items[i], covered, &covered);
		/* keep the last row, which the next one may replace */
		if (err == 0 && builder->sink != NULL && builder->table->count > ROWS_AT_ONCE)
			err = sink_rows(builder, builder->table->count - 1);
		if (err != 0)
			return err;
	}
	if (covered != 0)
		return append_rule(builder, covered, 0);
	/*
	 * One row without a rule: the file has CFI that was left out, and must not count as one without
	 * CFI.
	 */
	return builder->input->left_out ? append_rule(builder, builder->table->base, 0) : 0;
}

/* Returns how many items fit into the given part of the memory for compiling, at most limit. */
static size_t
most_items(const CfiInput *input, size_t parts_of_8, size_t item_bytes, size_t limit)
{
	size_t most = input->memory_bytes / 8 * parts_of_8 / item_bytes;

	return input->memory_bytes == 0 || most > limit ? limit : most;
}

/* Runs the steps in the comment at the start of this file. */
static int
compile(const CfiInput *input, RuleSet *rules, CfiRowsSink sink, void *context, UnwindTable *table)
{
	/* sorting needs a second list of equal size */
	FdeList list = { .most = most_items(input, 6, 2 * sizeof(FdePlace), MAX_PLACES) };
	uint64_t steps =
		STEPS_MIN + STEPS_PER_BYTE * (input->eh_frame.length + input->debug_frame.length +
									  input->pclntab.length);
	Builder builder = {
		.input = input,
		.table = table,
		.rules = rules,
		.sink = sink,
		.sink_context = context,
		.most_rows = most_items(input, 4, ROW_BYTES, MAX_ROWS),
		.steps_left = input->steps_left != NULL ? input->steps_left : &steps,
	};
	int err;

	memset(table, 0, sizeof(*table));
	if (input->machine != EM_X86_64 && input->machine != EM_AARCH64)
		return -ENOTSUP;
	/* Offsets of rows have 32 bits and count from the first executable address. */
	if (input->code_end > input->code_start && input->code_end - input->code_start > UINT32_MAX)
		return -E2BIG;
	table->base = input->code_start;
	builder.machine = cfi_machine_create(input->machine, rules, builder.steps_left);
	if (builder.machine == NULL)
		return -ENOMEM;

	err = collect_fdes(&builder, SOURCE_EH_FRAME, &list);
	if (err == 0)
		err = collect_functions(&builder, &list);
	if (err == 0)
		err = collect_fdes(&builder, SOURCE_DEBUG_FRAME, &list);
	if (err == 0)
		err = collect_start_code(&builder, &list);
	if (err == 0)
		err = collect_plt(&builder, &list);
	if (err == 0)
		err = sort_places(&list);
	if (err == 0)
		err = build_rows(&builder, &list);
	if (err == 0 && sink != NULL && table->count > 0)
		err = sink_rows(&builder, table->count);
	free(list.items);
	cfi_machine_free(builder.machine);
	if (err != 0)
		unwind_table_free(table);
	return err;
}

int
cfi_compile(const CfiInput *input, RuleSet *rules, UnwindTable *table)
{
	return compile(input, rules, NULL, NULL, table);
}

int
cfi_compile_to(const CfiInput *input, RuleSet *rules, CfiRowsSink sink, void *context,
			   CfiStats *stats)
{
	UnwindTable table;
	int err = compile(input, rules, sink, context, &table);

	if (err != 0)
		return err;
	*stats = table.stats;
	unwind_table_free(&table);
	return 0;
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
	/* low is the first row after the address */
	return low == 0 ? NULL : &table->rows[low - 1];
}
