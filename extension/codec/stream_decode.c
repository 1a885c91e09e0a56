/*
 * stream_decode.c
 *		Parsing a stream, and decoding its blocks in any order.
 *
 * Everything that an entry or the section table promises is checked against the stream's length
 * when it is opened, so that decoding a block has no bound left to look at but the sum of run
 * lengths and zstd's verdict.
 */
#include "codec/stream.h"

#include <string.h>

#include "codec/clones.h"
#include "codec/group_bits.h"
#include "codec/zstd_context.h"

#define NO_STRIPE UINT32_MAX
#define NO_BLOCK  UINT32_MAX

typedef struct Section
{
	PfsSectionCode code;
	uint32_t raw_length;	/* bytes when unpacked; 0: no such section */
	uint32_t stored_length; /* bytes in the stream */
	size_t offset;			/* in the stream */
} Section;

struct PfsStreamDecoder
{
	PfsAllocator allocator;
	const uint8_t *bytes;
	PfsPacking packing;
	uint32_t block_count;
	PfsBlockShape *shapes;	/* one per block */
	size_t *offsets;		/* bits: of each block's data in the stream */
	Section *sections;		/* planes: PFS_SECTION_COUNT per group */
	uint32_t stripe;		/* planes: the one in stripe_bytes, or NO_STRIPE */
	uint8_t *stripe_bytes;	/* planes: its sections, unpacked, one after another */
	size_t stripe_capacity; /* bytes of the largest stripe */
	bool needs_groups;		/* some block rests on groups */
	uint32_t distinct_count;
	PfsStreamDecoder *distinct; /* the values of the ranks; NULL: blocks hold values */
	int64_t *dictionary;		/* the same, as far as blocks of them have been decoded … */
	bool *has_distinct;			/* … which is told by block */
	uint32_t values_block;		/* the block in values, or NO_BLOCK */
	int64_t *values;			/* for pfs_stream_values; NULL until then */
	uint64_t symbols[PFS_BLOCK_ROWS + PFS_GROUP_SLACK_VALUES];
	uint64_t lengths[PFS_BLOCK_ROWS];
	uint64_t units[PFS_BLOCK_ROWS + PFS_GROUP_SLACK_VALUES];
	uint8_t group_bits[PFS_GROUP_BITS_MAX_BYTES + 16];
	PfsRisingPlan rising;
};

static PfsStatus
fail(PfsError *error, PfsStatus status, const char *message, size_t offset)
{
	error->message = message;
	error->offset = offset;
	return status;
}

static void *
allocate(PfsStreamDecoder *decoder, size_t bytes)
{
	return decoder->allocator.realloc(decoder->allocator.context, NULL, bytes);
}

/* Packing "bits": follows from the shapes where each block's data begin. */
static PfsStatus
locate_blocks(PfsStreamDecoder *decoder, PfsCursor *cursor, PfsError *error)
{
	decoder->offsets = allocate(decoder, decoder->block_count * sizeof(*decoder->offsets));
	if (decoder->offsets == NULL)
		return fail(error, PFS_NO_MEMORY, "out of memory", 0);
	for (uint32_t block = 0; block < decoder->block_count; block++)
	{
		const PfsBlockShape *shape = &decoder->shapes[block];

		decoder->offsets[block] = cursor->offset;
		pfs_cursor_take(cursor, pfs_array_size(&shape->symbols) + pfs_array_size(&shape->lengths) +
									shape->group_bytes);
	}
	if (cursor->failed)
		return fail(error, PFS_CORRUPT, "block data exceed the stream", cursor->offset);
	return PFS_OK;
}

/* Reads one line of the section table. */
static bool
read_section(PfsCursor *cursor, Section *section)
{
	uint8_t code = pfs_cursor_byte(cursor);
	uint64_t length;

	if (cursor->failed || code > PFS_SECTION_ZSTD)
		return false;
	section->code = (PfsSectionCode) code;
	if (section->code == PFS_SECTION_RAW)
		length = section->raw_length;
	else if (section->code == PFS_SECTION_REPEAT)
		length = 1;
	else
		length = pfs_cursor_varint(cursor);
	/* a frame that is longer than what it holds is never written */
	if (length > section->raw_length)
		return false;
	section->stored_length = (uint32_t) length;
	return !cursor->failed;
}

