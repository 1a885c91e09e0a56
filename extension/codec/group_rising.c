/*
 * group_rising.c
 *		RISING: k numbers that rise within a range, stored as k symbols or as a bitmap,
 *		whichever is shorter.
 *
 * Most groups are short, and a mispredicted branch costs as much as decoding five rows. So short
 * groups share one array of symbols of one width, from which several rows are copied at a time.
 */
#include "codec/group_bits.h"

#include <string.h>

#include "codec/bits.h"

#define MODE_SYMBOLS 0xff /* rows are symbols with the range's bits */
/* one bit for each number of the range; smaller modes: number of low bits stored apart */
#define MODE_BITMAP	 0xfe

#define COPY_VALUES 8

_Static_assert(COPY_VALUES <= PFS_GROUP_SLACK_VALUES, "copies may write past the last row");

/*
 * Chooses a mode for each number of rows: symbols, a bitmap of W bits, or upper bits in unary with
 * low bits apart. It must give the same result in every build, because the mode is not stored.
 */
static void
plan_rising(PfsRisingPlan *plan, uint64_t range)
{
	/* W of segment_format.h, the count of possible numbers. */
	uint32_t most = (uint32_t) range + 1;
	uint32_t width = pfs_bit_width(range);

	plan->range = range;
	memset(plan->modes, MODE_BITMAP, sizeof(plan->modes));
	/*
	 * Of W possible numbers at most W rise, so longer groups cannot occur. Their mode stays
	 * MODE_BITMAP, for which rising_restore() refuses them.
	 */
	plan->most_rows = most < PFS_BLOCK_ROWS ? most : PFS_BLOCK_ROWS;
	for (uint32_t rows = 1; rows <= plan->most_rows; rows++)
	{
		uint32_t low = pfs_bit_width(most / rows) - 1;
		/*
		 * For each number its low bits and a set bit, and for each possible upper part a clear bit.
		 */
		uint32_t apart = rows * (low + 1) + (uint32_t) (range >> low);
		uint32_t best = most < apart ? most : apart;

		/* Symbols may take 16/15 of the shorter one's bits, because they decode fastest. */
		if (rows * width * 15 <= best * 16)
			plan->modes[rows] = MODE_SYMBOLS;
		else
			plan->modes[rows] = most <= apart ? MODE_BITMAP : (uint8_t) low;
		plan->bits[rows] = (uint16_t) best;
	}
}

static bool
is_rising(const uint64_t *units, const PfsBlockGroups *groups)
{
	for (uint32_t group = 0; group < groups->count; group++)
	{
		uint32_t rows = (uint32_t) groups->lengths[group] + 1;

		for (uint32_t i = 1; i < rows; i++)
			/* Equal neighbours do not count as rising: a bitmap cannot store a number twice. */
			if (units[i] <= units[i - 1])
				return false;
		units += rows;
	}
	return true;
}

/* Writes a group's bits from bit on, and returns their number. */
static uint32_t
pack_rising(const uint64_t *units, uint32_t rows, uint64_t range, uint8_t mode, uint8_t *bytes,
			uint32_t bit)
{
	/* mode % 64 only keeps the shift defined for MODE_BITMAP, which does not use the result. */
	uint32_t high_bits = rows + (uint32_t) (range >> mode % 64);

	if (mode == MODE_BITMAP)
	{
		for (uint32_t i = 0; i < rows; i++)
			pfs_store_bits(bytes, bit + (uint32_t) units[i], 1);
		return (uint32_t) range + 1;
	}
	for (uint32_t i = 0; i < rows; i++)
	{
		/*
		 * i set bits lie before this one, so positions differ even for numbers with equal upper
		 * parts.
		 */
		pfs_store_bits(bytes, bit + (uint32_t) (units[i] >> mode) + i, 1);
		pfs_store_bits(bytes, bit + high_bits + i * mode, units[i] & pfs_bit_mask(mode));
	}
	return high_bits + rows * mode;
}

bool
pfs_rising_draft(const uint64_t *units, const PfsBlockGroups *groups, PfsBlockDraft *draft)
{
	PfsBlockShape *shape = &draft->shape;
	uint8_t range_bits = (uint8_t) pfs_bit_width(shape->range);
	PfsRisingPlan plan;
	uint32_t bits = 0;

	if (groups->has_value_each || shape->range > PFS_RISING_MAX_RANGE || !is_rising(units, groups))
		return false;
	plan_rising(&plan, shape->range);
	memset(draft->group_bits, 0, sizeof(draft->group_bits));
	shape->transform = PFS_TRANSFORM_RISING;
	shape->symbols = (PfsArrayShape){ 0, 0, range_bits, range_bits, 0 };
	for (uint32_t group = 0; group < groups->count; group++)
	{
		uint32_t rows = (uint32_t) groups->lengths[group] + 1;
		uint8_t mode = plan.modes[rows];

		/* The number of rows alone decides the mode, so the decoder needs no flag per group. */
		if (mode != MODE_SYMBOLS)
			bits += pack_rising(units, rows, shape->range, mode, draft->group_bits, bits);
		else
			for (uint32_t i = 0; i < rows; i++)
				draft->symbols[shape->symbols.count++] = units[i];
		units += rows;
	}
	shape->group_bytes = pfs_bytes_of_bits(bits);
	return true;
}

/*
 * Reads the positions of the set bits among bits bits, and for each its low bits, if low is not 0.
 * Returns false unless exactly rows bits are set.
 */
