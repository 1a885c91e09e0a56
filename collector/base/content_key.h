/*
 * content_key.h
 *		What is known by its content: 122 bits of it under a secret, in place of the content.
 *
 * A key is the value of a polynomial whose coefficients are the content, at a secret point, modulo
 * 2^61 - 1; and once more at another. Two contents of n words are two polynomials that differ, and
 * agree at n of 2^59 points at most (Carter and Wegman 1981): for whoever does not know the points
 * their keys are equal with a probability of (n / 2^59)^2, which is 2^-108 for thirty frames and
 * 2^-83 for a megabyte. That holds for contents made to collide, too, as long as no key leaves the
 * process. So keys are compared, and what they stand for is not.
 *
 * Begin with CONTENT_BEGIN, end with content_key, and add words so that no content's are the end
 * of another's behind zeros: the number of what follows goes before it, and where it is 0 there is
 * no other number of words.
 */
#ifndef COLLECTOR_CONTENT_KEY_H
#define COLLECTOR_CONTENT_KEY_H

#include <stdbool.h>

#include "base/hash.h"

#define CONTENT_PRIME ((UINT64_C(1) << 61) - 1)

/* On its way not yet reduced: below 2^62. */
typedef struct ContentKey
{
	uint64_t words[2];
} ContentKey;

#define CONTENT_BEGIN ((ContentKey){ { 0, 0 } })

/* The points, below 2^59: so what is reduced by one step stays small. */
typedef struct ContentSecret
{
	uint64_t points[2];
} ContentSecret;

static inline ContentSecret
content_secret(void)
{
	/* where there is no entropy yet the two are not the same */
	return (ContentSecret){ { hash_seed() >> 5, hash_word(hash_seed(), 1) >> 5 } };
}

static inline bool
content_keys_equal(ContentKey a, ContentKey b)
{
	return a.words[0] == b.words[0] && a.words[1] == b.words[1];
}

static inline uint64_t
content_step(uint64_t value, uint64_t word, uint64_t point)
{
	unsigned __int128 product = (unsigned __int128) (value + word) * point;

	return ((uint64_t) product & CONTENT_PRIME) + (uint64_t) (product >> 61);
}

/* The key of what was added. */
static inline ContentKey
content_key(ContentKey key)
{
	return (ContentKey){ { key.words[0] % CONTENT_PRIME, key.words[1] % CONTENT_PRIME } };
}

/* Adds a word below the prime. */
static inline ContentKey
content_add(const ContentSecret *secret, ContentKey key, uint64_t word)
{
	return (ContentKey){ { content_step(key.words[0], word, secret->points[0]),
						   content_step(key.words[1], word, secret->points[1]) } };
}

/* Adds any number of 64 bits. */
static inline ContentKey
content_add_number(const ContentSecret *secret, ContentKey key, uint64_t number)
{
	return content_add(secret, content_add(secret, key, number >> 32), (uint32_t) number);
}

/* Adds bytes: their number, then seven to a word. */
static inline ContentKey
content_add_bytes(const ContentSecret *secret, ContentKey key, const void *bytes, size_t length)
{
	const unsigned char *cursor = bytes;
	uint64_t word;

	key = content_add_number(secret, key, length);
	for (; length >= sizeof(word); cursor += 7, length -= 7)
	{
		memcpy(&word, cursor, sizeof(word));
		key = content_add(secret, key, word & ((UINT64_C(1) << 56) - 1));
	}
	word = 0;
	if (length > 0) /* cursor may be null where there are no bytes */
		memcpy(&word, cursor, length);
	return content_add(secret, key, word);
}

#endif
