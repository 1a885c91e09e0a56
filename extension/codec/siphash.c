/*
 * siphash.c
 *		SipHash-2-4 with 128 bits of output.
 */
#include "codec/siphash.h"

#include "codec/bytes.h"

typedef struct State
{
	uint64_t v0;
	uint64_t v1;
	uint64_t v2;
	uint64_t v3;
} State;

static inline uint64_t
word_rotate(uint64_t value, unsigned bits)
{
	return value << bits | value >> (64 - bits);
}

static inline void
siphash_mix(State *state, unsigned rounds)
{
	while (rounds-- > 0)
	{
		state->v0 += state->v1;
		state->v2 += state->v3;
		state->v1 = word_rotate(state->v1, 13) ^ state->v0;
		state->v3 = word_rotate(state->v3, 16) ^ state->v2;
		state->v0 = word_rotate(state->v0, 32);
		state->v2 += state->v1;
		state->v0 += state->v3;
		state->v1 = word_rotate(state->v1, 17) ^ state->v2;
		state->v3 = word_rotate(state->v3, 21) ^ state->v0;
		state->v2 = word_rotate(state->v2, 32);
	}
}

static inline void
siphash_absorb(State *state, uint64_t word)
{
	/* Two rounds per word: the 2 in SipHash-2-4. */
	state->v3 ^= word;
	siphash_mix(state, 2);
	state->v0 ^= word;
}

static inline uint64_t
siphash_squeeze(State *state)
{
	siphash_mix(state, 4);
	return state->v0 ^ state->v1 ^ state->v2 ^ state->v3;
}

void
pfs_siphash(const uint8_t key[PFS_SIPHASH_KEY_BYTES], const void *bytes, size_t length,
			uint8_t hash[PFS_SIPHASH_BYTES])
{
	const uint8_t *at = bytes;
	uint64_t k0 = pfs_load64(key);
	uint64_t k1 = pfs_load64(key + 8);
	/*
	 * The last word holds the up to seven bytes left over, and the length modulo 256 in its top
	 * byte.
	 */
	uint64_t last = (uint64_t) length << 56;
	/*
	 * The constants are those of the paper, the text "somepseudorandomlygeneratedbytes". 0xee
	 * selects 128 bits.
	 */
	State state = { k0 ^ UINT64_C(0x736f6d6570736575), k1 ^ UINT64_C(0x646f72616e646f6d) ^ 0xee,
					k0 ^ UINT64_C(0x6c7967656e657261), k1 ^ UINT64_C(0x7465646279746573) };

	for (; length >= 8; length -= 8, at += 8)
		siphash_absorb(&state, pfs_load64(at));
	for (size_t i = 0; i < length; i++)
		last |= (uint64_t) at[i] << 8 * i;
	siphash_absorb(&state, last);
	state.v2 ^= 0xee;
	pfs_store64(hash, siphash_squeeze(&state));
	state.v1 ^= 0xdd;
	pfs_store64(hash + 8, siphash_squeeze(&state));
}
