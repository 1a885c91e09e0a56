/*
 * utf8.h
 *		Recognizes a character of UTF-8 by the table of well-formed byte sequences (Unicode, table
 *		3-7); knows no other header of ours.
 */
#ifndef PFS_UTF8_H
#define PFS_UTF8_H

#include <stddef.h>
#include <stdint.h>

/*
 * Returns the length of the character with which bytes begin, of which length (at least 1) are
 * readable; 0 if they begin with no complete character. A zero byte is a character.
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
		low = 0xA0; /* overlong */
	else if (bytes[0] == 0xED)
		high = 0x9F; /* surrogates */
	else if (bytes[0] == 0xF0)
		low = 0x90; /* overlong */
	else if (bytes[0] == 0xF4)
		high = 0x8F; /* beyond U+10FFFF */
	if (wanted > length || bytes[1] < low || bytes[1] > high)
		return 0;
	for (uint32_t i = 2; i < wanted; i++)
		if ((bytes[i] & 0xC0) != 0x80)
			return 0;
	return wanted;
}

#endif
