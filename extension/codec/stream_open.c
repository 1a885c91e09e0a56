/*
 * stream_open.c
 *		Parsing a stream: its dictionary, the entries of its blocks, its section table.
 *
 * Every length in the entries and in the section table is checked against the stream's length here.
 * Decoding a block then has to check only the sum of run lengths, patches, group bits and the
 * result of zstd.
 */
#include "codec/stream_decoder.h"

#include <string.h>

/* Packing "bits": computes from the shapes where the data of each block begin. */
static PfsStatus
locate_blocks(PfsStreamDecoder *decoder, PfsCursor *cursor, PfsError *error)
{
	decoder->offsets =
		pfs_stream_allocate(decoder, decoder->block_count * sizeof(*decoder->offsets));
	if (decoder->offsets == NULL)
		return pfs_stream_fail(error, PFS_NO_MEMORY, "out of memory", 0);
	for (uint32_t block = 0; block < decoder->block_count; block++)
	{
		const PfsBlockShape *shape = &decoder->shapes[block];

		decoder->offsets[block] = cursor->offset;
		/* The cursor fails if the block's data exceed the stream, and then stays failed. */
		pfs_cursor_take(cursor, pfs_array_size(&shape->symbols) + pfs_array_size(&shape->lengths) +
									shape->group_bytes);
	}
	if (cursor->failed)
		return pfs_stream_fail(error, PFS_CORRUPT, "block data exceed the stream", cursor->offset);
	return PFS_OK;
}

/* Reads one entry of the section table. */
static bool
read_section(PfsCursor *cursor, PfsSection *section)
{
	uint8_t code = pfs_cursor_byte(cursor);
	uint64_t length;

	if (cursor->failed || code > PFS_SECTION_ZSTD)
		return false;
	section->code = (PfsSectionCode) code;
	/* Lengths of sections with code RAW or REPEAT follow from the entries of the blocks. */
	if (section->code == PFS_SECTION_RAW)
		length = section->raw_length;
	else if (section->code == PFS_SECTION_REPEAT)
		length = 1;
	else
		length = pfs_cursor_varint(cursor);
	/* the encoder stores a section raw rather than as a longer frame */
	if (length > section->raw_length)
		return false;
	section->stored_length = (uint32_t) length;
	return !cursor->failed;
}

/* Packing "planes": reads the section table and computes where each section begins. */
static PfsStatus
locate_sections(PfsStreamDecoder *decoder, PfsCursor *cursor, PfsError *error)
{
	uint32_t stripe_count = (decoder->block_count + PFS_STRIPE_BLOCKS - 1) / PFS_STRIPE_BLOCKS;
	size_t section_count = (size_t) stripe_count * PFS_SECTION_COUNT;
	size_t raw_length = 0;

	decoder->sections = pfs_stream_allocate(decoder, section_count * sizeof(PfsSection));
	if (decoder->sections == NULL)
		return pfs_stream_fail(error, PFS_NO_MEMORY, "out of memory", 0);
	memset(decoder->sections, 0, section_count * sizeof(PfsSection));
	/* The shapes of a stripe's blocks give the unpacked length of each of its sections. */
	for (uint32_t block = 0; block < decoder->block_count; block++)
		for (uint32_t i = 0; i < PFS_SECTION_COUNT; i++)
			decoder->sections[block / PFS_STRIPE_BLOCKS * PFS_SECTION_COUNT + i].raw_length +=
				pfs_section_part(&decoder->shapes[block], i);
	for (size_t i = 0; i < section_count; i++)
	{
		/* The largest stripe decides how much memory load_stripe() allocates. */
		raw_length = i % PFS_SECTION_COUNT == 0 ? 0 : raw_length;
		raw_length += decoder->sections[i].raw_length;
		if (raw_length > decoder->stripe_capacity)
			decoder->stripe_capacity = raw_length;
		if (decoder->sections[i].raw_length > 0 && !read_section(cursor, &decoder->sections[i]))
			return pfs_stream_fail(error, PFS_CORRUPT, "section table is damaged", cursor->offset);
	}
	/* The data follow the whole table, in the table's order. */
	for (size_t i = 0; i < section_count; i++)
	{
		decoder->sections[i].offset = cursor->offset;
		pfs_cursor_take(cursor, decoder->sections[i].stored_length);
	}
	if (cursor->failed)
		return pfs_stream_fail(error, PFS_CORRUPT, "sections exceed the stream", cursor->offset);
	return PFS_OK;
}

