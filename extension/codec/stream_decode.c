/*
 * stream_decode.c
 *		Decoding the blocks of an open stream, in any order.
 *
 * 1. The block's symbols come from its bits, or from the planes of its stripe. A stripe is unpacked
 *    as a whole and kept for its other blocks.
 * 2. If the block was encoded with groups, symbols and group bits become units.
 * 3. Units become values (block_decode.c).
 * 4. In a stream with a dictionary those values are ranks, and are replaced by the dictionary's
 *    values, whose blocks are decoded as they are needed.
 */
#include "codec/stream_decoder.h"

#include <string.h>

#include "codec/clones.h"
#include "codec/zstd_context.h"

/*
 * Decodes a block of the dictionary. Its values must ascend and lie within the range of its entry.
 */
static PfsStatus
decode_distinct(PfsStreamDecoder *decoder, uint32_t block, PfsError *error)
{
	const PfsBlockShape *shape = &decoder->distinct->shapes[block];
	/* dictionary[] has room for all blocks, of which only those that ranks refer to are filled. */
	int64_t *values = decoder->dictionary + (size_t) block * PFS_BLOCK_ROWS;
	PfsStatus status = pfs_stream_block(decoder->distinct, block, NULL, values, error);

	if (status != PFS_OK)
		return status;
	/*
	 * pfs_stream_range() takes the values of the least and of the greatest rank as the range,
	 * which is right only if the dictionary ascends.
	 */
	for (uint32_t i = 1; i < shape->row_count; i++)
		if (values[i] <= values[i - 1])
			return pfs_stream_fail(error, PFS_CORRUPT, "dictionary is out of order", 0);
	/*
	 * Entries ascend from block to block (see is_ascending() of stream_open.c), so with this check
	 * the whole dictionary does.
	 */
	if (values[0] < shape->least || values[shape->row_count - 1] > pfs_block_greatest(shape))
		return pfs_stream_fail(error, PFS_CORRUPT, "dictionary is out of order", 0);
	decoder->has_distinct[block] = true;
	return PFS_OK;
}

/*
 * Decodes the dictionary's blocks that hold ranks first .. last, unless they are decoded already.
 */
static PfsStatus
need_distinct(PfsStreamDecoder *decoder, uint64_t first, uint64_t last, PfsError *error)
{
	PfsStatus status = PFS_OK;

	for (uint32_t block = (uint32_t) (first / PFS_BLOCK_ROWS);
		 status == PFS_OK && block <= last / PFS_BLOCK_ROWS; block++)
		if (!decoder->has_distinct[block])
			status = decode_distinct(decoder, block, error);
	return status;
}

bool
pfs_stream_range(PfsStreamDecoder *decoder, uint32_t block, int64_t *least, int64_t *greatest)
{
	const PfsBlockShape *shape = &decoder->shapes[block];
	uint32_t first;
	uint32_t last;
	PfsError error;

	if (shape->transform == PFS_TRANSFORM_NULLS)
		return false;
	*least = shape->least;
	*greatest = pfs_block_greatest(shape);
	if (decoder->distinct == NULL)
		return true;
	/* stream_read_entries() has checked that these ranks lie in the dictionary. */
	first = (uint32_t) *least;
	last = (uint32_t) *greatest;
	/*
	 * If the dictionary's blocks cannot be decoded, use the bounds in their entries. Decoding the
	 * block itself will report the error.
	 */
	if (need_distinct(decoder, first, first, &error) == PFS_OK &&
		need_distinct(decoder, last, last, &error) == PFS_OK)
	{
		*least = decoder->dictionary[first];
		*greatest = decoder->dictionary[last];
	}
	else
	{
		*least = decoder->distinct->shapes[first / PFS_BLOCK_ROWS].least;
		*greatest = pfs_block_greatest(&decoder->distinct->shapes[last / PFS_BLOCK_ROWS]);
	}
	return true;
}

bool
pfs_stream_block_needs_groups(const PfsStreamDecoder *decoder, uint32_t block)
{
	return pfs_block_needs_groups(&decoder->shapes[block]);
}

bool
pfs_stream_needs_groups(const PfsStreamDecoder *decoder)
{
	return decoder->needs_groups;
}

