/*
 * seeded_hash.h
 *		A hash of texts for tables in memory, with a secret seed, because files may be
 *		constructed so that their texts collide. Includes no server header.
 */
#ifndef PFS_SEEDED_HASH_H
#define PFS_SEEDED_HASH_H

#include <stdint.h>
#include <string.h>
#include <sys/random.h>

#include "formats/profile.h"

/* An odd number with about as many ones as zeros. */
#define PFS_HASH_MULTIPLIER UINT64_C(0x9E3779B97F4A7C15)

/*
 * Returns a seed. Each table uses a seed of its own. Without entropy, early during boot, it is
 * predictable.
 */
static inline uint64_t
pfs_hash_seed(void)
{
	uint64_t seed;

	return getrandom(&seed, sizeof(seed), GRND_NONBLOCK) == (ssize_t) sizeof(seed)
			   ? seed
			   : PFS_HASH_MULTIPLIER;
}

/* Multiplies to 128 bits and combines both halves. */
static inline uint64_t
pfs_hash_number(uint64_t hash, uint64_t number)
{
	unsigned __int128 product = (unsigned __int128) (hash ^ number) * PFS_HASH_MULTIPLIER;

	return (uint64_t) (product >> 64) ^ (uint64_t) product ^ (hash << 32 | hash >> 32);
}

static inline uint64_t
pfs_hash_text(uint64_t hash, PfsText text)
{
	uint32_t at = 0;
	uint64_t word = 0;

	for (; text.length - at >= sizeof(word); at += sizeof(word))
	{
		memcpy(&word, text.data + at, sizeof(word));
		hash = pfs_hash_number(hash, word);
	}
	word = 0;
	if (at < text.length)
		memcpy(&word, text.data + at, text.length - at);
	return pfs_hash_number(pfs_hash_number(hash, word), text.length);
}

#endif