/* Packing "planes": reads the section table and follows where each section begins. */
static PfsStatus
locate_sections(PfsStreamDecoder *decoder, PfsCursor *cursor, PfsError *error)
{
	uint32_t stripe_count = (decoder->block_count + PFS_STRIPE_BLOCKS - 1) / PFS_STRIPE_BLOCKS;
	size_t section_count = (size_t) stripe_count * PFS_SECTION_COUNT;
	size_t raw_length = 0;

	decoder->sections = allocate(decoder, section_count * sizeof(Section));
	if (decoder->sections == NULL)
		return fail(error, PFS_NO_MEMORY, "out of memory", 0);
	memset(decoder->sections, 0, section_count * sizeof(Section));
	for (uint32_t block = 0; block < decoder->block_count; block++)
		for (uint32_t i = 0; i < PFS_SECTION_COUNT; i++)
			decoder->sections[block / PFS_STRIPE_BLOCKS * PFS_SECTION_COUNT + i].raw_length +=
				pfs_section_part(&decoder->shapes[block], i);
	for (size_t i = 0; i < section_count; i++)
	{
		raw_length = i % PFS_SECTION_COUNT == 0 ? 0 : raw_length;
		raw_length += decoder->sections[i].raw_length;
		if (raw_length > decoder->stripe_capacity)
			decoder->stripe_capacity = raw_length;
		if (decoder->sections[i].raw_length > 0 && !read_section(cursor, &decoder->sections[i]))
			return fail(error, PFS_CORRUPT, "section table is damaged", cursor->offset);
	}
	for (size_t i = 0; i < section_count; i++)
	{
		decoder->sections[i].offset = cursor->offset;
		pfs_cursor_take(cursor, decoder->sections[i].stored_length);
	}
	if (cursor->failed)
		return fail(error, PFS_CORRUPT, "sections exceed the stream", cursor->offset);
	return PFS_OK;
}

/* Whether blocks of distinct values follow each other, as far as their entries tell. */
static bool
is_ascending(const PfsStreamDecoder *distinct)
{
	int64_t before = 0;

	for (uint32_t block = 0; block < distinct->block_count; block++)
	{
		const PfsBlockShape *shape = &distinct->shapes[block];

		if (shape->transform == PFS_TRANSFORM_NULLS || (block > 0 && shape->least <= before))
			return false;
		before = pfs_block_greatest(shape);
	}
	return true;
}

/*
 * Reads the dictionary, whose stream has none itself; its values are decoded when blocks need them.
 */
static PfsStatus
read_dictionary(PfsStreamDecoder *decoder, PfsCursor *cursor, uint32_t row_count, PfsError *error)
{
	uint64_t count = pfs_cursor_varint(cursor);
	uint64_t length = pfs_cursor_varint(cursor);
	size_t start = cursor->offset;
	const uint8_t *bytes =
		length > cursor->length ? NULL : pfs_cursor_take(cursor, (size_t) length);
	PfsStatus status;

	if (bytes == NULL || length == 0 || count == 0 || count > row_count)
		return fail(error, PFS_CORRUPT, "dictionary is damaged", start);
	if ((bytes[0] & PFS_STREAM_DICTIONARY) != 0)
		return fail(error, PFS_CORRUPT, "dictionary has a dictionary", start);
	decoder->distinct_count = (uint32_t) count;
	status = pfs_stream_open(bytes, (size_t) length, decoder->distinct_count, decoder->allocator,
							 &decoder->distinct, error);
	if (status == PFS_OK && decoder->distinct->needs_groups)
		status = fail(error, PFS_CORRUPT, "dictionary rests on groups", 0);
	if (status == PFS_OK && !is_ascending(decoder->distinct))
		status = fail(error, PFS_CORRUPT, "dictionary is out of order", 0);
	if (status == PFS_OK)
	{
		size_t block_count = decoder->distinct->block_count;

		decoder->dictionary =
			allocate(decoder, block_count * PFS_BLOCK_ROWS * sizeof(*decoder->dictionary));
		decoder->has_distinct = allocate(decoder, block_count * sizeof(*decoder->has_distinct));
		if (decoder->dictionary == NULL || decoder->has_distinct == NULL)
			return fail(error, PFS_NO_MEMORY, "out of memory", 0);
		memset(decoder->has_distinct, 0, block_count * sizeof(*decoder->has_distinct));
	}
	else
		error->offset += start;
	return status;
}

