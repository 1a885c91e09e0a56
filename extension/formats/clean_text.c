/*
 * clean_text.c
 *		Replaces the bytes of a text that a database cannot store.
 */
#include <string.h>

#include "formats/clean_text.h"
#include "formats/memory.h"
#include "formats/utf8.h"

static PfsText
rest_of(PfsText text, uint32_t at)
{
	return (PfsText){ text.data + at, text.length - at };
}

uint32_t
pfs_character_bytes(PfsText text)
{
	return text.data[0] == '\0' ? 0 : pfs_utf8_character((const uint8_t *) text.data, text.length);
}

/* Returns true if eight bytes are all ASCII and none is zero. It tests their high bits together. */
static bool
text_is_plain(const char *bytes)
{
	const uint64_t high_bits = UINT64_C(0x8080808080808080);
	uint64_t word;

	memcpy(&word, bytes, sizeof(word));
	return ((word | (word - UINT64_C(0x0101010101010101))) & high_bits) == 0;
}

/* Returns the length of the clean prefix of a text. */
static uint32_t
clean_length(PfsText text)
{
	uint32_t at = 0;

	while (at < text.length)
	{
		uint32_t length;

		if (text.length - at >= sizeof(uint64_t) && text_is_plain(text.data + at))
		{
			at += sizeof(uint64_t);
			continue;
		}
		length = pfs_character_bytes(rest_of(text, at));
		if (length == 0)
			break;
		at += length;
	}
	return at;
}

bool
pfs_text_clean(PfsProfile *profile, PfsText *text)
{
	size_t replacement_bytes = strlen(profile->replacement);
	uint32_t at = clean_length(*text);
	char *copy;
	char *out;

	if (at == text->length)
		return true;
	/*
	 * lengths have 32 bits, so a longer result cannot be represented; no database could store it
	 * either
	 */
	if (text->length > UINT32_MAX / replacement_bytes)
		return false;
	copy = pfs_scratch_alloc(&profile->texts, profile->budget,
							 at + (text->length - at) * replacement_bytes);
	if (copy == NULL)
		return false;
	memcpy(copy, text->data, at);
	for (out = copy + at; at < text->length;)
	{
		uint32_t length = pfs_character_bytes(rest_of(*text, at));

		if (length > 0)
			memcpy(out, text->data + at, length);
		else
			memcpy(out, profile->replacement, replacement_bytes);
		out += length > 0 ? length : replacement_bytes;
		at += length > 0 ? length : 1;
	}
	*text = (PfsText){ copy, (uint32_t) (out - copy) };
	return true;
}