/* Checks by the block entries that the blocks of distinct values ascend. */
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
 * Reads the dictionary, which must not have one itself. Its values are decoded when blocks need
 * them.
 */
static PfsStatus
read_dictionary(PfsStreamDecoder *decoder, PfsCursor *cursor, uint32_t row_count, PfsError *error)
{
	uint64_t count = pfs_cursor_varint(cursor);
	uint64_t length = pfs_cursor_varint(cursor);
	size_t start = cursor->offset;
	const uint8_t *bytes =
		/*
		 * The comparison comes before the cast, because size_t may be narrower than the stored
		 * number.
		 */
		length > cursor->length ? NULL : pfs_cursor_take(cursor, (size_t) length);
	PfsStatus status;

	if (bytes == NULL || length == 0 || count == 0 || count > row_count)
		return pfs_stream_fail(error, PFS_CORRUPT, "dictionary is damaged", start);
	/* Refusing it here bounds the recursion of pfs_stream_open() to one level. */
	if ((bytes[0] & PFS_STREAM_DICTIONARY) != 0)
		return pfs_stream_fail(error, PFS_CORRUPT, "dictionary has a dictionary", start);
	decoder->distinct_count = (uint32_t) count;
	status = pfs_stream_open(bytes, (size_t) length, decoder->distinct_count, decoder->allocator,
							 &decoder->distinct, error);
	if (status == PFS_OK && decoder->distinct->needs_groups)
		status = pfs_stream_fail(error, PFS_CORRUPT, "dictionary must not use groups", 0);
	if (status == PFS_OK && !is_ascending(decoder->distinct))
		status = pfs_stream_fail(error, PFS_CORRUPT, "dictionary is out of order", 0);
	if (status == PFS_OK)
	{
		size_t block_count = decoder->distinct->block_count;

		/*
		 * A dictionary block has an entry of at least one byte, so at most 8 kB are allocated for
		 * each stored byte.
		 */
		decoder->dictionary = pfs_stream_allocate(decoder, block_count * PFS_BLOCK_ROWS *
															   sizeof(*decoder->dictionary));
		decoder->has_distinct =
			pfs_stream_allocate(decoder, block_count * sizeof(*decoder->has_distinct));
		if (decoder->dictionary == NULL || decoder->has_distinct == NULL)
			return pfs_stream_fail(error, PFS_NO_MEMORY, "out of memory", 0);
		memset(decoder->has_distinct, 0, block_count * sizeof(*decoder->has_distinct));
	}
	/* The offset is relative to the dictionary's own stream. */
	else
		error->offset += start;
	return status;
}

/*
 * Reads all block entries, and checks that planes have no patches and ranks lie in the dictionary.
 */
static PfsStatus
stream_read_entries(PfsStreamDecoder *decoder, PfsCursor *cursor, uint32_t row_count,
					PfsError *error)
{
	/*
	 * Entries inherit least value and divisor from the entry before, so all are read in one pass.
	 */
	PfsEntryContext context = PFS_ENTRY_CONTEXT_INIT;

	for (uint32_t block = 0; block < decoder->block_count; block++)
	{
		PfsBlockShape *shape = &decoder->shapes[block];
		size_t start = cursor->offset;
		PfsStatus status =
			pfs_entry_read(cursor, pfs_block_rows(row_count, block), &context, shape);

		if (status == PFS_UNSUPPORTED)
			return pfs_stream_fail(error, status,
								   "block has an encoding that this version does not know", start);
		if (status != PFS_OK ||
			(decoder->packing == PFS_PACKING_PLANES &&
			 (shape->symbols.patch_count > 0 || shape->lengths.patch_count > 0 ||
			  pfs_block_needs_groups(shape))) ||
			(decoder->distinct != NULL &&
			 (shape->least < 0 || shape->least >= decoder->distinct_count ||
			  shape->range * shape->divisor >= decoder->distinct_count - (uint64_t) shape->least)))
			return pfs_stream_fail(error, PFS_CORRUPT, "block entry is damaged", start);
		decoder->needs_groups |= pfs_block_needs_groups(shape);
		decoder->has_null_blocks |= shape->transform == PFS_TRANSFORM_NULLS;
	}
	return PFS_OK;
}

