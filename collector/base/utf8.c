/*
 * utf8.c
 *		Validates UTF-8 and replaces invalid bytes.
 */
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

#include "formats/utf8.h"

/* Length in bytes of the longest character. */
#define UTF8_BYTES_MAX 4

size_t
utf8_length(const char *text)
{
	return pfs_utf8_character((const uint8_t *) text, strnlen(text, UTF8_BYTES_MAX - 1) + 1);
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
 * The last bytes of a text are copied into a NUL-terminated buffer, because utf8_length() may read
 * four bytes.
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
