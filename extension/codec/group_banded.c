/*
 * group_banded.c
 *		BANDED: the width of a number depends on the number of rows of its group.
 */
#include "codec/group_bits.h"

#include <string.h>

#include "codec/bits.h"

#define PATCH_BITS 9 /* about the bits that the position of a patched number takes */

static inline uint32_t
band_of(uint32_t rows)
{
	/* Band b has groups of 2^b to 2^(b+1) - 1 rows; the last band has all longer ones. */
	uint32_t band = pfs_bit_width(rows) - 1;

	return band < PFS_BAND_COUNT ? band : PFS_BAND_COUNT - 1;
}

static inline uint32_t
bits_of_band(uint32_t band_bits, uint32_t band)
{
	return band_bits >> 4 * band & 15;
}

/* Returns the number of stored values of a group with that many rows: one, or one per row. */
static inline uint32_t
values_of(const PfsBlockGroups *groups, uint32_t rows)
{
	return groups->has_value_each ? 1 : rows;
}

/* Chooses for each band the bits that minimise numbers plus patches. Returns four bits per band. */
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
		/* Start with the full width, at which no number is patched. */
		best_cost = total * range_bits;
		/* wider counts the numbers that would be patched if only bits were kept */
		for (uint32_t bits = range_bits; bits-- > 0;)
		{
			wider += counts[band][bits + 1];
			if (total * bits + wider * (PATCH_BITS + range_bits) < best_cost)
			{
				best_cost = total * bits + wider * (PATCH_BITS + range_bits);
				best = bits;
			}
		}
		/* An empty band gets 0 bits, so that rows_without_bits() can skip more groups. */
		band_bits |= (total == 0 ? 0 : best) << 4 * band;
	}
	return band_bits;
}

bool
pfs_banded_draft(const uint64_t *units, const PfsBlockGroups *groups, PfsBlockDraft *draft)
{
	PfsBlockShape *shape = &draft->shape;
	uint32_t range_bits = pfs_bit_width(shape->range);
	uint32_t next = 0; /* first position that the next patch may have */
	uint32_t widest = 0;
	uint32_t row = 0;
	uint32_t bit = 0;

	if (shape->range > PFS_BANDED_MAX_RANGE)
		return false;
	shape->transform = PFS_TRANSFORM_BANDED;
	shape->band_bits = plan_bands(units, groups, range_bits);
	/* No bits are kept in the symbols: they hold patched numbers only, whole. */
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

			/*
			 * A patched number leaves its bits in the group bits 0, so that each group has its
			 * fixed length.
			 */
			draft->symbols[row] = patched ? units[row] : 0;
			if (!patched)
			{
				pfs_store_bits(draft->group_bits, bit, units[row]);
				continue;
			}
			widest = row - next > widest ? row - next : widest;
			next = row + 1;
			shape->symbols.patch_count++;
		}
	}
	shape->symbols.gap_bits = (uint8_t) pfs_bit_width(widest);
	shape->group_bytes = pfs_bytes_of_bits(bit);
	return true;
}

/* Returns the largest number of rows up to which all groups lie in bands without bits. */
static uint32_t
rows_without_bits(uint32_t band_bits)
{
	uint32_t band = 0;

	/* Only the leading bands without bits count, so that one comparison with the rows decides. */
	while (band < PFS_BAND_COUNT && bits_of_band(band_bits, band) == 0)
		band++;
	return band == PFS_BAND_COUNT ? PFS_BLOCK_ROWS : (1u << band) - 1;
}

/*
 * Lists the groups whose band has bits. Each of its two callers is compiled with a loop of its own,
 * one per kind.
 */
static inline void
list_wide(const PfsBlockShape *shape, const PfsBlockGroups *groups, bool has_value_each,
		  PfsGroupList *list)
{
	uint32_t count = 0;
	uint32_t row = 0;
	uint32_t narrow_rows = rows_without_bits(shape->band_bits);
	for (uint32_t group = 0; group < groups->count; group++)
	{
		uint32_t rows = (uint32_t) groups->lengths[group] + 1;

		list->rows[count] = (uint16_t) rows;
		list->starts[count] = (uint16_t) (has_value_each ? group : row);
		/* always store, advance only for wide groups: a branch would cost more */
		count += rows > narrow_rows;
		row += rows;
	}
	list->count = count;
}

bool
pfs_banded_restore(const PfsBlockShape *shape, const PfsBlockGroups *groups,
				   const uint8_t *group_bits, uint64_t *units)
{
	PfsGroupList wide;
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
			/*
			 * Either the symbol or the group bits are 0, so OR joins them. The bits of
			 * PFS_BLOCK_ROWS numbers of 15 bits fit in group_bits[], so no check is needed before
			 * the read.
			 */
			units[at] |= pfs_load_bits(group_bits, bit) & mask;
	}
	/* Stored bits that do not belong to these groups have another length. */
	return pfs_bytes_of_bits(bit) == shape->group_bytes;
}
