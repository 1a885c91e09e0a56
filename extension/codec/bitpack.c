/*
 * bitpack.c
 *		Bit-packing. The layouts are drawn in bitpack.h.
 *
 * All lanes of a row share word and shift, so the inner loops have no condition in them and
 * vectorise; a template per width, as published codecs have, would gain little over that for 64
 * times the code.
 */
#include "codec/bitpack.h"

#include <string.h>

#include "codec/bytes.h"
#include "codec/clones.h"

#define LANES_32 32 /* lanes of 32-bit words */
#define LANES_64 16 /* lanes of 64-bit words */

/* four numbers of this width, after up to 7 bits of the number before, fit into a word */
#define MOST_NARROW_BITS 14

size_t
pfs_bitpack_size(uint32_t count, unsigned width)
{
	return ((size_t) count * width + 7) / 8;
}

/*
 * Packs a block into lanes of 32-bit words: value i is in lane i % LANES_32, so all lanes are
 * packed at once.
 */
static void
pack_lanes_32(const uint64_t *values, unsigned width, uint8_t *bytes)
{
	memset(bytes, 0, pfs_bitpack_size(PFS_BLOCK_ROWS, width));
	for (unsigned row = 0; row < PFS_BLOCK_ROWS / LANES_32; row++, values += LANES_32)
	{
		unsigned shift = row * width % 32;
		uint8_t *words = bytes + (size_t) (row * width / 32) * LANES_32 * 4;

		for (unsigned lane = 0; lane < LANES_32; lane++)
		{
			uint8_t *word = words + lane * 4;

			/*
			 * The word is zero above the shift: each value fills the bits that earlier rows left
			 * free.
			 */
			pfs_store32(word, pfs_load32(word) | (uint32_t) values[lane] << shift);
			/*
			 * Store the bits that do not fit in the lane's next word. Here shift > 0, because width
			 * <= 32. The last row ends exactly at a word's end, so the lane always has that next
			 * word.
			 */
			if (shift + width > 32)
				pfs_store32(word + LANES_32 * 4, (uint32_t) (values[lane] >> (32 - shift)));
		}
	}
}

static void
pack_lanes_64(const uint64_t *values, unsigned width, uint8_t *bytes)
{
	memset(bytes, 0, pfs_bitpack_size(PFS_BLOCK_ROWS, width));
	for (unsigned row = 0; row < PFS_BLOCK_ROWS / LANES_64; row++, values += LANES_64)
	{
		unsigned shift = row * width % 64;
		uint8_t *words = bytes + (size_t) (row * width / 64) * LANES_64 * 8;

		for (unsigned lane = 0; lane < LANES_64; lane++)
		{
			uint8_t *word = words + lane * 8;

			/*
			 * The word is zero above the shift: each value fills the bits that earlier rows left
			 * free.
			 */
			pfs_store64(word, pfs_load64(word) | values[lane] << shift);
			/*
			 * Here shift > 0, because width <= 64. The last row ends exactly at a word's end, so
			 * nothing is written past the block.
			 */
			if (shift + width > 64)
				pfs_store64(word + LANES_64 * 8, values[lane] >> (64 - shift));
		}
	}
}

/* Packs values one after another, without lanes and without padding to whole words. */
static void
pack_stream(const uint64_t *values, uint32_t count, unsigned width, uint8_t *bytes)
{
	uint64_t word = 0;
	unsigned used = 0; /* bits of the word */

	for (uint32_t i = 0; i < count; i++)
	{
		word |= values[i] << used;
		used += width;
		if (used >= 64)
		{
			pfs_store64(bytes, word);
			bytes += 8;
			used -= 64;
			/*
			 * If used is 0, the shift could be 64 bits, which C does not define; no bit is left
			 * over then.
			 */
			word = used == 0 ? 0 : values[i] >> (width - used);
		}
	}
	/*
	 * The last word is written byte by byte: the caller has room for pfs_bitpack_size() bytes only.
	 */
	for (unsigned bit = 0; bit < used; bit += 8)
		*bytes++ = (uint8_t) (word >> bit);
}

void
pfs_bitpack(const uint64_t *values, uint32_t count, unsigned width, uint8_t *bytes)
{
	if (width == 0)
		return;
	if (count != PFS_BLOCK_ROWS)
		pack_stream(values, count, width, bytes);
	else if (width <= 32)
		pack_lanes_32(values, width, bytes);
	else
		pack_lanes_64(values, width, bytes);
}