/* Decodes a block of distinct values, which are to ascend within what its entry tells. */
static PfsStatus
decode_distinct(PfsStreamDecoder *decoder, uint32_t block, PfsError *error)
{
	const PfsBlockShape *shape = &decoder->distinct->shapes[block];
	int64_t *values = decoder->dictionary + (size_t) block * PFS_BLOCK_ROWS;
	PfsStatus status = pfs_stream_block(decoder->distinct, block, NULL, values, error);

	if (status != PFS_OK)
		return status;
	for (uint32_t i = 1; i < shape->row_count; i++)
		if (values[i] <= values[i - 1])
			return fail(error, PFS_CORRUPT, "dictionary is out of order", 0);
	if (values[0] < shape->least || values[shape->row_count - 1] > pfs_block_greatest(shape))
		return fail(error, PFS_CORRUPT, "dictionary is out of order", 0);
	decoder->has_distinct[block] = true;
	return PFS_OK;
}

/* Sees to it that the values of ranks first .. last, which are some, are in the dictionary. */
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

/* Reads all block entries; planes have no patches. */
static PfsStatus
read_entries(PfsStreamDecoder *decoder, PfsCursor *cursor, uint32_t row_count, PfsError *error)
{
	PfsEntryContext context = PFS_ENTRY_CONTEXT_INIT;

	for (uint32_t block = 0; block < decoder->block_count; block++)
	{
		PfsBlockShape *shape = &decoder->shapes[block];
		size_t start = cursor->offset;
		PfsStatus status =
			pfs_entry_read(cursor, pfs_block_rows(row_count, block), &context, shape);

		if (status == PFS_UNSUPPORTED)
			return fail(error, status, "block has an encoding that this version does not know",
						start);
		if (status != PFS_OK ||
			(decoder->packing == PFS_PACKING_PLANES &&
			 (shape->symbols.patch_count > 0 || shape->lengths.patch_count > 0 ||
			  pfs_block_needs_groups(shape))) ||
			(decoder->distinct != NULL &&
			 (shape->least < 0 ||
			  shape->range * shape->divisor >= decoder->distinct_count - (uint64_t) shape->least)))
			return fail(error, PFS_CORRUPT, "block entry is damaged", start);
		decoder->needs_groups |= pfs_block_needs_groups(shape);
	}
	return PFS_OK;
}

static PfsStatus
parse_stream(PfsStreamDecoder *decoder, size_t length, uint32_t row_count, PfsError *error)
{
	PfsCursor cursor = pfs_cursor(decoder->bytes, length);
	uint8_t head = pfs_cursor_byte(&cursor);
	PfsStatus status;

	if (cursor.failed)
		return fail(error, PFS_CORRUPT, "stream is empty", 0);
	if ((head & PFS_STREAM_PACKING_MASK) > PFS_PACKING_PLANES ||
		(head & ~(PFS_STREAM_PACKING_MASK | PFS_STREAM_DICTIONARY)) != 0)
		return fail(error, PFS_UNSUPPORTED, "stream has a packing that this version does not know",
					0);
	decoder->packing = (PfsPacking) (head & PFS_STREAM_PACKING_MASK);
	if (head & PFS_STREAM_DICTIONARY)
	{
		status = read_dictionary(decoder, &cursor, row_count, error);
		if (status != PFS_OK)
			return status;
	}
	/* an entry has at least one byte: no more memory is asked for than the stream accounts for */
	if (length - cursor.offset < decoder->block_count)
		return fail(error, PFS_CORRUPT, "stream is too short for its blocks", cursor.offset);
	decoder->shapes = allocate(decoder, decoder->block_count * sizeof(*decoder->shapes));
	if (decoder->shapes == NULL)
		return fail(error, PFS_NO_MEMORY, "out of memory", 0);
	status = read_entries(decoder, &cursor, row_count, error);
	if (status != PFS_OK)
		return status;
	if (decoder->packing == PFS_PACKING_BITS)
		status = locate_blocks(decoder, &cursor, error);
	else
		status = locate_sections(decoder, &cursor, error);
	if (status == PFS_OK && cursor.offset != length)
		return fail(error, PFS_CORRUPT, "stream is longer than its blocks", cursor.offset);
	return status;
}

