/*
 * group_bits.c
 *		Times and values of grouped rows as bits.
 *
 * Most groups are short, and a branch that the processor cannot foretell costs as much as decoding
 * five rows: short groups share an array of one width, from which rows are copied several at a
 * time.
 */
#include "codec/group_bits.h"

#include <string.h>

#define MODE_SYMBOLS 0xff /* rows are symbols of the range's width */
#define MODE_BITMAP	 0xfe /* a bit for each number of the range; any less: low bits of q apart */

#define COPY_VALUES 8
#define WORD_BITS	64
#define PATCH_BITS	9 /* what the place of a patched number takes, about */

_Static_assert(COPY_VALUES <= PFS_GROUP_SLACK_VALUES, "copies may write past the last row");

/* At least 57 bits from a position on; reads eight bytes. */
static inline uint64_t
load_bits(const uint8_t *bytes, uint32_t bit)
{
	return pfs_load64(bytes + bit / 8) >> bit % 8;
}

/* WORD_BITS bits from a position on; reads nine bytes. */
static inline uint64_t
load_word(const uint8_t *bytes, uint32_t bit)
{
	return load_bits(bytes, bit) | (uint64_t) bytes[bit / 8 + 8] << 1 << (63 - bit % 8);
}

/* Sets up to 57 bits that are zero as yet. */
static inline void
store_bits(uint8_t *bytes, uint32_t bit, uint64_t value)
{
	pfs_store64(bytes + bit / 8, pfs_load64(bytes + bit / 8) | value << bit % 8);
}

/* Groups of a block that are not like most, and where their rows begin. */
typedef struct GroupList
{
	uint32_t count;
	uint16_t rows[PFS_BLOCK_ROWS + 1];
	uint16_t starts[PFS_BLOCK_ROWS + 1]; /* and the end of the last group */
} GroupList;

static inline uint32_t
bytes_of_bits(uint32_t bits)
{
	return (bits + 7) / 8;
}

static void
plan_rising(PfsRisingPlan *plan, uint64_t range)
{
	uint32_t most = (uint32_t) range + 1;
	uint32_t width = pfs_bit_width(range);

	plan->range = range;
	memset(plan->modes, MODE_BITMAP, sizeof(plan->modes));
	plan->most_rows = most < PFS_BLOCK_ROWS ? most : PFS_BLOCK_ROWS;
	for (uint32_t rows = 1; rows <= plan->most_rows; rows++)
	{
		uint32_t low = pfs_bit_width(most / rows) - 1;
		uint32_t apart = rows * (low + 1) + (uint32_t) (range >> low);
		uint32_t best = most < apart ? most : apart;

		if (rows * width * 15 <= best * 16)
			plan->modes[rows] = MODE_SYMBOLS;
		else
			plan->modes[rows] = most <= apart ? MODE_BITMAP : (uint8_t) low;
	}
}

static bool
is_rising(const uint64_t *units, const PfsBlockGroups *groups)
{
	for (uint32_t group = 0; group < groups->count; group++)
	{
		uint32_t rows = (uint32_t) groups->lengths[group] + 1;

		for (uint32_t i = 1; i < rows; i++)
			if (units[i] <= units[i - 1])
				return false;
		units += rows;
	}
	return true;
}

/* Writes a group's bits, and returns how many. */
static uint32_t
pack_rising(const uint64_t *units, uint32_t rows, uint64_t range, uint8_t mode, uint8_t *bytes,
			uint32_t bit)
{
	uint32_t high_bits = rows + (uint32_t) (range >> mode % 64);

	if (mode == MODE_BITMAP)
	{
		for (uint32_t i = 0; i < rows; i++)
			store_bits(bytes, bit + (uint32_t) units[i], 1);
		return (uint32_t) range + 1;
	}
	for (uint32_t i = 0; i < rows; i++)
	{
		store_bits(bytes, bit + (uint32_t) (units[i] >> mode) + i, 1);
		store_bits(bytes, bit + high_bits + i * mode, units[i] & pfs_bit_mask(mode));
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

		if (mode != MODE_SYMBOLS)
			bits += pack_rising(units, rows, shape->range, mode, draft->group_bits, bits);
		else
			for (uint32_t i = 0; i < rows; i++)
				draft->symbols[shape->symbols.count++] = units[i];
		units += rows;
	}
	shape->group_bytes = bytes_of_bits(bits);
	return true;
}

/*
 * Reads the places of the bits that are set among so many, and of each its low bits, if there are
 * any; false where not just `rows` bits are set.
 */
