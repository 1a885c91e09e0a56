/*
 * cfi.h
 *		The CFI compiler: .eh_frame, .debug_frame and Go's function table of one ELF file become a
 *		table of unwind rules.
 *
 * A function of bytes alone: no file, no process, no global state. The bytes are foreign, so every
 * read is bounded; what cannot be understood becomes PFS_UNWIND_INVALID for its stretch of code and
 * is counted, never an error for the rest. Format: DWARF 5 section 6.4 (call frame information) and
 * the LSB core specification's chapter on .eh_frame.
 */
#ifndef COLLECTOR_CFI_H
#define COLLECTOR_CFI_H

#include <stddef.h>
#include <stdint.h>

#include "unwind/cfi_input.h"
#include "unwind/rule_set.h"

/*
 * Tables outlive the program that compiled them (table_cache.h): one more whenever the same bytes
 * give other rows, or table_file.h another file.
 */
#define CFI_COMPILER_VERSION 7

/* A rule holds from its place up to the next row's. */
typedef struct UnwindRow
{
	uint32_t offset; /* ELF virtual address - the table's base */
	uint16_t rule;	 /* number in the rule set */
} UnwindRow;

typedef struct CfiStats
{
	uint64_t fdes;
	uint64_t fdes_malformed;   /* skipped: bytes that are not CFI; functions of Go's as well */
	uint64_t fdes_overlapped;  /* dropped because an earlier one covers their code */
	uint64_t rows_unsupported; /* without a rule, as none expresses what the CFI says */
	uint64_t sections_cut;	   /* a section ended inside an entry */
} CfiStats;

typedef struct UnwindTable
{
	uint64_t base; /* ELF virtual address */
	/* ascending, neighbours differ; the last one ends all code with rule 0 (invalid) */
	UnwindRow *rows;
	size_t count;
	CfiStats stats;
} UnwindTable;

/*
 * Rules go into the set, which outlives the table. 0, -ENOTSUP for another machine, -ENOMEM, -E2BIG
 * where code spans more than 4 GiB, or the CFI takes more steps or rows than any compiler's. An
 * input without CFI gives an empty table; if the file has CFI that was left out, a table that knows
 * no rule.
 */
int cfi_compile(const CfiInput *input, RuleSet *rules, UnwindTable *table);

/*
 * Receives the next count rows of a table. If rows has more than count, row number count begins
 * where the last of them ends; otherwise the last one ends the table. 0 or -errno.
 */
typedef int (*CfiRowsSink)(void *context, const UnwindTable *rows, size_t count);

/* Like cfi_compile(), but hands over the rows by some hundreds, so that never all are in memory. */
int cfi_compile_to(const CfiInput *input, RuleSet *rules, CfiRowsSink sink, void *context,
				   CfiStats *stats);
void unwind_table_free(UnwindTable *table);

static inline uint64_t
unwind_row_address(const UnwindTable *table, size_t row)
{
	return table->base + table->rows[row].offset;
}

/* The row that covers an address, NULL before the first. */
const UnwindRow *unwind_table_find(const UnwindTable *table, uint64_t address);

#endif