PfsStatus
pfs_stream_open(const uint8_t *bytes, size_t length, uint32_t row_count, PfsAllocator allocator,
				PfsStreamDecoder **decoder_out, PfsError *error)
{
	PfsStreamDecoder *decoder = allocator.realloc(allocator.context, NULL, sizeof(*decoder));
	PfsStatus status;

	if (decoder == NULL)
		return fail(error, PFS_NO_MEMORY, "out of memory", 0);
	decoder->allocator = allocator;
	decoder->bytes = bytes;
	decoder->block_count = pfs_block_count(row_count);
	decoder->shapes = NULL;
	decoder->offsets = NULL;
	decoder->sections = NULL;
	decoder->stripe = NO_STRIPE;
	decoder->stripe_bytes = NULL;
	decoder->stripe_capacity = 1;
	decoder->needs_groups = false;
	decoder->distinct_count = 0;
	decoder->distinct = NULL;
	decoder->dictionary = NULL;
	decoder->has_distinct = NULL;
	decoder->values_block = NO_BLOCK;
	decoder->values = NULL;
	decoder->rising.range = 0;
	memset(decoder->group_bits, 0, sizeof(decoder->group_bits));
	status = parse_stream(decoder, length, row_count, error);
	if (status == PFS_OK)
		*decoder_out = decoder;
	else
		pfs_stream_close(decoder);
	return status;
}