bool
pfs_stream_has_null_blocks(const PfsStreamDecoder *decoder)
{
	return decoder->has_null_blocks;
}

/* Unpacks all sections of a stripe into stripe_bytes. */
static PfsStatus
load_stripe(PfsStreamDecoder *decoder, uint32_t stripe, PfsError *error)
{
	const PfsSection *sections = decoder->sections + (size_t) stripe * PFS_SECTION_COUNT;
	uint8_t *target;

	if (decoder->stripe_bytes == NULL)
		decoder->stripe_bytes = pfs_stream_allocate(decoder, decoder->stripe_capacity);
	if (decoder->stripe_bytes == NULL)
		return pfs_stream_fail(error, PFS_NO_MEMORY, "out of memory", 0);
	/* stripe_bytes is invalid until all sections are unpacked */
	decoder->stripe = PFS_NO_STRIPE;
	target = decoder->stripe_bytes;
	for (uint32_t i = 0; i < PFS_SECTION_COUNT; i++)
	{
		const PfsSection *section = &sections[i];
		const uint8_t *source = decoder->bytes + section->offset;
		PfsZstdResult result = PFS_ZSTD_OK;

		/* Sections without bytes have no entry in the table, and no place in stripe_bytes. */
		if (section->raw_length == 0)
			continue;
		if (section->code == PFS_SECTION_RAW)
			memcpy(target, source, section->raw_length);
		else if (section->code == PFS_SECTION_REPEAT)
			memset(target, source[0], section->raw_length);
		else
			result =
				pfs_zstd_decompress(target, section->raw_length, source, section->stored_length);
		if (result == PFS_ZSTD_NO_MEMORY)
			return pfs_stream_fail(error, PFS_NO_MEMORY, "out of memory", section->offset);
		if (result == PFS_ZSTD_CORRUPT)
			return pfs_stream_fail(error, PFS_CORRUPT, "compressed section is damaged",
								   section->offset);
		target += section->raw_length;
	}
	decoder->stripe = stripe;
	return PFS_OK;
}

PFS_CLONES static void
add_plane(const uint8_t *bytes, uint32_t count, unsigned shift, uint64_t *array)
{
	/* The lowest plane overwrites the array, which need not be cleared before. */
	if (shift == 0)
		for (uint32_t i = 0; i < count; i++)
			array[i] = bytes[i];
	else
		for (uint32_t i = 0; i < count; i++)
			array[i] |= (uint64_t) bytes[i] << shift;
}

/* Assembles the block's symbols and run lengths from the planes of its stripe, which is loaded. */
static void
read_planes(PfsStreamDecoder *decoder, uint32_t block, uint64_t *symbols)
{
	const PfsBlockShape *shape = &decoder->shapes[block];
	const uint8_t *section_bytes = decoder->stripe_bytes;
	const PfsSection *sections = decoder->sections + (size_t) decoder->stripe * PFS_SECTION_COUNT;

	/* An array of zeros has no plane that would set it. */
	if (shape->symbols.bits == 0)
		memset(symbols, 0, shape->symbols.count * sizeof(*symbols));
	if (shape->lengths.bits == 0)
		memset(decoder->lengths, 0, shape->lengths.count * sizeof(*decoder->lengths));
	for (uint32_t i = 0; i < PFS_SECTION_COUNT; i++)
	{
		size_t place = 0;

		if (pfs_section_part(shape, i) > 0)
		{
			/* The block's part follows those of the stripe's earlier blocks. */
			for (uint32_t before = decoder->stripe * PFS_STRIPE_BLOCKS; before < block; before++)
				place += pfs_section_part(&decoder->shapes[before], i);
			if (i < PFS_SECTION_LENGTHS)
				add_plane(section_bytes + place, shape->symbols.count, 8 * i, symbols);
			else
				add_plane(section_bytes + place, shape->lengths.count,
						  8 * (i - PFS_SECTION_LENGTHS), decoder->lengths);
		}
		/*
		 * Sections lie one after the other in stripe_bytes, also those in which this block has no
		 * part.
		 */
		section_bytes += sections[i].raw_length;
	}
}

