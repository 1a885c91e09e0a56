/*
 * group_parted.c
 *		PARTED: how the rows of a group divide its sum, as low bits and runs of zeros (a Rice
 *		code).
 */
#include "codec/group_bits.h"

#include <string.h>

#include "codec/bits.h"

/*
 * Returns the number of low bits of each q that are stored apart, chosen from the mean q of the
 * group.
 */
static inline unsigned
low_bits_of(uint64_t sum, uint32_t rows)
{
	/* With low bits near the mean, the part in unary is 1 or 2 zeros for most rows. */
	return sum < 2 * (uint64_t) rows ? 0 : pfs_bit_width(sum / rows) - 1;
}

/*
 * Writes a group's bits from bit on, and returns their number. The last row is left out: it is the
 * sum minus the others.
 */
static uint32_t
pack_parts(const uint64_t *units, uint32_t rows, uint64_t sum, uint8_t *bytes, uint32_t bit)
{
	unsigned low = low_bits_of(sum, rows);
	uint32_t next = (rows - 1) * low;

	for (uint32_t i = 0; i + 1 < rows; i++)
	{
		/*
		 * The low bits of all rows come first, then all the unary parts, so that each can be read
		 * without knowing the lengths of the other.
		 */
		pfs_store_bits(bytes, bit + i * low, units[i] & pfs_bit_mask(low));
		next += (uint32_t) (units[i] >> low);
		pfs_store_bits(bytes, bit + next++, 1);
	}
	return next;
}

bool
pfs_parted_draft(const uint64_t *units, const PfsBlockGroups *groups, PfsBlockDraft *draft)
{
	PfsBlockShape *shape = &draft->shape;
	/*
	 * The draft's units are relative to the block, those of the groups to the column. The column's
	 * unit divides every block's divisor and every distance from the column's least value.
	 */
	uint64_t scale = shape->divisor / groups->unit;
	uint64_t offset = ((uint64_t) shape->least - (uint64_t) groups->least) / groups->unit;
	uint32_t bits = 0;

	if (groups->has_value_each || offset > PFS_PARTED_MAX_RANGE ||
		shape->range > (PFS_PARTED_MAX_RANGE - offset) / scale)
		return false;
	/* pfs_store_bits() adds bits to zeros. */
	memset(draft->group_bits, 0, sizeof(draft->group_bits));
	shape->transform = PFS_TRANSFORM_PARTED;
	shape->symbols = (PfsArrayShape){ 0 };
	shape->least = groups->least;
	shape->divisor = groups->unit;
	shape->range = offset + shape->range * scale;
	for (uint32_t group = 0; group < groups->count; group++)
	{
		uint32_t rows = (uint32_t) groups->lengths[group] + 1;
		uint64_t parts[PFS_BLOCK_ROWS];

		for (uint32_t i = 0; i < rows; i++)
			parts[i] = offset + units[i] * scale;
		/* If the sum is 0, all rows are 0: units are not negative. */
		if (groups->sums[group] != 0)
			bits +=
				pack_parts(parts, rows, (uint64_t) groups->sums[group], draft->group_bits, bits);
		units += rows;
	}
	shape->group_bytes = pfs_bytes_of_bits(bits);
	return true;
}

/*
 * Reads the q of count rows, and moves *bit past them. *total is their sum. Returns false if they
 * exceed end.
 */
static inline __attribute__((always_inline)) bool
unpack_parts(const uint8_t *bytes, uint32_t *bit, uint32_t end, uint32_t count, unsigned low,
			 uint64_t *units, uint64_t *total)
{
	uint64_t mask = pfs_bit_mask(low);
	uint32_t low_bit = *bit;
	uint32_t high_bit = low_bit + count * low;
	uint32_t next = 0; /* one past the last set bit read */
	uint32_t row = 0;
	uint64_t low_total = 0;

	for (uint32_t start = 0; row < count; start += PFS_WORD_BITS)
	{
		uint64_t word;

		/* end bounds the stored bits, so a group without enough set bits cannot read past them. */
		if (high_bit + start >= end)
			return false;
		for (word = pfs_load_word(bytes, high_bit + start); word != 0 && row < count;
			 word &= word - 1, row++)
		{
			/* place - next is the number of zeros before this set bit. */
			uint32_t place = start + (uint32_t) __builtin_ctzll(word);
			uint64_t low_part = low == 0 ? 0 : pfs_load_bits(bytes, low_bit) & mask;

			units[row] = (uint64_t) (place - next) << low | low_part;
			low_total += low_part;
			low_bit += low;
			next = place + 1;
		}
	}
	/* next - count zeros were read, each worth 2^low */
	*total = ((uint64_t) (next - count) << low) + low_total;
	*bit = high_bit + next;
	return true;
}

