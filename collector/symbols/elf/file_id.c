/*
 * file_id.c
 *		Computes SHA-256 (FIPS 180-4) over head, tail and length of a file.
 *
 * It is implemented here because no other part of the collector's agent needs a cryptographic
 * library.
 */
#include "symbols/elf/file_id.h"

#include <endian.h>
#include <string.h>

#define PART_BYTES	4096
#define BLOCK_BYTES 64
#define INPUT_BYTES (2 * PART_BYTES + sizeof(uint64_t))
#define TAIL_BYTES	(1 + sizeof(uint64_t)) /* padding adds at least this many bytes */

static const uint32_t round_constants[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t
rotate_right(uint32_t word, int bits)
{
	return word >> bits | word << (32 - bits);
}

/* Adds one block of 64 bytes to the state (FIPS 180-4, 6.2.2). */
static void
digest_block(uint32_t state[8], const uint8_t block[BLOCK_BYTES])
{
	uint32_t schedule[64];
	uint32_t v[8];

	for (int i = 0; i < 16; i++)
	{
		uint32_t word;

		memcpy(&word, block + 4 * i, sizeof(word));
		schedule[i] = be32toh(word);
	}
	for (int i = 16; i < 64; i++)
	{
		uint32_t early = schedule[i - 15];
		uint32_t late = schedule[i - 2];

		schedule[i] = schedule[i - 16] + schedule[i - 7] +
					  (rotate_right(early, 7) ^ rotate_right(early, 18) ^ early >> 3) +
					  (rotate_right(late, 17) ^ rotate_right(late, 19) ^ late >> 10);
	}
	memcpy(v, state, sizeof(v));
	for (int i = 0; i < 64; i++)
	{
		uint32_t first = v[7] +
						 (rotate_right(v[4], 6) ^ rotate_right(v[4], 11) ^ rotate_right(v[4], 25)) +
						 ((v[4] & v[5]) ^ (~v[4] & v[6])) + round_constants[i] + schedule[i];
		uint32_t second =
			(rotate_right(v[0], 2) ^ rotate_right(v[0], 13) ^ rotate_right(v[0], 22)) +
			((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));

		memmove(v + 1, v, 7 * sizeof(v[0]));
		v[4] += first;
		v[0] = first + second;
	}
	for (int i = 0; i < 8; i++)
		state[i] += v[i];
}

bool
file_id_compute(const ElfSource *source, uint8_t id[FILE_ID_BYTES])
{
	uint32_t state[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
						  0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };
	uint8_t input[(INPUT_BYTES + TAIL_BYTES + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES] = { 0 };
	size_t part = source->size_bytes < PART_BYTES ? (size_t) source->size_bytes : PART_BYTES;
	uint64_t length = htobe64(source->size_bytes);
	size_t used = 2 * part;
	size_t padded;
	uint64_t bits;

	if (!elf_source_read(source, 0, input, part) ||
		!elf_source_read(source, source->size_bytes - part, input + part, part))
		return false;
	memcpy(input + used, &length, sizeof(length));
	used += sizeof(length);

	/* padding: a one bit, zeros, and the number of bits at the end of the last block */
	input[used] = 0x80;
	padded = (used + TAIL_BYTES + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES;
	bits = htobe64((uint64_t) used * 8);
	memcpy(input + padded - sizeof(bits), &bits, sizeof(bits));
	for (size_t at = 0; at < padded; at += BLOCK_BYTES)
		digest_block(state, input + at);
	for (int i = 0; i < FILE_ID_BYTES / 4; i++)
	{
		uint32_t word = htobe32(state[i]);

		memcpy(id + 4 * i, &word, sizeof(word));
	}
	return true;
}
