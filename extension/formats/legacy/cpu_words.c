/*
 * cpu_words.c
 *		Reads words of 4 or 8 bytes in either byte order.
 */
#include "formats/legacy/cpu_words.h"

/* The second word of a header: the number of words after it. */
#define HEADER_WORDS_LEFT 3

bool
pfs_cpu_word(PfsCpuWords *words, uint64_t *word)
{
	const uint8_t *bytes = words->bytes + words->at;

	if (words->length - words->at < words->width)
		return false;
	*word = 0;
	for (size_t i = 0; i < words->width; i++)
		*word = *word << 8 | bytes[words->is_big_endian ? i : words->width - 1 - i];
	words->at += words->width;
	return true;
}

static bool
words_read_header(PfsCpuWords *words)
{
	uint64_t header[HEADER_WORDS_LEFT + 2];

	for (int i = 0; i < HEADER_WORDS_LEFT + 2; i++)
		if (!pfs_cpu_word(words, &header[i]))
			return false;
	words->is_java = header[2] == 1;
	words->period_us = header[3];
	return header[0] == 0 && header[1] == HEADER_WORDS_LEFT && header[2] <= 1 && header[3] > 0 &&
		   header[4] == 0;
}

bool
pfs_cpu_words_begin(PfsCpuWords *words, const uint8_t *bytes, size_t length)
{
	for (size_t width = 4; width <= 8; width += 4)
		for (int big = 0; big < 2; big++)
		{
			*words = (PfsCpuWords){
				.bytes = bytes, .length = length, .width = width, .is_big_endian = big == 1
			};
			if (words_read_header(words))
				return true;
		}
	return false;
}