void
pfs_stream_close(PfsStreamDecoder *decoder)
{
	PfsAllocator allocator;

	if (decoder == NULL)
		return;
	allocator = decoder->allocator;
	if (decoder->shapes != NULL)
		allocator.realloc(allocator.context, decoder->shapes, 0);
	if (decoder->offsets != NULL)
		allocator.realloc(allocator.context, decoder->offsets, 0);
	if (decoder->sections != NULL)
		allocator.realloc(allocator.context, decoder->sections, 0);
	if (decoder->stripe_bytes != NULL)
		allocator.realloc(allocator.context, decoder->stripe_bytes, 0);
	pfs_stream_close(decoder->distinct);
	if (decoder->dictionary != NULL)
		allocator.realloc(allocator.context, decoder->dictionary, 0);
	if (decoder->has_distinct != NULL)
		allocator.realloc(allocator.context, decoder->has_distinct, 0);
	if (decoder->values != NULL)
		allocator.realloc(allocator.context, decoder->values, 0);
	allocator.realloc(allocator.context, decoder, 0);
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
	first = (uint32_t) *least;
	last = (uint32_t) *greatest;
	/*
	 * where the values cannot be decoded, which the block itself will tell, their entries bound
	 * them
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

/* Unpacks all sections of a stripe into stripe_bytes. */
static PfsStatus
load_stripe(PfsStreamDecoder *decoder, uint32_t stripe, PfsError *error)
{
	const Section *sections = decoder->sections + (size_t) stripe * PFS_SECTION_COUNT;
	uint8_t *target;

	if (decoder->stripe_bytes == NULL)
		decoder->stripe_bytes = allocate(decoder, decoder->stripe_capacity);
	if (decoder->stripe_bytes == NULL)
		return fail(error, PFS_NO_MEMORY, "out of memory", 0);
	decoder->stripe = NO_STRIPE;
	target = decoder->stripe_bytes;
	for (uint32_t i = 0; i < PFS_SECTION_COUNT; i++)
	{
		const Section *section = &sections[i];
		const uint8_t *source = decoder->bytes + section->offset;
		PfsZstdResult result = PFS_ZSTD_OK;

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
			return fail(error, PFS_NO_MEMORY, "out of memory", section->offset);
		if (result == PFS_ZSTD_CORRUPT)
			return fail(error, PFS_CORRUPT, "compressed section is damaged", section->offset);
		target += section->raw_length;
	}
	decoder->stripe = stripe;
	return PFS_OK;
}

PFS_CLONES static void
add_plane(const uint8_t *bytes, uint32_t count, unsigned shift, uint64_t *array)
{
	if (shift == 0)
		for (uint32_t i = 0; i < count; i++)
			array[i] = bytes[i];
	else
		for (uint32_t i = 0; i < count; i++)
			array[i] |= (uint64_t) bytes[i] << shift;
}

/* Puts the block's symbols and lengths together from the planes of its stripe, which is loaded. */
static void
read_planes(PfsStreamDecoder *decoder, uint32_t block, uint64_t *symbols)
{
	const PfsBlockShape *shape = &decoder->shapes[block];
	const uint8_t *section_bytes = decoder->stripe_bytes;
	const Section *sections = decoder->sections + (size_t) decoder->stripe * PFS_SECTION_COUNT;

	if (shape->symbols.bits == 0)
		memset(symbols, 0, shape->symbols.count * sizeof(*symbols));
	if (shape->lengths.bits == 0)
		memset(decoder->lengths, 0, shape->lengths.count * sizeof(*decoder->lengths));
	for (uint32_t i = 0; i < PFS_SECTION_COUNT; i++)
	{
		size_t place = 0;

		if (pfs_section_part(shape, i) > 0)
		{
			for (uint32_t before = decoder->stripe * PFS_STRIPE_BLOCKS; before < block; before++)
				place += pfs_section_part(&decoder->shapes[before], i);
			if (i < PFS_SECTION_LENGTHS)
				add_plane(section_bytes + place, shape->symbols.count, 8 * i, symbols);
			else
				add_plane(section_bytes + place, shape->lengths.count,
						  8 * (i - PFS_SECTION_LENGTHS), decoder->lengths);
		}
		section_bytes += sections[i].raw_length;
	}
}

static bool
read_bits(PfsStreamDecoder *decoder, uint32_t block, uint64_t *symbols)
{
	const PfsBlockShape *shape = &decoder->shapes[block];
	const uint8_t *bytes = decoder->bytes + decoder->offsets[block];

	return pfs_array_unpack(bytes, &shape->symbols, symbols) &&
		   pfs_array_unpack(bytes + pfs_array_size(&shape->symbols), &shape->lengths,
							decoder->lengths);
}

/* Puts the block's units together from symbols and group bits. */
static PfsStatus
read_group_bits(PfsStreamDecoder *decoder, uint32_t block, const PfsBlockGroups *groups,
				uint64_t *symbols, PfsError *error)
{
	const PfsBlockShape *shape = &decoder->shapes[block];
	size_t offset = decoder->offsets[block] + pfs_array_size(&shape->symbols);
	bool done;

	if (groups == NULL)
		return fail(error, PFS_CORRUPT, "block rests on groups that the segment lacks", offset);
	if (groups->has_value_each ? shape->transform != PFS_TRANSFORM_BANDED
							   : shape->transform == PFS_TRANSFORM_PARTED && groups->sums == NULL)
		return fail(error, PFS_CORRUPT, "block rests on what its groups lack", offset);
	memcpy(decoder->group_bits, decoder->bytes + offset, shape->group_bytes);
	if (shape->transform == PFS_TRANSFORM_PARTED)
		done = pfs_parted_restore(shape, groups, decoder->group_bits, decoder->units);
	else if (shape->transform == PFS_TRANSFORM_RISING)
		done = pfs_rising_restore(shape, groups, symbols, decoder->group_bits, &decoder->rising,
								  decoder->units);
	else
		done = pfs_banded_restore(shape, groups, decoder->group_bits, symbols);
	return done ? PFS_OK : fail(error, PFS_CORRUPT, "block does not fit its groups", offset);
}

/* Puts the values in the place of their ranks. */
static PfsStatus
look_up(PfsStreamDecoder *decoder, uint32_t row_count, int64_t *values, PfsError *error)
{
	uint64_t least = (uint64_t) values[0];
	uint64_t most = (uint64_t) values[0];
	PfsStatus status;

	for (uint32_t i = 1; i < row_count; i++)
	{
		least = (uint64_t) values[i] < least ? (uint64_t) values[i] : least;
		most = (uint64_t) values[i] > most ? (uint64_t) values[i] : most;
	}
	if (most >= decoder->distinct_count)
		return fail(error, PFS_CORRUPT, "rank lies outside the dictionary", 0);
	status = need_distinct(decoder, least, most, error);
	for (uint32_t i = 0; status == PFS_OK && i < row_count; i++)
		values[i] = decoder->dictionary[values[i]];
	return status;
}

/* Whether group bits go to units of their own, and not over the symbols. */
static bool
restores_aside(const PfsBlockShape *shape)
{
	return shape->transform == PFS_TRANSFORM_RISING || shape->transform == PFS_TRANSFORM_PARTED;
}

/* Reads the block's symbols, and its group bits; *units is where they are then. */
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
			return fail(error, PFS_CORRUPT, "patch lies outside its block",
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

PfsStatus
pfs_stream_block(PfsStreamDecoder *decoder, uint32_t block, const PfsBlockGroups *groups,
				 int64_t *values, PfsError *error)
{
	const PfsBlockShape *shape = &decoder->shapes[block];
	bool aside = pfs_block_has_runs(shape) || restores_aside(shape);
	uint64_t *units = aside ? decoder->symbols : (uint64_t *) values;
	PfsStatus status = read_symbols(decoder, block, groups, &units, error);

	if (status != PFS_OK)
		return status;
	if (!pfs_block_restore(shape, units, decoder->lengths, values))
		return fail(error, PFS_CORRUPT, "run lengths do not add up", 0);
	return decoder->distinct == NULL ? PFS_OK : look_up(decoder, shape->row_count, values, error);
}

/* Whether all are the rows of a group of one block, minus 1. */
static bool
lengths_fit(const int64_t *lengths, uint32_t count)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < count; i++)
		most |= (uint64_t) lengths[i];
	return most < PFS_BLOCK_ROWS;
}

