/*
 * remote_text.c
 *		Reads texts of different lengths together.
 *
 * The given length may be only an upper limit, and memory after the text's end may be unreadable.
 * So the part of a text in its second page is a read of its own.
 */
#include "runtimes/common/remote_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "code/code_object.h"

#define PAGE_BYTES 4096

/* Returns a text from its two parts; NULL if it continues in a part that could not be read. */
static char *
text_of_parts(const uint8_t *bytes, const RemoteRange parts[2])
{
	char copy[CODE_TEXT_BYTES + 1] = "";
	size_t length = parts[0].bytes;

	if (length == 0 || !parts[0].had)
		return NULL;
	memcpy(copy, bytes, length);
	if (parts[1].bytes > 0 && memchr(copy, '\0', length) == NULL)
	{
		if (!parts[1].had)
			return NULL;
		memcpy(copy + length, bytes + length, parts[1].bytes);
	}
	return utf8_replace_invalid(copy);
}

void
remote_texts_read(RemoteMemory *memory, RemoteText *texts, size_t count)
{
	RemoteRange ranges[2 * REMOTE_TEXTS_MAX];
	uint8_t *bytes = malloc(REMOTE_TEXTS_MAX * CODE_TEXT_BYTES);
	size_t at = 0;

	for (size_t i = 0; i < count; i++)
	{
		size_t length =
			texts[i].bytes < CODE_TEXT_BYTES ? (size_t) texts[i].bytes : CODE_TEXT_BYTES;
		size_t in_page = PAGE_BYTES - texts[i].address % PAGE_BYTES;
		size_t first = length < in_page ? length : in_page;

		texts[i].text = NULL;
		ranges[2 * i] = (RemoteRange){ texts[i].address, first, false };
		ranges[2 * i + 1] = (RemoteRange){ texts[i].address + first, length - first, false };
	}
	if (bytes == NULL)
		return;
	remote_memory_gather(memory, ranges, 2 * count, bytes);
	for (size_t i = 0; i < count; i++)
	{
		texts[i].text = text_of_parts(bytes + at, &ranges[2 * i]);
		at += ranges[2 * i].bytes + ranges[2 * i + 1].bytes;
	}
	free(bytes);
}

void
remote_words_read(RemoteMemory *memory, const uint64_t *addresses, size_t count, size_t words,
				  uint64_t *to, bool *had)
{
	RemoteRange ranges[REMOTE_TEXTS_MAX];

	memset(to, 0, count * words * sizeof(*to));
	for (size_t i = 0; i < count; i++)
		ranges[i] = (RemoteRange){ addresses[i], words * sizeof(*to), false };
	remote_memory_gather(memory, ranges, count, to);
	for (size_t i = 0; i < count; i++)
	{
		had[i] = ranges[i].had;
		if (!had[i])
			memset(to + i * words, 0, words * sizeof(*to));
	}
}
