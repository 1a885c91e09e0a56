/*
 * cursor.c
 *		Reads numbers and words at the beginning of a line.
 */
#include <string.h>

#include "formats/legacy/cursor.h"
#include "formats/lines.h"

static void
skip(PfsCursor *cursor, uint32_t count)
{
	cursor->data += count;
	cursor->length -= count;
}

void
pfs_skip_blanks(PfsCursor *cursor)
{
	while (cursor->length > 0 && pfs_is_blank(cursor->data[0]))
		skip(cursor, 1);
}

bool
pfs_take_words(PfsCursor *cursor, const char *words)
{
	PfsCursor at = *cursor;
	size_t length = strlen(words);

	pfs_skip_blanks(&at);
	if (at.length < length || memcmp(at.data, words, length) != 0)
		return false;
	skip(&at, (uint32_t) length);
	*cursor = at;
	return true;
}

PfsReadStatus
pfs_take_number(PfsCursor *cursor, int64_t *number)
{
	PfsCursor at = *cursor;
	uint32_t length = 0;
	PfsReadStatus status;

	pfs_skip_blanks(&at);
	/* The sign belongs to the number only in front. */
	if (at.length > 0 && at.data[0] == '-')
		length++;
	while (length < at.length && pfs_is_digit(at.data[length]))
		length++;
	status = pfs_parse_int64(pfs_part(at, 0, length), number);
	/* The cursor stays where it was if there is no number. */
	if (status != PFS_READ_OK)
		return status;
	skip(&at, length);
	*cursor = at;
	return PFS_READ_OK;
}

static unsigned
hex_digit(char c)
{
	if (pfs_is_digit(c))
		return (unsigned) (c - '0');
	if (c >= 'a' && c <= 'f')
		return (unsigned) (c - 'a') + 10;
	return c >= 'A' && c <= 'F' ? (unsigned) (c - 'A') + 10 : 16;
}

PfsReadStatus
pfs_take_hex(PfsCursor *cursor, uint64_t *number)
{
	PfsCursor at = *cursor;
	uint64_t sum = 0;

	for (; at.length > 0 && hex_digit(at.data[0]) < 16; skip(&at, 1))
	{
		/* Another digit would shift out the highest four bits. */
		if (sum >> 60 != 0)
			return PFS_READ_OUT_OF_RANGE;
		sum = sum << 4 | hex_digit(at.data[0]);
	}
	/* No digit was read. */
	if (at.length == cursor->length)
		return PFS_READ_MALFORMED;
	*number = sum;
	*cursor = at;
	return PFS_READ_OK;
}

PfsText
pfs_take_token(PfsCursor *cursor)
{
	PfsText token;

	pfs_skip_blanks(cursor);
	token = (PfsText){ cursor->data, 0 };
	while (cursor->length > 0 && !pfs_is_blank(cursor->data[0]))
	{
		token.length++;
		skip(cursor, 1);
	}
	return token;
}

bool
pfs_text_contains(PfsText text, const char *words)
{
	uint32_t length = (uint32_t) strlen(words);

	while (text.length >= length)
	{
		/* The words must fit in the rest of the text. */
		const char *at = memchr(text.data, words[0], text.length - length + 1);

		if (at == NULL)
			return false;
		if (memcmp(at, words, length) == 0)
			return true;
		skip(&text, (uint32_t) (at - text.data) + 1);
	}
	return false;
}
