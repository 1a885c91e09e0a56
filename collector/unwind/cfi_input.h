/*
 * cfi_input.h
 *		What the CFI compiler is given of one ELF file: bytes of sections, borrowed, and addresses.
 */
#ifndef COLLECTOR_CFI_INPUT_H
#define COLLECTOR_CFI_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct CfiSection
{
	const uint8_t *data; /* NULL where the file has none */
	size_t length;
	uint64_t address; /* ELF virtual address (0 for .debug_frame, which is not loaded) */
} CfiSection;

/* .init, .fini, functions that start files put to the program's or library's own, the loader's. */
#define CFI_START_CODE 7

typedef struct CfiInput
{
	uint16_t machine; /* EM_X86_64 or EM_AARCH64 */
	CfiSection eh_frame;
	CfiSection debug_frame; /* used where .eh_frame does not cover */
	CfiSection pclntab;		/* Go's function table; used where .eh_frame does not cover */
	uint64_t go_text;		/* ELF virtual address that its functions count from; 0: not known */
	CfiSection start_code[CFI_START_CODE]; /* used where nothing else covers */
	CfiSection plt;		  /* of AArch64, whose linkers write no CFI for it; likewise */
	uint64_t got_address; /* base of DW_EH_PE_datarel pointers; 0 where there is none */
	uint64_t code_start;  /* ELF virtual addresses, half-open: FDEs that reach beyond are no CFI */
	uint64_t code_end;
	uint64_t *steps_left; /* entries and instructions that may be read; NULL: as the size allows */
	size_t memory_bytes;  /* that compiling may take; 0: as MAX_PLACES and MAX_ROWS allow */
	bool left_out;		  /* the file has CFI that is not in these sections */
} CfiInput;

/*
 * Inputs that make the same table have the same hash, and others have another one, unless whoever
 * made them knows the seed.
 */
uint64_t cfi_input_hash(uint64_t seed, const CfiInput *input);

#endif