static bool
read_bits(PfsStreamDecoder *decoder, uint32_t block, uint64_t *symbols)
{
	const PfsBlockShape *shape = &decoder->shapes[block];
	const uint8_t *bytes = decoder->bytes + decoder->offsets[block];

	/* Run lengths follow the symbols; an array of count 0 takes no bytes. */
	return pfs_array_unpack(bytes, &shape->symbols, symbols) &&
		   pfs_array_unpack(bytes + pfs_array_size(&shape->symbols), &shape->lengths,
							decoder->lengths);
}

/* Restores the block's units from symbols and group bits. */
static PfsStatus
read_group_bits(PfsStreamDecoder *decoder, uint32_t block, const PfsBlockGroups *groups,
				uint64_t *symbols, PfsError *error)
{
	const PfsBlockShape *shape = &decoder->shapes[block];
	size_t offset = decoder->offsets[block] + pfs_array_size(&shape->symbols);
	bool done;

	if (groups == NULL)
		return pfs_stream_fail(error, PFS_CORRUPT, "block needs groups that the segment lacks",
							   offset);
	/* A block of one value per group can only be BANDED; PARTED needs the sums. */
	if (groups->has_value_each ? shape->transform != PFS_TRANSFORM_BANDED
							   : shape->transform == PFS_TRANSFORM_PARTED && groups->sums == NULL)
		return pfs_stream_fail(error, PFS_CORRUPT, "block needs values that its groups lack",
							   offset);
	/* The restoring functions may read up to 16 bytes past the bits; group_bits has that slack. */
	memcpy(decoder->group_bits, decoder->bytes + offset, shape->group_bytes);
	if (shape->transform == PFS_TRANSFORM_PARTED)
		done = pfs_parted_restore(shape, groups, decoder->group_bits, decoder->units);
	else if (shape->transform == PFS_TRANSFORM_RISING)
		done = pfs_rising_restore(shape, groups, symbols, decoder->group_bits, &decoder->rising,
								  decoder->units);
	else
		done = pfs_banded_restore(shape, groups, decoder->group_bits, symbols);
	return done ? PFS_OK
				: pfs_stream_fail(error, PFS_CORRUPT, "block does not fit its groups", offset);
}

/* Computes the least and the greatest of some ranks; fails if one lies outside the dictionary. */
static PfsStatus
range_of_ranks(const PfsStreamDecoder *decoder, const int64_t *ranks, uint32_t count,
			   uint64_t *least, uint64_t *most, PfsError *error)
{
	/* As unsigned numbers, negative ranks lie above every dictionary. */
	*least = *most = (uint64_t) ranks[0];
	for (uint32_t i = 1; i < count; i++)
	{
		*least = (uint64_t) ranks[i] < *least ? (uint64_t) ranks[i] : *least;
		*most = (uint64_t) ranks[i] > *most ? (uint64_t) ranks[i] : *most;
	}
	return *most < decoder->distinct_count
			   ? PFS_OK
			   : pfs_stream_fail(error, PFS_CORRUPT, "rank lies outside the dictionary", 0);
}

PfsStatus
pfs_stream_look_up(PfsStreamDecoder *decoder, uint32_t row_count, int64_t *values, PfsError *error)
{
	uint64_t least;
	uint64_t most;
	PfsStatus status = range_of_ranks(decoder, values, row_count, &least, &most, error);

	if (status == PFS_OK)
		/*
		 * Ranks of a block lie close together in sorted data, so decoding the range between them
		 * costs little.
		 */
		status = need_distinct(decoder, least, most, error);
	for (uint32_t i = 0; status == PFS_OK && i < row_count; i++)
		values[i] = decoder->dictionary[values[i]];
	return status;
}

/* Returns true if the units are restored into decoder->units, and not over the symbols. */
static bool
restores_aside(const PfsBlockShape *shape)
{
	return shape->transform == PFS_TRANSFORM_RISING || shape->transform == PFS_TRANSFORM_PARTED;
}

/*
 * Reads the block's symbols and group bits into *units, or sets *units to decoder->units if the
 * transform restores there.
 */
