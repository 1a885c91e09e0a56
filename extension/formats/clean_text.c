/*
 * clean_text.c
 *		Validates with the table of well-formed byte sequences (Unicode, table 3-7).
 */
#include <string.h>

#include "formats/clean_text.h"
#include "formats/memory.h"

static PfsText
rest_of(PfsText text, uint32_t at)
{
	return (PfsText){ text.data + at, text.length - at };
}

uint32_t
pfs_character_bytes(PfsText text)
{
	const uint8_t *bytes = (const uint8_t *) text.data;
	uint8_t low = 0x80;
	uint8_t high = 0xBF;
	uint32_t length;

	if (bytes[0] < 0x80)
		return bytes[0] != 0;
	if (bytes[0] < 0xC2 || bytes[0] > 0xF4)
		return 0;
	length = bytes[0] < 0xE0 ? 2 : bytes[0] < 0xF0 ? 3 : 4;
	if (bytes[0] == 0xE0)
		low = 0xA0; /* overlong */
	else if (bytes[0] == 0xED)
		high = 0x9F; /* surrogates */
	else if (bytes[0] == 0xF0)
		low = 0x90; /* overlong */
	else if (bytes[0] == 0xF4)
		high = 0x8F; /* beyond U+10FFFF */
	if (length > text.length || bytes[1] < low || bytes[1] > high)
		return 0;
	for (uint32_t i = 2; i < length; i++)
		if ((bytes[i] & 0xC0) != 0x80)
			return 0;
	return length;
}

/* Returns true if eight bytes are all ASCII and none is zero, tested by their high bits. */
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
	 * lengths have 32 bits, so a longer result cannot be stored; no database could store it either
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
