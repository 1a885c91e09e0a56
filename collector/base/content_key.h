/*
 * content_key.h
 *		122-bit keys of contents under a secret, which are compared instead of the contents.
 *
 * A key is the value of a polynomial whose coefficients are the content, at two secret points,
 * modulo 2^61 - 1. Two different contents of n words are two polynomials that agree at no more than
 * n of 2^59 points (Carter and Wegman 1981). So an attacker who does not know the points finds
 * equal keys with a probability of (n / 2^59)^2: 2^-108 for thirty frames, 2^-83 for a megabyte.
 * That holds as long as no key leaves the process.
 *
 * Begin with CONTENT_BEGIN and end with content_key(). No content may equal another one with zeros
 * in front of it: add the number of words before the words, unless it is fixed.
 */
#ifndef COLLECTOR_CONTENT_KEY_H
#define COLLECTOR_CONTENT_KEY_H

#include <stdbool.h>

#include "base/hash.h"

#define CONTENT_PRIME ((UINT64_C(1) << 61) - 1)

/* A key under construction. Its words are not reduced until content_key(): they are below 2^62. */
typedef struct ContentKey
{
	uint64_t words[2];
} ContentKey;

#define CONTENT_BEGIN ((ContentKey){ { 0, 0 } })

/*
 * The two secret points. They are below 2^59, so that one step of reduction is enough after a
 * product.
 */
typedef struct ContentSecret
{
	uint64_t points[2];
} ContentSecret;

static inline ContentSecret
content_secret(void)
{
	/* Without entropy hash_seed() is a constant; the two points then still differ. */
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

/* Returns the reduced key. Call it after the last word has been added. */
static inline ContentKey
content_key(ContentKey key)
{
	return (ContentKey){ { key.words[0] % CONTENT_PRIME, key.words[1] % CONTENT_PRIME } };
}

/* Adds a word that is less than CONTENT_PRIME. */
static inline ContentKey
content_add(const ContentSecret *secret, ContentKey key, uint64_t word)
{
	return (ContentKey){ { content_step(key.words[0], word, secret->points[0]),
						   content_step(key.words[1], word, secret->points[1]) } };
}

/* Adds a number of up to 64 bits. */
static inline ContentKey
content_add_number(const ContentSecret *secret, ContentKey key, uint64_t number)
{
	return content_add(secret, content_add(secret, key, number >> 32), (uint32_t) number);
}

/* Adds the number of bytes, then the bytes as words of seven bytes each. */
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
	if (length > 0) /* cursor may be NULL if there are no bytes */
		memcpy(&word, cursor, length);
	return content_add(secret, key, word);
}

#endif