static PfsStatus
read_symbols(PfsStreamDecoder *decoder, uint32_t block, const PfsBlockGroups *groups,
			 uint64_t **units, PfsError *error)
{
	const PfsBlockShape *shape = &decoder->shapes[block];
	uint32_t stripe = block / PFS_STRIPE_BLOCKS;
	PfsStatus status = PFS_OK;

	if (decoder->packing == PFS_PACKING_BITS)
	{
		if (!read_bits(decoder, block, *units))
			return pfs_stream_fail(error, PFS_CORRUPT, "patch lies outside its block",
								   decoder->offsets[block]);
		if (pfs_block_needs_groups(shape))
			status = read_group_bits(decoder, block, groups, *units, error);
		if (restores_aside(shape))
			*units = decoder->units;
	}
	else if (shape->symbols.count > 0)
	{
		if (decoder->stripe != stripe)
			status = load_stripe(decoder, stripe, error);
		if (status == PFS_OK)
			read_planes(decoder, block, *units);
	}
	return status;
}

/* Makes values from a block's symbols. shape may be a copy with another least value and divisor. */
static PfsStatus
restore_block(const PfsStreamDecoder *decoder, const PfsBlockShape *shape, uint64_t *symbols,
			  int64_t *values, PfsError *error)
{
	return pfs_block_restore(shape, symbols, decoder->lengths, values)
			   ? PFS_OK
			   : pfs_stream_fail(error, PFS_CORRUPT, "run lengths do not add up", 0);
}

/* Decodes a block of values, or of ranks if there is a dictionary. */
static PfsStatus
stream_decode_block(PfsStreamDecoder *decoder, uint32_t block, const PfsBlockGroups *groups,
					int64_t *values, PfsError *error)
{
	const PfsBlockShape *shape = &decoder->shapes[block];
	/* Unless the symbols need another array, unpack them into values[] and restore in place. */
	bool aside = pfs_block_has_runs(shape) || restores_aside(shape);
	uint64_t *units = aside ? decoder->symbols : (uint64_t *) values;
	PfsStatus status = read_symbols(decoder, block, groups, &units, error);

	return status == PFS_OK ? restore_block(decoder, shape, units, values, error) : status;
}

PfsStatus
pfs_stream_block(PfsStreamDecoder *decoder, uint32_t block, const PfsBlockGroups *groups,
				 int64_t *values, PfsError *error)
{
	PfsStatus status = stream_decode_block(decoder, block, groups, values, error);

	if (status == PFS_OK && decoder->distinct != NULL)
		status = pfs_stream_look_up(decoder, decoder->shapes[block].row_count, values, error);
	return status;
}

bool
pfs_stream_block_has_units(const PfsStreamDecoder *decoder, uint32_t block)
{
	const PfsBlockShape *shape = &decoder->shapes[block];

	return decoder->distinct == NULL && shape->transform != PFS_TRANSFORM_NULLS;
}

/* Returns true if the symbols, after group bits, are units already. */
static bool
symbols_are_units(const PfsBlockShape *shape)
{
	return !pfs_block_has_runs(shape) &&
		   (shape->transform == PFS_TRANSFORM_PLAIN || pfs_block_needs_groups(shape));
}

PfsStatus
pfs_stream_block_units(PfsStreamDecoder *decoder, uint32_t block, const PfsBlockGroups *groups,
					   PfsUnits *units, PfsError *error)
{
	const PfsBlockShape *shape = &decoder->shapes[block];
	uint64_t *symbols = decoder->symbols;
	PfsBlockShape of_units = *shape;
	PfsStatus status = PFS_OK;

	*units = (PfsUnits){ NULL, shape->least, shape->divisor, 0 };
	/* All values are the least one, so units stay NULL, which means zeros. */
	if (shape->transform == PFS_TRANSFORM_CONSTANT)
		return PFS_OK;
	status = read_symbols(decoder, block, groups, &symbols, error);
	units->units = symbols;
	units->range = shape->range;
	if (status != PFS_OK || symbols_are_units(shape))
		return status;
	/* Undo deltas and runs only: with least value 0 and divisor 1 the restored values are units. */
	of_units.least = 0;
	of_units.divisor = 1;
	units->units = decoder->units;
	return restore_block(decoder, &of_units, symbols, (int64_t *) decoder->units, error);
}