/* Decodes a block of values, beside the lengths of their groups if they are needed. */
static PfsStatus
read_values_block(PfsStreamDecoder *decoder, PfsStreamDecoder *lengths, uint32_t block,
				  int64_t *values, PfsError *error)
{
	int64_t block_lengths[PFS_BLOCK_ROWS];
	PfsBlockGroups groups = { decoder->shapes[block].row_count, block_lengths, true, NULL, 0, 0 };
	PfsStatus status;

	if (lengths == NULL || !pfs_stream_block_needs_groups(decoder, block))
		return pfs_stream_block(decoder, block, NULL, values, error);
	status = pfs_stream_block(lengths, block, NULL, block_lengths, error);
	if (status != PFS_OK)
		return status;
	if (!lengths_fit(block_lengths, groups.count))
		return fail(error, PFS_CORRUPT, "number of rows of a group is out of range", 0);
	return pfs_stream_block(decoder, block, &groups, values, error);
}

PfsStatus
pfs_stream_values(PfsStreamDecoder *decoder, PfsStreamDecoder *lengths, uint32_t first,
				  uint32_t count, int64_t *values, PfsError *error)
{
	if (decoder->values == NULL)
		decoder->values = allocate(decoder, PFS_BLOCK_ROWS * sizeof(*decoder->values));
	if (decoder->values == NULL)
		return fail(error, PFS_NO_MEMORY, "out of memory", 0);
	while (count > 0)
	{
		uint32_t block = first / PFS_BLOCK_ROWS;
		uint32_t start = first % PFS_BLOCK_ROWS;
		uint32_t part = PFS_BLOCK_ROWS - start < count ? PFS_BLOCK_ROWS - start : count;
		bool is_whole = part == decoder->shapes[block].row_count;
		PfsStatus status = PFS_OK;

		if (is_whole)
			status = read_values_block(decoder, lengths, block, values, error);
		else if (decoder->values_block != block)
		{
			decoder->values_block = NO_BLOCK;
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
