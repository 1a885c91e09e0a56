/*
 * cfi.h
 *		The CFI compiler: converts .eh_frame, .debug_frame and Go's function table of one ELF file
 *		to a table of unwind rules.
 *
 * The compiler is a pure function of bytes: it uses no file, no process and no global state. The
 * bytes are untrusted, so every read is bounded. Malformed parts become PFS_UNWIND_INVALID for
 * their stretch of code and are counted; the rest remains usable. Format: DWARF 5 section 6.4 (call
 * frame information) and the LSB core specification's chapter on .eh_frame.
 */
#ifndef COLLECTOR_CFI_H
#define COLLECTOR_CFI_H

#include <stddef.h>
#include <stdint.h>

#include "unwind/cfi/cfi_input.h"
#include "unwind/cfi/rule_set.h"

/*
 * Version of compiled tables on disk (table_cache.h). Increment it whenever equal input gives other
 * rows, or the format of table files changes.
 */
#define CFI_COMPILER_VERSION 7

/* A rule, which is valid from its address up to that of the next row. */
typedef struct UnwindRow
{
	uint32_t offset; /* ELF virtual address, relative to the table's base */
	uint16_t rule;	 /* number in the rule set */
} UnwindRow;

typedef struct CfiStats
{
	uint64_t fdes;
	uint64_t fdes_malformed;   /* malformed CFI entries or functions of Go; skipped */
	uint64_t fdes_overlapped;  /* dropped because an earlier FDE covers their code */
	uint64_t rows_unsupported; /* rows without a rule, because rules cannot express their CFI */
	uint64_t sections_cut;	   /* sections that end inside an entry */
} CfiStats;

typedef struct UnwindTable
{
	uint64_t base; /* ELF virtual address */
	/*
	 * Ascending, with different rules in adjacent rows; the last row, with rule 0 (invalid), ends
	 * all code.
	 */
	UnwindRow *rows;
	size_t count;
	CfiStats stats;
} UnwindTable;

/*
 * Compiles a file's CFI. Rules are added to the set, which must outlive the table. Returns 0,
 * -ENOTSUP for another machine, -ENOMEM, -E2BIG if code spans more than 4 GiB or the CFI needs more
 * steps or rows than the CFI of any compiler. An input without CFI gives an empty table. If the
 * file's CFI was left out, the table has no valid rule.
 */
int cfi_compile(const CfiInput *input, RuleSet *rules, UnwindTable *table);

/*
 * Receives the next count rows of a table. If rows has more than count, the last of the count rows
 * ends where row number count begins; otherwise the last one ends the table. Returns 0 or -errno.
 */
typedef int (*CfiRowsSink)(void *context, const UnwindTable *rows, size_t count);

/*
 * Like cfi_compile(), but gives some hundred rows at a time to the sink, so that the whole table is
 * never in memory.
 */
int cfi_compile_to(const CfiInput *input, RuleSet *rules, CfiRowsSink sink, void *context,
				   CfiStats *stats);
void unwind_table_free(UnwindTable *table);

static inline uint64_t
unwind_row_address(const UnwindTable *table, size_t row)
{
	return table->base + table->rows[row].offset;
}

/* Returns the row that covers an address; NULL before the first row. */
const UnwindRow *unwind_table_find(const UnwindTable *table, uint64_t address);

#endif