static inline __attribute__((always_inline)) bool
rising_unpack_places(const uint8_t *bytes, uint32_t bit, uint32_t bits, uint32_t rows, unsigned low,
					 uint64_t *units)
{
	uint64_t mask = pfs_bit_mask(low);
	uint32_t low_bit = bit + bits;
	uint32_t row = 0;

	for (uint32_t start = 0; start < bits; start += PFS_WORD_BITS)
	{
		uint32_t left = bits - start;
		uint64_t word = pfs_load_word(bytes, bit + start);

		/* the last word may contain bits of the next field */
		if (left < PFS_WORD_BITS)
			word &= pfs_bit_mask(left);
		for (; word != 0; word &= word - 1, row++)
		{
			uint32_t place = start + (uint32_t) __builtin_ctzll(word);

			/* A set bit too many: the bits are corrupt, and units[] has no more room. */
			if (row == rows)
				return false;
			if (low == 0)
				units[row] = place;
			else
			{
				/* position minus row is the upper part: each number before added one set bit */
				units[row] =
					(uint64_t) (place - row) << low | (pfs_load_bits(bytes, low_bit) & mask);
				low_bit += low;
			}
		}
	}
	return row == rows;
}

/*
 * Reads a group's bits. Returns false unless exactly rows bits are set. In a bitmap the positions
 * are the numbers themselves.
 */
static inline bool
unpack_rising(const uint8_t *bytes, uint32_t bit, uint32_t rows, uint64_t range, uint8_t mode,
			  uint64_t *units)
{
	unsigned low = mode == MODE_BITMAP ? 0 : mode;
	uint32_t bits = mode == MODE_BITMAP ? (uint32_t) range + 1 : rows + (uint32_t) (range >> low);

	if (low > 0)
		return rising_unpack_places(bytes, bit, bits, rows, low, units);
	if (!rising_unpack_places(bytes, bit, bits, rows, 0, units))
		return false;
	/* mode 0 has no low bits: the upper part, in unary, is the whole number */
	for (uint32_t row = 0; mode == 0 && row < rows; row++)
		/* A number's place is its value plus the set bits before it. */
		units[row] -= row;
	return true;
}

/*
 * Lists the groups that are not stored as symbols, and returns the rows of all others. The loop
 * stores every group and advances only past those that count, because a branch would cost more.
 */
static inline __attribute__((always_inline)) uint32_t
list_apart(const PfsBlockGroups *groups, const bool *wanted, const PfsRisingPlan *plan,
		   PfsGroupList *list)
{
	uint32_t count = 0;
	uint32_t rows_apart = 0;
	uint32_t row = 0;

	for (uint32_t group = 0; group < groups->count; group++)
	{
		uint32_t rows = (uint32_t) groups->lengths[group] + 1;
		bool is_apart = plan->modes[rows] != MODE_SYMBOLS;

		list->rows[count] = (uint16_t) rows;
		list->starts[count] = (uint16_t) row;
		if (wanted != NULL)
			list->wanted[count] = wanted[group];
		count += is_apart;
		rows_apart += is_apart ? rows : 0;
		row += rows;
	}
	list->starts[count] = (uint16_t) row;
	list->count = count;
	return row - rows_apart;
}

/* Restores the wanted groups. Compiled twice: if wanted is NULL, the compiler removes its check. */
static inline __attribute__((always_inline)) bool
rising_restore(const PfsBlockShape *shape, const PfsBlockGroups *groups, const bool *wanted,
			   const uint64_t *symbols, const uint8_t *group_bits, const PfsRisingPlan *plan,
			   uint64_t *units)
{
	PfsGroupList apart;
	uint32_t row = 0; /* next row to fill; after the last group that has bits */
	uint32_t bit = 0;

	/*
	 * The rows stored as symbols must be as many as there are symbols, so that copies stay within
	 * them.
	 */
	if (list_apart(groups, wanted, plan, &apart) != shape->symbols.count)
		return false;
	for (uint32_t i = 0; i <= apart.count; i++)
	{
		uint32_t start = apart.starts[i];
		uint32_t rows = apart.rows[i];

		/*
		 * copy the symbols of the groups before this one; the surplus is overwritten by this group
		 */
		for (; row < start; row += COPY_VALUES, symbols += COPY_VALUES)
			memcpy(units + row, symbols, COPY_VALUES * sizeof(*units));
		/*
		 * The last copy took up to COPY_VALUES - 1 symbols too many, which belong to later groups.
		 */
		symbols -= row - start;
		if (i == apart.count)
			break;
		row = start + rows;
		if (rows > plan->most_rows)
			return false;
		if ((wanted == NULL || apart.wanted[i]) &&
			!unpack_rising(group_bits, bit, rows, shape->range, plan->modes[rows], units + start))
			return false;
		/* a group that is not wanted still takes its bits */
		bit += plan->bits[rows];
	}
	return pfs_bytes_of_bits(bit) == shape->group_bytes;
}

bool
pfs_rising_restore(const PfsBlockShape *shape, const PfsBlockGroups *groups,
				   const uint64_t *symbols, const uint8_t *group_bits, PfsRisingPlan *plan,
				   uint64_t *units)
{
	/*
	 * Blocks of one column often have the same range; planning takes longer than restoring a block.
	 */
	if (plan->range != shape->range)
		plan_rising(plan, shape->range);
	if (groups->wanted == NULL)
		return rising_restore(shape, groups, NULL, symbols, group_bits, plan, units);
	return rising_restore(shape, groups, groups->wanted, symbols, group_bits, plan, units);
}
