/*
 * bits.h
 *		Bits from any place on, as numbers of a group are stored.
 */
#ifndef PFS_BITS_H
#define PFS_BITS_H

#include "codec/block.h"
#include "codec/bytes.h"

#define PFS_WORD_BITS 64

/* At least 57 bits from a position on; reads eight bytes. */
static inline uint64_t
pfs_load_bits(const uint8_t *bytes, uint32_t bit)
{
	return pfs_load64(bytes + bit / 8) >> bit % 8;
}

/* PFS_WORD_BITS bits from a position on; reads nine bytes. */
static inline uint64_t
pfs_load_word(const uint8_t *bytes, uint32_t bit)
{
	return pfs_load_bits(bytes, bit) | (uint64_t) bytes[bit / 8 + 8] << 1 << (63 - bit % 8);
}

/* Sets up to 57 bits that are zero as yet. */
static inline void
pfs_store_bits(uint8_t *bytes, uint32_t bit, uint64_t value)
{
	pfs_store64(bytes + bit / 8, pfs_load64(bytes + bit / 8) | value << bit % 8);
}

/* Groups of a block that are not like most, and where their rows begin. */
typedef struct PfsGroupList
{
	uint32_t count;
	bool wanted[PFS_BLOCK_ROWS + 1];
	uint16_t rows[PFS_BLOCK_ROWS + 1];
	uint16_t starts[PFS_BLOCK_ROWS + 1]; /* and the end of the last group */
} PfsGroupList;

static inline uint32_t
pfs_bytes_of_bits(uint32_t bits)
{
	return (bits + 7) / 8;
}

#endif
