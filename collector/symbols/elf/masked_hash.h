/*
 * masked_hash.h
 *		Computes a hash of a function's code that does not depend on the addresses of code and data.
 *
 * Another build of a file moves functions, so that distances between them differ. The hash reads
 * these distances as zero: the operand of a call or jump out of the function, and the operand of an
 * instruction that addresses data relative to itself. Code of x86-64 is not disassembled: any four
 * bytes after an opcode or ModRM byte of such a form count as a distance if they lead to another
 * place in the image. This sometimes takes other bytes for a distance, but it does so in both
 * builds. AArch64 addresses data by the page (ADRP) and the place in it, which the next
 * instructions with the same register have.
 */
#ifndef COLLECTOR_MASKED_HASH_H
#define COLLECTOR_MASKED_HASH_H

#include <stddef.h>
#include <stdint.h>

/* The place of a function, in ELF virtual addresses; image_end is exclusive. */
typedef struct MaskedCode
{
	uint16_t machine; /* EM_X86_64 or EM_AARCH64 */
	uint64_t start;
	uint64_t image_start;
	uint64_t image_end;
} MaskedCode;

/*
 * Hashes code with the distances in it set to zero. Sets *kept_bytes to the number of other bytes.
 */
uint64_t masked_hash(const MaskedCode *place, uint8_t *code, size_t size_bytes, size_t *kept_bytes);

/* Adds a number to a hash. */
uint64_t masked_hash_add(uint64_t hash, uint64_t value);

#endif
