/*
 * clean_text.h
 *		Texts as a database takes them: UTF-8 without zero bytes. Knows no server header.
 */
#ifndef PFS_CLEAN_TEXT_H
#define PFS_CLEAN_TEXT_H

#include <string.h>

#include "formats/profile.h"

/*
 * Replaces each byte that belongs to no character, and each zero, by the profile's replacement:
 * files come with names that were cut, and with buffers and what lay behind them. A text without
 * any stays where it is. False where memory or budget are out.
 */
bool pfs_text_clean(PfsProfile *profile, PfsText *text);

/* Bytes of the character that a text, which has some, begins with: 0 for none, or for zero. */
uint32_t pfs_character_bytes(PfsText text);

/*
 * Copies bytes that are UTF-8 but for zeroes, each of which becomes U+FFFD. The copy has room for
 * length times PFS_REPLACEMENT_BYTES. Returns its length.
 */
static inline size_t
pfs_zeros_replace(char *copy, const char *bytes, size_t length)
{
	char *out = copy;

	for (size_t i = 0; i < length; i++)
	{
		size_t out_bytes = bytes[i] != '\0' ? 1 : PFS_REPLACEMENT_BYTES;

		memcpy(out, bytes[i] != '\0' ? &bytes[i] : PFS_REPLACEMENT, out_bytes);
		out += out_bytes;
	}
	return (size_t) (out - copy);
}

#endif
