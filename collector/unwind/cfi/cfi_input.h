/*
 * cfi_input.h
 *		Input of the CFI compiler from one ELF file: bytes of sections, borrowed, and addresses.
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
	uint64_t go_text;		/* ELF virtual address that its functions are relative to; 0: unknown */
	CfiSection start_code[CFI_START_CODE]; /* used for code that nothing else covers */
	CfiSection plt;		  /* of AArch64, for which linkers write no CFI; used like start_code */
	uint64_t got_address; /* base of DW_EH_PE_datarel pointers; 0 if there is none */
	/* ELF virtual addresses, half-open: FDEs that reach beyond are malformed */
	uint64_t code_start;
	uint64_t code_end;
	uint64_t *steps_left; /* limit of entries and instructions; NULL: from the sizes of sections */
	size_t memory_bytes;  /* limit of memory for compiling; 0: from MAX_PLACES and MAX_ROWS */
	bool left_out;		  /* the file has further CFI, which was left out */
} CfiInput;

/*
 * Returns a hash that is equal for inputs of the same table. Different inputs have different
 * hashes, unless their author knows the seed.
 */
uint64_t cfi_input_hash(uint64_t seed, const CfiInput *input);

#endif
