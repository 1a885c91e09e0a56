/*
 * masked_hash.c
 *		Masks distances, and hashes the rest 8 bytes at a time.
 */
#include "symbols/elf/masked_hash.h"

#include <elf.h>
#include <string.h>

#define DISTANCE_BYTES 4

/* Returns the number of bytes before the distance of an instruction here; 0: there is none. */
static size_t
distance_offset(const uint8_t *code, size_t at, size_t size_bytes)
{
	uint8_t byte = code[at];

	if (byte == 0xe8 || byte == 0xe9) /* call, jmp */
		return 1;
	if (byte == 0x0f && size_bytes - at > DISTANCE_BYTES + 1 && (code[at + 1] & 0xf0) == 0x80)
		return 2;									/* jcc */
	return (byte & 0xc7) == 0x05 && at > 0 ? 1 : 0; /* a ModRM byte: relative to rip */
}

static size_t
mask_x86(const MaskedCode *place, uint8_t *code, size_t size_bytes)
{
	size_t masked_bytes = 0;

	for (size_t at = 0; at + 1 + DISTANCE_BYTES <= size_bytes; at++)
	{
		size_t offset = distance_offset(code, at, size_bytes);
		uint64_t target;
		int32_t distance;

		if (offset == 0)
			continue;
		memcpy(&distance, code + at + offset, DISTANCE_BYTES);
		target = place->start + at + offset + DISTANCE_BYTES + (uint64_t) (int64_t) distance;
		if (target < place->image_start || target >= place->image_end ||
			target - place->start < size_bytes)
			continue;
		memset(code + at + offset, 0, DISTANCE_BYTES);
		masked_bytes += DISTANCE_BYTES;
		at += offset + DISTANCE_BYTES - 1;
	}
	return masked_bytes;
}

/* A form of an AArch64 instruction that contains a distance. */
typedef struct Branch
{
	uint32_t mask;
	uint32_t opcode;
	uint8_t shift; /* position of the distance, which counts instructions */
	uint8_t bits;
} Branch;

static const Branch branches[] = {
	{ 0x7c000000, 0x14000000, 0, 26 }, /* B, BL */
	{ 0xff000010, 0x54000000, 5, 19 }, /* B.cond */
	{ 0x7e000000, 0x34000000, 5, 19 }, /* CBZ, CBNZ */
	{ 0x7e000000, 0x36000000, 5, 14 }, /* TBZ, TBNZ */
	{ 0x3b000000, 0x18000000, 5, 19 }, /* LDR of a literal */
};

#define ADR_MASK		 0x1f000000U /* ADR and ADRP */
#define ADR_OPCODE		 0x10000000U
#define ADR_DISTANCE	 0x60ffffe0U
#define ADRP_BIT		 0x80000000U
#define ADD_MASK		 0xffc00000U /* ADD of 12 bits, 64-bit */
#define ADD_OPCODE		 0x91000000U
#define ACCESS_MASK		 0x3b000000U /* LDR and STR of 12 bits */
#define ACCESS_OPCODE	 0x39000000U
#define ACCESS_IS_LOAD	 0x00400000U
#define OFFSET_DISTANCE	 0x003ffc00U
#define CALL_MASK		 0xfc000000U
#define CALL_OPCODE		 0x94000000U
#define CALLEE_REGISTERS 0x0007ffffU /* registers that a call may change */

/*
 * Returns the bits of an instruction that are a distance out of the function, to another place in
 * the image.
 */
static uint32_t
branch_distance(const MaskedCode *place, uint64_t at, size_t size_bytes, uint32_t instruction)
{
	for (size_t i = 0; i < sizeof(branches) / sizeof(branches[0]); i++)
	{
		const Branch *branch = &branches[i];
		uint32_t bits = (1U << branch->bits) - 1;
		int64_t distance;
		uint64_t target;

		if ((instruction & branch->mask) != branch->opcode)
			continue;
		distance = instruction >> branch->shift & bits;
		if (distance >> (branch->bits - 1) != 0)
			distance -= INT64_C(1) << branch->bits;
		target = place->start + at + (uint64_t) distance * sizeof(instruction);
		return target < place->image_start || target >= place->image_end ||
					   target - place->start < size_bytes
				   ? 0
				   : bits << branch->shift;
	}
	return 0;
}

/*
 * Returns the bits of an instruction that are the distance of an address, or its place in a page.
 * *pages is the set of registers that contain the address of a page.
 */
static uint32_t
data_distance(uint32_t instruction, uint32_t *pages)
{
	uint32_t to = 1U << (instruction & 31);
	uint32_t from = 1U << (instruction >> 5 & 31);

	if ((instruction & ADR_MASK) == ADR_OPCODE)
	{
		*pages = (instruction & ADRP_BIT) != 0 ? *pages | to : *pages & ~to;
		return ADR_DISTANCE;
	}
	if ((instruction & CALL_MASK) == CALL_OPCODE)
		*pages &= ~CALLEE_REGISTERS;
	if ((*pages & from) == 0)
		return 0;
	if ((instruction & ADD_MASK) == ADD_OPCODE ||
		(instruction & (ACCESS_MASK | ACCESS_IS_LOAD)) == (ACCESS_OPCODE | ACCESS_IS_LOAD))
		*pages &= ~to; /* the register has another value from here on */
	else if ((instruction & ACCESS_MASK) != ACCESS_OPCODE)
		return 0;
	return OFFSET_DISTANCE;
}

static size_t
mask_aarch64(const MaskedCode *place, uint8_t *code, size_t size_bytes)
{
	size_t masked_bits = 0;
	uint32_t pages = 0;
	uint32_t instruction;

	for (size_t at = 0; at + sizeof(instruction) <= size_bytes; at += sizeof(instruction))
	{
		uint32_t distance;

		memcpy(&instruction, code + at, sizeof(instruction));
		distance = branch_distance(place, at, size_bytes, instruction) |
				   data_distance(instruction, &pages);
		instruction &= ~distance;
		memcpy(code + at, &instruction, sizeof(instruction));
		masked_bits += (size_t) __builtin_popcount(distance);
	}
	return masked_bits / 8;
}

uint64_t
masked_hash_add(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

uint64_t
masked_hash(const MaskedCode *place, uint8_t *code, size_t size_bytes, size_t *kept_bytes)
{
	uint64_t hash = size_bytes;

	*kept_bytes = size_bytes - (place->machine == EM_AARCH64 ? mask_aarch64(place, code, size_bytes)
															 : mask_x86(place, code, size_bytes));
	for (size_t at = 0; at < size_bytes; at += sizeof(uint64_t))
	{
		size_t left = size_bytes - at;
		uint64_t word = 0;

		memcpy(&word, code + at, left < sizeof(word) ? left : sizeof(word));
		hash = masked_hash_add(hash, word);
	}
	return masked_hash_add(hash, size_bytes);
}