static inline __attribute__((always_inline)) bool
unpack_places(const uint8_t *bytes, uint32_t bit, uint32_t bits, uint32_t rows, unsigned low,
			  uint64_t *units)
{
	uint64_t mask = pfs_bit_mask(low);
	uint32_t low_bit = bit + bits;
	uint32_t row = 0;

	for (uint32_t start = 0; start < bits; start += WORD_BITS)
	{
		uint32_t left = bits - start;
		uint64_t word = load_word(bytes, bit + start);

		if (left < WORD_BITS)
			word &= pfs_bit_mask(left);
		for (; word != 0; word &= word - 1, row++)
		{
			uint32_t place = start + (uint32_t) __builtin_ctzll(word);

			if (row == rows)
				return false;
			if (low == 0)
				units[row] = place;
			else
			{
				units[row] = (uint64_t) (place - row) << low | (load_bits(bytes, low_bit) & mask);
				low_bit += low;
			}
		}
	}
	return row == rows;
}

/*
 * Reads a group's bits, and moves *bit behind them; false where not just `rows` bits are set.
 * Places in a bitmap are the numbers themselves.
 */
static inline bool
unpack_rising(const uint8_t *bytes, uint32_t *bit, uint32_t rows, uint64_t range, uint8_t mode,
			  uint64_t *units)
{
	unsigned low = mode == MODE_BITMAP ? 0 : mode;
	uint32_t start = *bit;
	uint32_t bits = mode == MODE_BITMAP ? (uint32_t) range + 1 : rows + (uint32_t) (range >> low);

	*bit += bits + rows * low;
	if (low > 0)
		return unpack_places(bytes, start, bits, rows, low, units);
	if (!unpack_places(bytes, start, bits, rows, 0, units))
		return false;
	for (uint32_t row = 0; mode == 0 && row < rows; row++)
		units[row] -= row;
	return true;
}

/*
 * Lists the groups whose rows are not symbols; returns the rows of the others. A branch would cost
 * more than the stores.
 */
static inline uint32_t
list_apart(const PfsBlockGroups *groups, const PfsRisingPlan *plan, GroupList *list)
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
		count += is_apart;
		rows_apart += is_apart ? rows : 0;
		row += rows;
	}
	list->starts[count] = (uint16_t) row;
	list->count = count;
	return row - rows_apart;
}

bool
pfs_rising_restore(const PfsBlockShape *shape, const PfsBlockGroups *groups,
				   const uint64_t *symbols, const uint8_t *group_bits, PfsRisingPlan *plan,
				   uint64_t *units)
{
	GroupList apart;
	uint32_t row = 0; /* behind the last group apart */
	uint32_t bit = 0;

	if (plan->range != shape->range)
		plan_rising(plan, shape->range);
	if (list_apart(groups, plan, &apart) != shape->symbols.count)
		return false;
	for (uint32_t i = 0; i <= apart.count; i++)
	{
		uint32_t start = apart.starts[i];
		uint32_t rows = apart.rows[i];

		/* symbols, up to the next group apart, which overwrites the surplus */
		for (; row < start; row += COPY_VALUES, symbols += COPY_VALUES)
			memcpy(units + row, symbols, COPY_VALUES * sizeof(*units));
		symbols -= row - start;
		if (i == apart.count)
			break;
		row = start + rows;
		if (rows > plan->most_rows ||
			!unpack_rising(group_bits, &bit, rows, shape->range, plan->modes[rows], units + start))
			return false;
	}
	return bytes_of_bits(bit) == shape->group_bytes;
}

static inline uint32_t
band_of(uint32_t rows)
{
	uint32_t band = pfs_bit_width(rows) - 1;

	return band < PFS_BAND_COUNT ? band : PFS_BAND_COUNT - 1;
}

static inline uint32_t
bits_of_band(uint32_t band_bits, uint32_t band)
{
	return band_bits >> 4 * band & 15;
}

/* Values of a group that has so many rows. */
static inline uint32_t
values_of(const PfsBlockGroups *groups, uint32_t rows)
{
	return groups->has_value_each ? 1 : rows;
}

