/*
 * cfi_input.h
 *		Input of the CFI compiler from one ELF file: section contents, which are borrowed, and
 *		addresses.
 */
#ifndef COLLECTOR_CFI_INPUT_H
#define COLLECTOR_CFI_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct CfiSection
{
	const uint8_t *data; /* NULL if the file has no such section */
	size_t length;
	uint64_t address; /* ELF virtual address (0 for .debug_frame, which is not loaded) */
} CfiSection;

/*
 * Number of pieces of start code: .init, .fini, functions that start files add to the program's or
 * library's own, and the loader's.
 */
#define CFI_START_CODE 7

typedef struct CfiInput
{
	uint16_t machine; /* EM_X86_64 or EM_AARCH64 */
	CfiSection eh_frame;
	CfiSection debug_frame; /* used for code that .eh_frame does not cover */
	CfiSection pclntab;		/* Go's function table; used for code that .eh_frame does not cover */
	/* ELF virtual address to which the addresses in Go's table are relative; 0: not known */
	uint64_t go_text;
	CfiSection start_code[CFI_START_CODE]; /* used for code that nothing else covers */
	/*
	 * procedure linkage table of AArch64, for which linkers write no CFI; used for code that
	 * nothing else covers
	 */
	CfiSection plt;
	uint64_t got_address; /* base of DW_EH_PE_datarel pointers; 0 if the file has no GOT */
	/* ELF virtual addresses, half-open. An FDE that reaches beyond them is malformed. */
	uint64_t code_start;
	uint64_t code_end;
	uint64_t *steps_left; /* limit of entries and instructions; NULL: from the sizes of sections */
	size_t memory_bytes;  /* limit of memory for compiling; 0: from MAX_PLACES and MAX_ROWS */
	/* the file has further CFI that was not read, because it exceeds a limit */
	bool left_out;
} CfiInput;

/*
 * Returns a hash of everything that determines the table. Different inputs have different hashes,
 * unless their author knows the seed.
 */
uint64_t cfi_input_hash(uint64_t seed, const CfiInput *input);

#endif
