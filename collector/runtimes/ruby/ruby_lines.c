/*
 * ruby_lines.c
 *		Reads the index that Ruby keeps from 2.6 on: the number of entries at or before a position.
 *
 * Six words hold 9 numbers of 7 bits each, for the first 54 positions. After them each 512
 * positions have a block: two words of such numbers, and eight words in which an entry is a bit.
 */
#include "runtimes/ruby/ruby_lines.h"

#include "base/unaligned.h"

#define FIRST_WORDS		6
#define FIRST_OF_WORD	9
#define FIRST_BITS		7
#define FIRST_POSITIONS (FIRST_WORDS * FIRST_OF_WORD)

#define BLOCK_POSITIONS 512
#define BLOCK_BYTES		80
#define BLOCK_WORDS		16 /* in bytes: offset of its words */

size_t
ruby_ranks_bytes(uint32_t size)
{
	size_t blocks = 0;

	if (size > FIRST_POSITIONS)
		blocks = (size - FIRST_POSITIONS + BLOCK_POSITIONS - 1) / BLOCK_POSITIONS;
	return FIRST_WORDS * sizeof(uint64_t) + blocks * BLOCK_BYTES;
}

/* Returns the number of entries at or before one of the first positions. */
static uint32_t
rank_of_first(const uint8_t *ranks, uint32_t position)
{
	uint64_t word = bytes_u64_at(ranks, position / FIRST_OF_WORD * sizeof(uint64_t));

	return (uint32_t) (word >> position % FIRST_OF_WORD * FIRST_BITS) & ((1U << FIRST_BITS) - 1);
}

size_t
ruby_lines_of_ranks(const uint8_t *ranks, uint32_t size, const int32_t *lines, size_t count,
					RubyLine *result)
{
	const uint8_t *block = ranks + FIRST_WORDS * sizeof(uint64_t);
	size_t found = 0;

	for (uint32_t at = 0; at < size && at < FIRST_POSITIONS && found < count; at++)
	{
		if (rank_of_first(ranks, at) > found)
		{
			result[found] = (RubyLine){ at, lines[found] };
			found++;
		}
	}
	for (uint32_t first = FIRST_POSITIONS; first < size; first += BLOCK_POSITIONS)
	{
		for (uint32_t i = 0; i < BLOCK_POSITIONS / 64; i++)
		{
			uint64_t bits = bytes_u64_at(block, BLOCK_WORDS + 8 * i);

			for (; bits != 0 && found < count; bits &= bits - 1, found++)
				result[found] =
					(RubyLine){ first + 64 * i + (uint32_t) __builtin_ctzll(bits), lines[found] };
		}
		block += BLOCK_BYTES;
	}
	return found;
}

int32_t
ruby_line(const RubyLine *lines, size_t count, uint32_t position)
{
	size_t low = 0;
	size_t high = count;

	while (low < high)
	{
		size_t middle = low + (high - low) / 2;

		if (lines[middle].position <= position)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && lines[low - 1].line > 0 ? lines[low - 1].line : 0;
}