/* The bits of each band that make numbers and patches shortest. */
static uint32_t
plan_bands(const uint64_t *units, const PfsBlockGroups *groups, uint32_t range_bits)
{
	uint32_t counts[PFS_BAND_COUNT][16] = { { 0 } }; /* numbers by their own width */
	uint32_t band_bits = 0;

	for (uint32_t group = 0; group < groups->count; group++)
	{
		uint32_t rows = (uint32_t) groups->lengths[group] + 1;
		uint32_t values = values_of(groups, rows);
		uint32_t band = band_of(rows);

		for (uint32_t i = 0; i < values; i++)
			counts[band][pfs_bit_width(units[i])]++;
		units += values;
	}
	for (uint32_t band = 0; band < PFS_BAND_COUNT; band++)
	{
		uint32_t total = 0;
		uint32_t wider = 0;
		uint32_t best = range_bits;
		uint32_t best_cost;

		for (uint32_t bits = 0; bits <= range_bits; bits++)
			total += counts[band][bits];
		best_cost = total * range_bits;
		for (uint32_t bits = range_bits; bits-- > 0;)
		{
			wider += counts[band][bits + 1];
			if (total * bits + wider * (PATCH_BITS + range_bits) < best_cost)
			{
				best_cost = total * bits + wider * (PATCH_BITS + range_bits);
				best = bits;
			}
		}
		band_bits |= (total == 0 ? 0 : best) << 4 * band;
	}
	return band_bits;
}

bool
pfs_banded_draft(const uint64_t *units, const PfsBlockGroups *groups, PfsBlockDraft *draft)
{
	PfsBlockShape *shape = &draft->shape;
	uint32_t range_bits = pfs_bit_width(shape->range);
	uint32_t next = 0; /* first place that the next patch may have */
	uint32_t widest = 0;
	uint32_t row = 0;
	uint32_t bit = 0;

	if (shape->range > PFS_BANDED_MAX_RANGE)
		return false;
	shape->transform = PFS_TRANSFORM_BANDED;
	shape->band_bits = plan_bands(units, groups, range_bits);
	shape->symbols = (PfsArrayShape){ shape->row_count, 0, (uint8_t) range_bits, 0, 0 };
	memset(draft->group_bits, 0, sizeof(draft->group_bits));
	for (uint32_t group = 0; group < groups->count; group++)
	{
		uint32_t rows = (uint32_t) groups->lengths[group] + 1;
		uint32_t end = row + values_of(groups, rows);
		uint32_t bits = bits_of_band(shape->band_bits, band_of(rows));

		for (; row < end; row++, bit += bits)
		{
			bool patched = units[row] >> bits != 0;

			draft->symbols[row] = patched ? units[row] : 0;
			if (!patched)
			{
				store_bits(draft->group_bits, bit, units[row]);
				continue;
			}
			widest = row - next > widest ? row - next : widest;
			next = row + 1;
			shape->symbols.patch_count++;
		}
	}
	shape->symbols.gap_bits = (uint8_t) pfs_bit_width(widest);
	shape->group_bytes = bytes_of_bits(bit);
	return true;
}

/* The most rows up to which all groups are of bands without bits. */
static uint32_t
rows_without_bits(uint32_t band_bits)
{
	uint32_t band = 0;

	while (band < PFS_BAND_COUNT && bits_of_band(band_bits, band) == 0)
		band++;
	return band == PFS_BAND_COUNT ? PFS_BLOCK_ROWS : (1u << band) - 1;
}

/* Lists the groups that may have bits, of all rows or of a value each. */
static inline void
list_wide(const PfsBlockShape *shape, const PfsBlockGroups *groups, bool has_value_each,
		  GroupList *list)
{
	uint32_t count = 0;
	uint32_t row = 0;
	uint32_t narrow_rows = rows_without_bits(shape->band_bits);
	for (uint32_t group = 0; group < groups->count; group++)
	{
		uint32_t rows = (uint32_t) groups->lengths[group] + 1;

		list->rows[count] = (uint16_t) rows;
		list->starts[count] = (uint16_t) (has_value_each ? group : row);
		count += rows > narrow_rows;
		row += rows;
	}
	list->count = count;
}

bool
pfs_banded_restore(const PfsBlockShape *shape, const PfsBlockGroups *groups,
				   const uint8_t *group_bits, uint64_t *units)
{
	GroupList wide;
	uint32_t bit = 0;

	if (groups->has_value_each)
		list_wide(shape, groups, true, &wide);
	else
		list_wide(shape, groups, false, &wide);
	for (uint32_t i = 0; i < wide.count; i++)
	{
		uint32_t rows = wide.rows[i];
		uint32_t bits = bits_of_band(shape->band_bits, band_of(rows));
		uint64_t mask = pfs_bit_mask(bits);

		for (uint32_t at = wide.starts[i], end = at + values_of(groups, rows); at < end;
			 at++, bit += bits)
			units[at] |= load_bits(group_bits, bit) & mask;
	}
	return bytes_of_bits(bit) == shape->group_bytes;
}

/* Low bits of the q of a group that are stored apart from the rest. */
static inline unsigned
low_bits_of(uint64_t sum, uint32_t rows)
{
	return sum < 2 * (uint64_t) rows ? 0 : pfs_bit_width(sum / rows) - 1;
}