/* Checks that each length can be the rows of a group in one block, minus 1. */
static bool
lengths_fit(const int64_t *lengths, uint32_t count)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < count; i++)
		/* PFS_BLOCK_ROWS is a power of two, so the OR reaches it exactly if a length does. */
		most |= (uint64_t) lengths[i];
	return most < PFS_BLOCK_ROWS;
}

/* Decodes a block of values, or of ranks. If it needs the groups' rows, reads them from lengths. */
static PfsStatus
read_values_block(PfsStreamDecoder *decoder, PfsStreamDecoder *lengths, uint32_t block,
				  int64_t *values, PfsError *error)
{
	int64_t block_lengths[PFS_BLOCK_ROWS];
	PfsBlockGroups groups = { .count = decoder->shapes[block].row_count,
							  .lengths = block_lengths,
							  .has_value_each = true };
	PfsStatus status = PFS_OK;

	/* If a block needs groups and lengths is NULL, read_group_bits() reports the error. */
	if (lengths == NULL || !pfs_stream_block_needs_groups(decoder, block))
		return stream_decode_block(decoder, block, NULL, values, error);
	/* callers mostly read the same block of lengths just before */
	if (lengths->values_block == block && lengths->distinct == NULL)
		groups.lengths = lengths->values;
	else
		status = pfs_stream_block(lengths, block, NULL, block_lengths, error);
	if (status != PFS_OK)
		return status;
	if (!lengths_fit(groups.lengths, groups.count))
		return pfs_stream_fail(error, PFS_CORRUPT, "number of rows of a group is out of range", 0);
	return stream_decode_block(decoder, block, &groups, values, error);
}

/*
 * Copies values, or ranks if there is a dictionary. Whole blocks are decoded into place; of others
 * a decoded copy is kept, because callers mostly continue in the same block.
 */
static PfsStatus
copy_values(PfsStreamDecoder *decoder, PfsStreamDecoder *lengths, uint32_t first, uint32_t count,
			int64_t *values, PfsError *error)
{
	if (decoder->values == NULL)
		decoder->values = pfs_stream_allocate(decoder, PFS_BLOCK_ROWS * sizeof(*decoder->values));
	if (decoder->values == NULL)
		return pfs_stream_fail(error, PFS_NO_MEMORY, "out of memory", 0);
	while (count > 0)
	{
		uint32_t block = first / PFS_BLOCK_ROWS;
		uint32_t start = first % PFS_BLOCK_ROWS;
		uint32_t part = PFS_BLOCK_ROWS - start < count ? PFS_BLOCK_ROWS - start : count;
		/* A part that is as long as its block begins at the block's start. */
		bool is_whole = part == decoder->shapes[block].row_count;
		PfsStatus status = PFS_OK;

		if (is_whole)
			status = read_values_block(decoder, lengths, block, values, error);
		else if (decoder->values_block != block)
		{
			/* values[] is overwritten, and is no block if decoding fails. */
			decoder->values_block = PFS_NO_BLOCK;
			status = read_values_block(decoder, lengths, block, decoder->values, error);
		}
		if (status != PFS_OK)
			return status;
		if (!is_whole)
		{
			decoder->values_block = block;
			memcpy(values, decoder->values + start, part * sizeof(*values));
		}
		values += part;
		first += part;
		count -= part;
	}
	return PFS_OK;
}

PfsStatus
pfs_stream_values(PfsStreamDecoder *decoder, PfsStreamDecoder *lengths, uint32_t first,
				  uint32_t count, int64_t *values, PfsError *error)
{
	PfsStatus status = copy_values(decoder, lengths, first, count, values, error);

	if (status == PFS_OK && decoder->distinct != NULL && count > 0)
		status = pfs_stream_look_up(decoder, count, values, error);
	return status;
}

uint32_t
pfs_stream_distinct_count(const PfsStreamDecoder *decoder)
{
	return decoder->distinct == NULL ? 0 : decoder->distinct_count;
}

PfsStatus
pfs_stream_ranks(PfsStreamDecoder *decoder, uint32_t first, uint32_t count, int64_t *ranks,
				 PfsError *error)
{
	uint64_t least;
	uint64_t most;
	PfsStatus status = copy_values(decoder, NULL, first, count, ranks, error);

	if (status == PFS_OK && count > 0)
		status = range_of_ranks(decoder, ranks, count, &least, &most, error);
	return status;
}
