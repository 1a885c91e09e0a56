/*
 * clean_text.h
 *		Converts texts to what a database accepts: UTF-8 without zero bytes. Includes no server
 *		header.
 */
#ifndef PFS_CLEAN_TEXT_H
#define PFS_CLEAN_TEXT_H

#include <string.h>

#include "formats/profile.h"

/*
 * Replaces each invalid byte and each zero byte by the profile's replacement, because files contain
 * truncated names, and buffers with the bytes after a name. A clean text stays in place. Returns
 * false if out of memory or budget.
 */
bool pfs_text_clean(PfsProfile *profile, PfsText *text);

/*
 * Returns the length of the first UTF-8 character of a non-empty text; 0 if it is invalid or NUL.
 */
uint32_t pfs_character_bytes(PfsText text);

/*
 * Copies UTF-8 text with U+FFFD in place of zero bytes. The copy must have room for length times
 * PFS_REPLACEMENT_BYTES. Returns its length.
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