/* Writes a group's bits, and returns how many. */
static uint32_t
pack_parts(const uint64_t *units, uint32_t rows, uint64_t sum, uint8_t *bytes, uint32_t bit)
{
	unsigned low = low_bits_of(sum, rows);
	uint32_t next = (rows - 1) * low;

	for (uint32_t i = 0; i + 1 < rows; i++)
	{
		store_bits(bytes, bit + i * low, units[i] & pfs_bit_mask(low));
		next += (uint32_t) (units[i] >> low);
		store_bits(bytes, bit + next++, 1);
	}
	return next;
}

bool
pfs_parted_draft(const uint64_t *units, const PfsBlockGroups *groups, PfsBlockDraft *draft)
{
	PfsBlockShape *shape = &draft->shape;
	uint64_t scale = shape->divisor / groups->unit;
	uint64_t offset = ((uint64_t) shape->least - (uint64_t) groups->least) / groups->unit;
	uint32_t bits = 0;

	if (groups->has_value_each || offset > PFS_PARTED_MAX_RANGE ||
		shape->range > (PFS_PARTED_MAX_RANGE - offset) / scale)
		return false;
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
		if (groups->sums[group] != 0)
			bits +=
				pack_parts(parts, rows, (uint64_t) groups->sums[group], draft->group_bits, bits);
		units += rows;
	}
	shape->group_bytes = bytes_of_bits(bits);
	return true;
}

/*
 * Reads the q of so many rows, and moves *bit behind them; false where they exceed the bits. *total
 * is what they add up to.
 */
static inline __attribute__((always_inline)) bool
unpack_parts(const uint8_t *bytes, uint32_t *bit, uint32_t end, uint32_t count, unsigned low,
			 uint64_t *units, uint64_t *total)
{
	uint64_t mask = pfs_bit_mask(low);
	uint32_t low_bit = *bit;
	uint32_t high_bit = low_bit + count * low;
	uint32_t next = 0; /* behind the last one that was read */
	uint32_t row = 0;
	uint64_t low_total = 0;

	for (uint32_t start = 0; row < count; start += WORD_BITS)
	{
		uint64_t word;

		if (high_bit + start >= end)
			return false;
		for (word = load_word(bytes, high_bit + start); word != 0 && row < count;
			 word &= word - 1, row++)
		{
			uint32_t place = start + (uint32_t) __builtin_ctzll(word);
			uint64_t low_part = low == 0 ? 0 : load_bits(bytes, low_bit) & mask;

			units[row] = (uint64_t) (place - next) << low | low_part;
			low_total += low_part;
			low_bit += low;
			next = place + 1;
		}
	}
	*total = ((uint64_t) (next - count) << low) + low_total;
	*bit = high_bit + next;
	return true;
}

/* Restores the rows of a group; false where the bits do not part its sum. */
static inline bool
restore_group(const uint8_t *bytes, uint32_t *bit, uint32_t end, uint32_t rows, uint64_t sum,
			  uint64_t *units)
{
	unsigned low = low_bits_of(sum, rows);
	uint64_t total;

	if (low == 0 ? !unpack_parts(bytes, bit, end, rows - 1, 0, units, &total)
				 : !unpack_parts(bytes, bit, end, rows - 1, low, units, &total))
		return false;
	units[rows - 1] = sum - total;
	return total <= sum;
}

bool
pfs_parted_restore(const PfsBlockShape *shape, const PfsBlockGroups *groups,
				   const uint8_t *group_bits, uint64_t *units)
{
	uint16_t parted[PFS_BLOCK_ROWS]; /* groups that have a sum, and where their rows begin */
	uint16_t starts[PFS_BLOCK_ROWS];
	uint32_t parted_count = 0;
	uint32_t row = 0;
	uint32_t bit = 0;

	for (uint32_t group = 0; group < groups->count; group++)
	{
		parted[parted_count] = (uint16_t) group;
		starts[parted_count] = (uint16_t) row;
		parted_count += groups->sums[group] != 0;
		row += (uint32_t) groups->lengths[group] + 1;
	}
	memset(units, 0, row * sizeof(*units));
	for (uint32_t i = 0; i < parted_count; i++)
	{
		uint32_t rows = (uint32_t) groups->lengths[parted[i]] + 1;
		uint64_t sum = (uint64_t) groups->sums[parted[i]];

		if (sum > rows * shape->range ||
			!restore_group(group_bits, &bit, shape->group_bytes * 8, rows, sum, units + starts[i]))
			return false;
	}
	return bytes_of_bits(bit) == shape->group_bytes;
}
