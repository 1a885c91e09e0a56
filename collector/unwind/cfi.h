/*
 * cfi.h
 *		The CFI compiler: .eh_frame and .debug_frame of one ELF file become a table of unwind rules.
 *
 * A pure function of bytes: no file, no process, no global state. The bytes are foreign, so every read is bounded; what
 * cannot be understood becomes PFS_UNWIND_INVALID for its stretch of code and is counted, never an error for the rest.
 * Format: DWARF 5 section 6.4 (call frame information) and the LSB core specification's chapter on .eh_frame.
 */
#ifndef COLLECTOR_CFI_H
#define COLLECTOR_CFI_H

#include <stddef.h>
#include <stdint.h>

#include "unwind_types.h"

typedef struct CfiSection
{
	const uint8_t *data; /* NULL where the file has none */
	size_t length;
	uint64_t address; /* ELF virtual address (0 for .debug_frame, which is not loaded) */
} CfiSection;

typedef struct CfiInput
{
	uint16_t machine; /* EM_X86_64 or EM_AARCH64 */
	CfiSection eh_frame;
	CfiSection debug_frame; /* used where .eh_frame does not cover */
	uint64_t got_address;	/* base of DW_EH_PE_datarel pointers; 0 where there is none */
	uint64_t code_start; /* ELF virtual addresses, half-open: FDEs that reach beyond are no CFI */
	uint64_t code_end;
} CfiInput;

/* A rule holds from its address up to the next row's. */
typedef struct UnwindRow
{
	uint64_t address; /* ELF virtual address */
	struct pfs_unwind_rule rule;
} UnwindRow;

typedef struct CfiStats
{
	uint64_t fdes;
	uint64_t fdes_malformed;  /* skipped: bytes that are not CFI */
	uint64_t fdes_overlapped; /* cut or dropped because an earlier one covers their code */
	uint64_t
		rows_unsupported; /* PFS_UNWIND_INVALID because of an expression or register that we do not express */
	uint64_t sections_cut; /* a section ended inside an entry */
} CfiStats;

typedef struct UnwindTable
{
	UnwindRow *
		rows; /* ascending by address, neighbours differ; the last is PFS_UNWIND_INVALID at the end of all code */
	size_t count;
	CfiStats stats;
} UnwindTable;

/* 0, -ENOTSUP for another machine, -ENOMEM, -E2BIG past CFI_MAX_ROWS. An input without CFI gives an empty table. */
#define CFI_MAX_ROWS (16 * 1000 * 1000)
int cfi_compile(const CfiInput *input, UnwindTable *table);
void unwind_table_free(UnwindTable *table);

/* The row that covers an address, NULL before the first. */
const UnwindRow *unwind_table_find(const UnwindTable *table, uint64_t address);

#endif