/* Moves *bit past the parts of count rows. Returns false if they exceed end. */
static inline bool
skip_parts(const uint8_t *bytes, uint32_t *bit, uint32_t end, uint32_t count, unsigned low)
{
	uint32_t at = *bit + count * low;

	for (uint32_t left = count; left > 0; at += PFS_WORD_BITS)
	{
		uint64_t word;
		uint32_t ones;

		if (at >= end)
			return false;
		word = pfs_load_word(bytes, at);
		ones = (uint32_t) __builtin_popcountll(word);
		if (ones < left)
		{
			left -= ones;
			continue;
		}
		/* the last set bit that is wanted lies in this word: clear the set bits before it */
		while (--left > 0)
			word &= word - 1;
		at += (uint32_t) __builtin_ctzll(word) + 1;
		break;
	}
	*bit = at;
	return true;
}

/* Restores the rows of a group. Returns false if the bits exceed its sum. */
static inline bool
restore_group(const uint8_t *bytes, uint32_t *bit, uint32_t end, uint32_t rows, uint64_t sum,
			  uint64_t *units)
{
	unsigned low = low_bits_of(sum, rows);
	uint64_t total;

	/* a literal 0 makes the compiler build a loop without low bits */
	if (low == 0 ? !unpack_parts(bytes, bit, end, rows - 1, 0, units, &total)
				 : !unpack_parts(bytes, bit, end, rows - 1, low, units, &total))
		return false;
	/* If the rows exceed the sum, this wraps; the result is then not used. */
	units[rows - 1] = sum - total;
	return total <= sum;
}

/* Restores the wanted groups. Compiled twice: if wanted is NULL, the compiler removes its check. */
static inline __attribute__((always_inline)) bool
parted_restore(const PfsBlockShape *shape, const PfsBlockGroups *groups, const bool *wanted,
			   const uint8_t *group_bits, uint64_t *units)
{
	uint16_t parted[PFS_BLOCK_ROWS]; /* groups with a sum other than 0, and the first row of each */
	uint16_t starts[PFS_BLOCK_ROWS];
	bool is_wanted[PFS_BLOCK_ROWS];
	uint32_t parted_count = 0;
	uint32_t row = 0;
	uint32_t bit = 0;

	for (uint32_t group = 0; group < groups->count; group++)
	{
		/* Always store, and advance only for groups with bits: a branch would be mispredicted. */
		parted[parted_count] = (uint16_t) group;
		starts[parted_count] = (uint16_t) row;
		if (wanted != NULL)
			is_wanted[parted_count] = wanted[group];
		parted_count += groups->sums[group] != 0;
		row += (uint32_t) groups->lengths[group] + 1;
	}
	/* groups with sum 0 have no bits: all their rows are 0 */
	memset(units, 0, row * sizeof(*units));
	for (uint32_t i = 0; i < parted_count; i++)
	{
		uint32_t rows = (uint32_t) groups->lengths[parted[i]] + 1;
		uint64_t sum = (uint64_t) groups->sums[parted[i]];
		uint32_t end = shape->group_bytes * 8;

		/* a greater sum cannot come from rows within the range */
		if (sum > rows * shape->range ||
			!(wanted == NULL || is_wanted[i]
				  ? restore_group(group_bits, &bit, end, rows, sum, units + starts[i])
				  : skip_parts(group_bits, &bit, end, rows - 1, low_bits_of(sum, rows))))
			return false;
	}
	/* Bits that were stored for other groups or sums mostly have another length. */
	return pfs_bytes_of_bits(bit) == shape->group_bytes;
}

bool
pfs_parted_restore(const PfsBlockShape *shape, const PfsBlockGroups *groups,
				   const uint8_t *group_bits, uint64_t *units)
{
	return groups->wanted == NULL
			   ? parted_restore(shape, groups, NULL, group_bits, units)
			   : parted_restore(shape, groups, groups->wanted, group_bits, units);
}