PFS_CLONES static void
unpack_lanes_32(const uint8_t *bytes, unsigned width, uint64_t *values)
{
	uint32_t mask = (uint32_t) pfs_bit_mask(width);

	for (unsigned row = 0; row < PFS_BLOCK_ROWS / LANES_32; row++, values += LANES_32)
	{
		unsigned shift = row * width % 32;
		const uint8_t *low = bytes + (size_t) (row * width / 32) * LANES_32 * 4;
		const uint8_t *high = low + LANES_32 * 4;

		/*
		 * The condition does not depend on the lane, so it stands outside the loops. In the second
		 * loop shift > 0, so no shift by 32 bits occurs.
		 */
		if (shift + width <= 32)
			for (unsigned lane = 0; lane < LANES_32; lane++)
				values[lane] = pfs_load32(low + lane * 4) >> shift & mask;
		else
			for (unsigned lane = 0; lane < LANES_32; lane++)
				values[lane] = (pfs_load32(low + lane * 4) >> shift | pfs_load32(high + lane * 4)
																		  << (32 - shift)) &
							   mask;
	}
}

PFS_CLONES static void
unpack_lanes_64(const uint8_t *bytes, unsigned width, uint64_t *values)
{
	uint64_t mask = pfs_bit_mask(width);

	for (unsigned row = 0; row < PFS_BLOCK_ROWS / LANES_64; row++, values += LANES_64)
	{
		unsigned shift = row * width % 64;
		const uint8_t *low = bytes + (size_t) (row * width / 64) * LANES_64 * 8;
		const uint8_t *high = low + LANES_64 * 8;

		/*
		 * The condition does not depend on the lane, so it stands outside the loops. In the second
		 * loop shift > 0, so no shift by 64 bits occurs.
		 */
		if (shift + width <= 64)
			for (unsigned lane = 0; lane < LANES_64; lane++)
				values[lane] = pfs_load64(low + lane * 8) >> shift & mask;
		else
			for (unsigned lane = 0; lane < LANES_64; lane++)
				values[lane] = (pfs_load64(low + lane * 8) >> shift | pfs_load64(high + lane * 8)
																		  << (64 - shift)) &
							   mask;
	}
}

/* Reads the value at a bit position byte by byte, so as not to read past the end. */
static uint64_t
careful_value(const uint8_t *bytes, size_t length, size_t bit, unsigned width)
{
	unsigned shift = (unsigned) (bit % 8);
	uint64_t value = 0;

	for (size_t i = 0; i < 8 && bit / 8 + i < length; i++)
		value |= (uint64_t) bytes[bit / 8 + i] << (8 * i);
	value >>= shift;
	if (shift + width > 64)
		/* The ninth byte exists, because the value's last bits lie in it. */
		value |= (uint64_t) bytes[bit / 8 + 8] << (64 - shift);
	return value & pfs_bit_mask(width);
}

/*
 * Unpacks values eight at a time, as long as whole words can be loaded. Eight values begin at a
 * byte boundary: four of them lie in the word loaded there, four in a word loaded at their middle.
 * Returns the number of unpacked values.
 */
PFS_CLONES static uint32_t
unpack_narrow(const uint8_t *bytes, uint32_t count, unsigned width, uint64_t *values)
{
	size_t length = pfs_bitpack_size(count, width);
	uint64_t mask = pfs_bit_mask(width);
	unsigned middle = 4 * width;
	uint32_t i = 0;

	/* Eight values of width bits take width bytes, so offset advances by width. */
	for (size_t offset = 0; i + 8 <= count && offset + middle / 8 + 8 <= length;
		 i += 8, offset += width, values += 8)
	{
		uint64_t low = pfs_load64(bytes + offset);
		uint64_t high = pfs_load64(bytes + offset + middle / 8) >> middle % 8;

		for (unsigned lane = 0; lane < 4; lane++)
			values[lane] = low >> lane * width & mask;
		for (unsigned lane = 0; lane < 4; lane++)
			values[4 + lane] = high >> lane * width & mask;
	}
	return i;
}

static void
unpack_stream(const uint8_t *bytes, uint32_t count, unsigned width, uint64_t *values)
{
	size_t length = pfs_bitpack_size(count, width);
	uint64_t mask = pfs_bit_mask(width);
	uint32_t i = 0;

	if (width <= MOST_NARROW_BITS)
		i = unpack_narrow(bytes, count, width, values);
	/* eight bytes hold 57 bits at any bit offset, if there are eight bytes */
	if (width <= 57)
		for (size_t bit = (size_t) i * width; i < count && bit / 8 + 8 <= length; i++, bit += width)
			values[i] = pfs_load64(bytes + bit / 8) >> bit % 8 & mask;
	/* Values wider than 57 bits and values in the last seven bytes are read byte by byte. */
	for (; i < count; i++)
		values[i] = careful_value(bytes, length, (size_t) i * width, width);
}

void
pfs_bitunpack(const uint8_t *bytes, uint32_t count, unsigned width, uint64_t *values)
{
	if (width == 0)
		memset(values, 0, count * sizeof(*values));
	else if (count != PFS_BLOCK_ROWS)
		unpack_stream(bytes, count, width, values);
	else if (width <= 32)
		unpack_lanes_32(bytes, width, values);
	else
		unpack_lanes_64(bytes, width, values);
}
