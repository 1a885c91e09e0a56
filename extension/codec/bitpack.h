/*
 * bitpack.h
 *		Arrays of unsigned numbers of one width, 0 .. 64 bits each, without gaps.
 *
 * Two layouts, chosen by the count alone. Exactly PFS_BLOCK_ROWS values are interleaved over lanes,
 * so that a compiler turns the loop over lanes into vector instructions:
 *
 *	 width 1 .. 32:  32 lanes of 32-bit words; value i is row i / 32 of lane i % 32
 *	 width 33 .. 64: 16 lanes of 64-bit words; value i is row i / 16 of lane i % 16
 *
 *	 lane:		0	   1	  2	  ...	31	   0	  1	  ...
 *	 word:		0	   0	  0			0	   1	  1
 *
 * Each lane is a bit stream of its own, least significant bit first: row r takes the lane's bits [r
 * * width, (r + 1) * width). A full block always takes 128 * width bytes. Any other count is one
 * plain bit stream, least significant bit first, padded with zero bits to a whole byte.
 */
#ifndef PFS_BITPACK_H
#define PFS_BITPACK_H

#include "codec/segment.h"

/* Returns the bytes that count values of width bits take. */
size_t pfs_bitpack_size(uint32_t count, unsigned width);

/* Writes pfs_bitpack_size bytes. No value may have bits above its width. */
void pfs_bitpack(const uint64_t *values, uint32_t count, unsigned width, uint8_t *bytes);

/* Reads exactly pfs_bitpack_size bytes; values[] has room for count. */
void pfs_bitunpack(const uint8_t *bytes, uint32_t count, unsigned width, uint64_t *values);

#endif