/*
 * Parses the whole stream in the order of its bytes: head, dictionary, entries, then the place of
 * the data.
 */
static PfsStatus
parse_stream(PfsStreamDecoder *decoder, size_t length, uint32_t row_count, PfsError *error)
{
	PfsCursor cursor = pfs_cursor(decoder->bytes, length);
	uint8_t head = pfs_cursor_byte(&cursor);
	PfsStatus status;

	if (cursor.failed)
		return pfs_stream_fail(error, PFS_CORRUPT, "stream is empty", 0);
	if ((head & PFS_STREAM_PACKING_MASK) > PFS_PACKING_PLANES ||
		(head & ~(PFS_STREAM_PACKING_MASK | PFS_STREAM_DICTIONARY)) != 0)
		return pfs_stream_fail(error, PFS_UNSUPPORTED,
							   "stream has a packing that this version does not know", 0);
	decoder->packing = (PfsPacking) (head & PFS_STREAM_PACKING_MASK);
	if (head & PFS_STREAM_DICTIONARY)
	{
		status = read_dictionary(decoder, &cursor, row_count, error);
		if (status != PFS_OK)
			return status;
	}
	/* an entry has at least one byte, which bounds the allocation by the bytes that are there */
	if (length - cursor.offset < decoder->block_count)
		return pfs_stream_fail(error, PFS_CORRUPT, "stream is too short for its blocks",
							   cursor.offset);
	decoder->shapes = pfs_stream_allocate(decoder, decoder->block_count * sizeof(*decoder->shapes));
	if (decoder->shapes == NULL)
		return pfs_stream_fail(error, PFS_NO_MEMORY, "out of memory", 0);
	status = stream_read_entries(decoder, &cursor, row_count, error);
	if (status != PFS_OK)
		return status;
	if (decoder->packing == PFS_PACKING_BITS)
		status = locate_blocks(decoder, &cursor, error);
	else
		status = locate_sections(decoder, &cursor, error);
	if (status == PFS_OK && cursor.offset != length)
		return pfs_stream_fail(error, PFS_CORRUPT, "stream is longer than its blocks",
							   cursor.offset);
	return status;
}

PfsStatus
pfs_stream_open(const uint8_t *bytes, size_t length, uint32_t row_count, PfsAllocator allocator,
				PfsStreamDecoder **decoder_out, PfsError *error)
{
	PfsStreamDecoder *decoder = allocator.realloc(allocator.context, NULL, sizeof(*decoder));
	PfsStatus status;

	if (decoder == NULL)
		return pfs_stream_fail(error, PFS_NO_MEMORY, "out of memory", 0);
	decoder->allocator = allocator;
	decoder->bytes = bytes;
	decoder->block_count = pfs_block_count(row_count);
	/* pfs_stream_close() frees whatever is set, so every pointer is set before parsing can fail. */
	decoder->shapes = NULL;
	decoder->offsets = NULL;
	decoder->sections = NULL;
	decoder->stripe = PFS_NO_STRIPE;
	decoder->stripe_bytes = NULL;
	/* At least 1, because a request for 0 bytes would free. */
	decoder->stripe_capacity = 1;
	decoder->needs_groups = false;
	decoder->has_null_blocks = false;
	decoder->distinct_count = 0;
	decoder->distinct = NULL;
	decoder->dictionary = NULL;
	decoder->has_distinct = NULL;
	decoder->values_block = PFS_NO_BLOCK;
	decoder->values = NULL;
	/* A RISING block has a range of at least 1, so its first plan is always computed. */
	decoder->rising.range = 0;
	/* The slack after the bits is read, too, though without effect on the result. */
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
