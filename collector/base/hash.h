/*
 * hash.h
 *		A fast, seeded 64-bit hash for tables in memory. A hash may be stored only together with its
 *		seed, and on this machine only.
 *
 * Each step multiplies to 128 bits and folds the halves, so that every input bit affects every
 * output bit. The input comes from profiled processes, which may be hostile: each table draws its
 * own seed, so that nobody can prepare names that collide.
 */
#ifndef COLLECTOR_HASH_H
#define COLLECTOR_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>

/* Odd constants with about as many ones as zeros: the fractions of the golden ratio and of pi. */
#define HASH_MULTIPLIER UINT64_C(0x9E3779B97F4A7C15)
#define HASH_OFFSET		UINT64_C(0x243F6A8885A308D3)

static inline uint64_t
hash_seed(void)
{
	uint64_t seed = 0;

	/*
	 * Early in boot there may be no entropy; the table then uses a seed that is known to everybody.
	 */
	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != (ssize_t) sizeof(seed))
		seed = HASH_OFFSET;
	return seed;
}

/* Adds a word to a hash. For the first word, hash is the seed. */
static inline uint64_t
hash_word(uint64_t hash, uint64_t word)
{
	unsigned __int128 product = (unsigned __int128) (hash ^ word ^ HASH_OFFSET) * HASH_MULTIPLIER;

	return (uint64_t) (product >> 64) ^ (uint64_t) product ^ (hash << 32 | hash >> 32);
}

/* Adds bytes and their number, so that "ab", "c" and "a", "bc" differ. */
static inline uint64_t
hash_bytes(uint64_t hash, const void *bytes, size_t length)
{
	const unsigned char *cursor = bytes;
	size_t left = length;
	uint64_t word;

	while (left >= sizeof(word))
	{
		memcpy(&word, cursor, sizeof(word));
		hash = hash_word(hash, word);
		cursor += sizeof(word);
		left -= sizeof(word);
	}
	word = 0;
	if (left > 0) /* cursor may be NULL if there are no bytes */
		memcpy(&word, cursor, left);
	return hash_word(hash_word(hash, word), length);
}

#endif
