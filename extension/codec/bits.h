/*
 * bits.h
 *		Bit fields at any position, as the numbers of a group are stored.
 */
#ifndef PFS_BITS_H
#define PFS_BITS_H

#include "codec/block.h"
#include "codec/bytes.h"

#define PFS_WORD_BITS 64

/* Loads at least 57 bits from a bit position; reads eight bytes. */
static inline uint64_t
pfs_load_bits(const uint8_t *bytes, uint32_t bit)
{
	return pfs_load64(bytes + bit / 8) >> bit % 8;
}

/* Loads PFS_WORD_BITS bits from a bit position; reads nine bytes. */
static inline uint64_t
pfs_load_word(const uint8_t *bytes, uint32_t bit)
{
	return pfs_load_bits(bytes, bit) | (uint64_t) bytes[bit / 8 + 8] << 1 << (63 - bit % 8);
}

/* Stores up to 57 bits, which must be zero before. */
static inline void
pfs_store_bits(uint8_t *bytes, uint32_t bit, uint64_t value)
{
	pfs_store64(bytes + bit / 8, pfs_load64(bytes + bit / 8) | value << bit % 8);
}

/* A subset of the groups of a block: for each its rows, and its first bit. */
typedef struct PfsGroupList
{
	uint32_t count;
	bool wanted[PFS_BLOCK_ROWS + 1];
	uint16_t rows[PFS_BLOCK_ROWS + 1];
	uint16_t starts[PFS_BLOCK_ROWS + 1]; /* one more than groups: the end of the last one */
} PfsGroupList;

static inline uint32_t
pfs_bytes_of_bits(uint32_t bits)
{
	return (bits + 7) / 8;
}

#endif
