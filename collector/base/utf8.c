/*
 * utf8.c
 *		Validates UTF-8 by the table of well-formed byte sequences (Unicode, table 3-7).
 */
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

/* Length of the longest character. */
#define UTF8_BYTES_MAX 4

size_t
utf8_length(const char *text)
{
	const unsigned char *bytes = (const unsigned char *) text;
	unsigned char low = 0x80;
	unsigned char high = 0xBF;
	size_t length;

	if (bytes[0] < 0x80)
		return 1;
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
	if (bytes[1] < low || bytes[1] > high)
		return 0;
	for (size_t i = 2; i < length; i++)
		if ((bytes[i] & 0xC0) != 0x80)
			return 0;
	return length;
}

bool
utf8_valid(const char *text)
{
	while (*text != '\0')
	{
		size_t length = utf8_length(text);

		if (length == 0)
			return false;
		text += length;
	}
	return true;
}

/*
 * utf8_length() may read four bytes, so the last bytes, which are fewer, are copied into a
 * NUL-terminated buffer.
 */
bool
utf8_valid_bytes(const char *bytes, size_t length)
{
	char end[UTF8_BYTES_MAX] = "";

	while (length >= UTF8_BYTES_MAX)
	{
		size_t step = utf8_length(bytes);

		if (step == 0)
			return false;
		bytes += step;
		length -= step;
	}
	memcpy(end, bytes, length);
	return strlen(end) == length && utf8_valid(end);
}

char *
utf8_replace_invalid(const char *text)
{
	const size_t replacement_bytes = strlen(UTF8_REPLACEMENT);
	char *copy = malloc(strlen(text) * replacement_bytes + 1);
	char *out = copy;

	if (copy == NULL)
		return NULL;
	while (*text != '\0')
	{
		size_t length = utf8_length(text);

		if (length > 0)
			out = mempcpy(out, text, length);
		else
			out = mempcpy(out, UTF8_REPLACEMENT, replacement_bytes);
		text += length > 0 ? length : 1;
	}
	*out = '\0';
	return copy;
}
