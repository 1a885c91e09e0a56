/*
 * patched.c
 *		Bit-packed arrays with patches.
 */
#include "codec/patched.h"

#include "codec/bitpack.h"
#include "codec/bytes.h"

/*
 * Returns the width, in bits, of the widest gap between numbers that exceed the kept bits. Sets
 * *patch_count to the number of these numbers.
 */
static unsigned
measure_gaps(const uint64_t *numbers, uint32_t count, unsigned kept_bits, uint32_t *patch_count)
{
	uint32_t next = 0; /* first position that the next patch may have */
	uint32_t widest = 0;

	*patch_count = 0;
	for (uint32_t i = 0; i < count; i++)
	{
		if (numbers[i] >> kept_bits == 0)
			continue;
		widest = i - next > widest ? i - next : widest;
		next = i + 1;
		(*patch_count)++;
	}
	return pfs_bit_width(widest);
}

PfsArrayShape
pfs_array_plan(const uint64_t *numbers, uint32_t count, unsigned bits)
{
	PfsArrayShape best = { count, 0, (uint8_t) bits, (uint8_t) bits, 0 };
	uint32_t counts[2][65] = {
		{ 0 }
	}; /* numbers by width, in two arrays, because an increment waits for the last one */
	uint64_t best_cost = (uint64_t) count * bits;
	uint32_t wider = 0;

	for (uint32_t i = 0; i < count; i++)
		counts[i % 2][pfs_bit_width(numbers[i])]++;
	/*
	 * From wide to narrow, wider grows by the numbers that have exactly one bit more than is kept.
	 */
	for (unsigned kept_bits = bits; kept_bits-- > 0;)
	{
		uint64_t cost;

		wider += counts[0][kept_bits + 1] + counts[1][kept_bits + 1];
		/*
		 * If no number is wider, nothing would be patched. An entry without patches does not store
		 * kept_bits: the reader takes bits instead.
		 */
		if (wider == 0)
			continue;
		/*
		 * the widest gap is not known yet: take twice the mean; 24 bits are the entry's three
		 * fields
		 */
		cost = (uint64_t) count * kept_bits + 24 +
			   (uint64_t) wider * (bits - kept_bits + pfs_bit_width(2 * count / wider));
		if (cost < best_cost)
		{
			best_cost = cost;
			best.kept_bits = (uint8_t) kept_bits;
		}
	}
	if (best.kept_bits < bits)
	{
		best.gap_bits = (uint8_t) measure_gaps(numbers, count, best.kept_bits, &best.patch_count);
		/*
		 * The exact size, with the widest gap, may exceed the estimate, and each of the three
		 * arrays is rounded up to whole bytes.
		 */
		if (pfs_array_size(&best) >= pfs_bitpack_size(count, bits))
			best = (PfsArrayShape){ count, 0, (uint8_t) bits, (uint8_t) bits, 0 };
	}
	return best;
}

size_t
pfs_array_size(const PfsArrayShape *shape)
{
	return pfs_bitpack_size(shape->count, shape->kept_bits) +
		   pfs_bitpack_size(shape->patch_count, shape->gap_bits) +
		   pfs_bitpack_size(shape->patch_count, (unsigned) shape->bits - shape->kept_bits);
}

void
pfs_array_pack(const uint64_t *numbers, const PfsArrayShape *shape, uint8_t *bytes)
{
	uint64_t kept[PFS_BLOCK_ROWS];
	uint64_t gaps[PFS_BLOCK_ROWS];
	uint64_t tops[PFS_BLOCK_ROWS];
	uint32_t next = 0;
	uint32_t patch = 0;

	if (shape->patch_count == 0)
	{
		pfs_bitpack(numbers, shape->count, shape->kept_bits, bytes);
		return;
	}
	for (uint32_t i = 0; i < shape->count; i++)
	{
		uint64_t top = numbers[i] >> shape->kept_bits;

		/* A top of 0 means that the number fits in the kept bits. */
		kept[i] = numbers[i] - (top << shape->kept_bits);
		if (top == 0)
			continue;
		gaps[patch] = i - next;
		tops[patch++] = top;
		next = i + 1;
	}
	pfs_bitpack(kept, shape->count, shape->kept_bits, bytes);
	bytes += pfs_bitpack_size(shape->count, shape->kept_bits);
	pfs_bitpack(gaps, patch, shape->gap_bits, bytes);
	bytes += pfs_bitpack_size(patch, shape->gap_bits);
	pfs_bitpack(tops, patch, (unsigned) shape->bits - shape->kept_bits, bytes);
}

bool
pfs_array_unpack(const uint8_t *bytes, const PfsArrayShape *shape, uint64_t *numbers)
{
	uint64_t gaps[PFS_BLOCK_ROWS];
	uint64_t tops[PFS_BLOCK_ROWS];
	uint32_t patch_count = shape->patch_count;
	uint64_t position = 0;

	pfs_bitunpack(bytes, shape->count, shape->kept_bits, numbers);
	if (patch_count == 0)
		return true;
	bytes += pfs_bitpack_size(shape->count, shape->kept_bits);
	pfs_bitunpack(bytes, patch_count, shape->gap_bits, gaps);
	bytes += pfs_bitpack_size(patch_count, shape->gap_bits);
	pfs_bitunpack(bytes, patch_count, (unsigned) shape->bits - shape->kept_bits, tops);
	for (uint32_t patch = 0; patch < patch_count; patch++)
	{
		/*
		 * Gaps are stored bytes: position is 64 bits wide so that it cannot wrap, and is checked
		 * before use.
		 */
		position += gaps[patch];
		if (position >= shape->count)
			return false;
		numbers[position++] |= tops[patch] << shape->kept_bits;
	}
	return true;
}
