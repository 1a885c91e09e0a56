/*
 * utf8.h
 *		Recognizes a character of UTF-8 by the table of well-formed byte sequences (Unicode, table
 *		3-7); includes no other header of this project.
 */
#ifndef PFS_UTF8_H
#define PFS_UTF8_H

#include <stddef.h>
#include <stdint.h>

/*
 * Returns the length of the character at the start of bytes, of which length (at least 1) are
 * readable; 0 if there is no complete valid character. A zero byte is a character.
 */
static inline uint32_t
pfs_utf8_character(const uint8_t *bytes, size_t length)
{
	uint8_t low = 0x80;
	uint8_t high = 0xBF;
	uint32_t wanted;

	if (bytes[0] < 0x80)
		return 1;
	if (bytes[0] < 0xC2 || bytes[0] > 0xF4)
		return 0;
	wanted = bytes[0] < 0xE0 ? 2 : bytes[0] < 0xF0 ? 3 : 4;
	if (bytes[0] == 0xE0)
		low = 0xA0; /* smaller bytes would be overlong encodings */
	else if (bytes[0] == 0xED)
		high = 0x9F; /* greater bytes would be surrogates */
	else if (bytes[0] == 0xF0)
		low = 0x90; /* smaller bytes would be overlong encodings */
	else if (bytes[0] == 0xF4)
		high = 0x8F; /* greater bytes would be beyond U+10FFFF */
	if (wanted > length || bytes[1] < low || bytes[1] > high)
		return 0;
	for (uint32_t i = 2; i < wanted; i++)
		if ((bytes[i] & 0xC0) != 0x80)
			return 0;
	return wanted;
}

#endif
