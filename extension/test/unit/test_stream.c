/*
 * test_stream.c
 *		Tests streams without their CRC: forged bytes must be refused or decoded without harm, and
 *		nothing may be read past the end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codec/stream_decoder.h"
#include "test/unit/codec_harness.h"
#include "test/unit/values.h"

#define ROW_COUNT 1500

/* The groups of each block; NULL: streams are read without groups. */
static const PfsBlockGroups *block_groups;

/* Opens a copy that ends where its heap block ends, and decodes every block if it can be opened. */
static PfsStatus
read_copy(const uint8_t *bytes, size_t length, uint32_t row_count, PfsError *error)
{
	TestHeap heap = { 0 };
	PfsStreamDecoder *decoder = NULL;
	uint8_t *copy = malloc(length);
	PfsStatus status;

	assert_true(copy != NULL || length == 0);
	if (length > 0)
		memcpy(copy, bytes, length);
	*error = (PfsError){ 0 };
	status = pfs_stream_open(copy, length, row_count, test_allocator(&heap), &decoder, error);
	for (uint32_t block = 0; status == PFS_OK && block < pfs_block_count(row_count); block++)
	{
		int64_t values[PFS_BLOCK_ROWS];

		status =
			pfs_stream_block(decoder, block, block_groups == NULL ? NULL : &block_groups[block],
							 values, error);
	}
	pfs_stream_close(decoder);
	free(copy);
	assert_int_equal(heap.live, 0);
	assert_true(status == PFS_OK || (error->message != NULL && error->offset <= length));
	return status;
}

static PfsBytes
encode(ValueShape shape, unsigned width, PfsEffort effort)
{
	Random random = { 41 };
	TestHeap heap = { 0 };
	int64_t values[ROW_COUNT];
	PfsBytes bytes;

	values_fill(&random, shape, width, values, ROW_COUNT);
	assert_true(
		pfs_stream_encode(values, NULL, ROW_COUNT, NULL, effort, test_allocator(&heap), &bytes));
	return bytes;
}

/* Replaces each byte in turn by several others, and reads the stream. */
static void
forge_bytes(PfsBytes bytes)
{
	static const uint8_t changes[] = { 0x01, 0x02, 0x08, 0x10, 0x80, 0x7f, 0xff };
	size_t stride = 1 + bytes.length / 300;
	PfsError error;

	assert_int_equal(read_copy(bytes.data, bytes.length, ROW_COUNT, &error), PFS_OK);
	for (size_t i = 0; i < bytes.length; i += i < 40 ? 1 : stride)
		for (size_t change = 0; change < sizeof(changes); change++)
		{
			bytes.data[i] ^= changes[change];
			read_copy(bytes.data, bytes.length, ROW_COUNT, &error);
			bytes.data[i] ^= changes[change];
		}
}

/* Forges bytes in streams of every shape and in both packings. */
static void
test_forged_bytes_do_no_harm(void **state)
{
	(void) state;
	for (ValueShape shape = 0; shape < VALUE_SHAPE_COUNT; shape++)
	{
		PfsBytes bytes = encode(shape, 9, shape % 2 == 0 ? PFS_EFFORT_DENSE : PFS_EFFORT_FAST);

		forge_bytes(bytes);
		free(bytes.data);
	}
}

/* Fills groups of 1 .. 80 rows. Their times rise, and values grow with the number of rows. */
static void
fill_groups(PfsBlockGroups *groups, int64_t *lengths, int64_t *times, int64_t *values)
{
	Random random = { 43 };
	uint32_t group = 0;

	for (uint32_t row = 0; row < ROW_COUNT;)
	{
		uint32_t left = pfs_block_rows(ROW_COUNT, row / PFS_BLOCK_ROWS) - row % PFS_BLOCK_ROWS;
		uint32_t rows = 1 + (uint32_t) random_below(&random, 1 + random_below(&random, 80));
		int64_t time = 0;

		rows = rows < left ? rows : left;
		if (row % PFS_BLOCK_ROWS == 0)
			groups[row / PFS_BLOCK_ROWS] = (PfsBlockGroups){ .lengths = lengths + group };
		groups[row / PFS_BLOCK_ROWS].count++;
		lengths[group++] = (int64_t) rows - 1;
		for (uint32_t end = row + rows; row < end; row++)
		{
			time += 1 + (int64_t) random_below(&random, 1 + 100 / rows);
			times[row] = time;
			values[row] = (int64_t) random_below(&random, 1 + rows / 4) * 1000;
		}
	}
}

/* Encodes values with groups, forges and cuts the bytes, and reads them with and without groups. */
static void
forge_beside_groups(const int64_t *values, const PfsBlockGroups *groups, PfsTransform transform)
{
	TestHeap heap = { 0 };
	PfsBytes bytes;
	PfsError error;

	assert_true(pfs_stream_encode(values, NULL, ROW_COUNT, groups, PFS_EFFORT_FAST,
								  test_allocator(&heap), &bytes));
	assert_int_equal(bytes.data[0], PFS_PACKING_BITS);
	assert_int_equal(PFS_ENTRY_TRANSFORM(bytes.data[1]), transform);
	block_groups = groups;
	forge_bytes(bytes);
	for (size_t length = 0; length < bytes.length; length++)
		assert_int_equal(read_copy(bytes.data, length, ROW_COUNT, &error), PFS_CORRUPT);
	block_groups = NULL;
	assert_int_equal(read_copy(bytes.data, bytes.length, ROW_COUNT, &error), PFS_CORRUPT);
	free(bytes.data);
}

/*
 * Fills large groups with small values, of which half are 0, a quarter 1000 and so on, and the
 * other groups with 0.
 */
static void
fill_parts(const PfsBlockGroups *groups, int64_t *values)
{
	Random random = { 45 };

	for (uint32_t block = 0; block < pfs_block_count(ROW_COUNT); block++)
		for (uint32_t group = 0; group < groups[block].count; group++)
			for (int64_t row = 0; row <= groups[block].lengths[group]; row++)
				*values++ = groups[block].lengths[group] < 20
								? 0
								: 1000 * __builtin_ctzll(random_next(&random) | 1 << 12);
}

/* Sets the groups' sums of values, in thousands. */
static void
add_up(PfsBlockGroups *groups, const int64_t *values, int64_t *sums)
{
	for (uint32_t block = 0; block < pfs_block_count(ROW_COUNT); block++)
	{
		groups[block].sums = sums;
		groups[block].unit = 1000;
		for (uint32_t group = 0; group < groups[block].count; group++)
		{
			*sums = 0;
			for (int64_t row = 0; row <= groups[block].lengths[group]; row++)
				*sums += *values++ / 1000;
			sums++;
		}
	}
}

static void
test_forged_blocks_beside_groups_do_no_harm(void **state)
{
	static int64_t lengths[ROW_COUNT];
	static int64_t sums[ROW_COUNT];
	static int64_t values[2][ROW_COUNT];
	PfsBlockGroups groups[2];

	(void) state;
	fill_groups(groups, lengths, values[0], values[1]);
	forge_beside_groups(values[0], groups, PFS_TRANSFORM_RISING);
	forge_beside_groups(values[1], groups, PFS_TRANSFORM_BANDED);
	fill_parts(groups, values[1]);
	add_up(groups, values[1], sums);
	forge_beside_groups(values[1], groups, PFS_TRANSFORM_PARTED);
}

/* Blocks with one value for each group, which is larger for larger groups. */
static void
test_forged_blocks_of_a_value_each_do_no_harm(void **state)
{
	static int64_t lengths[ROW_COUNT];
	static int64_t values[ROW_COUNT];
	PfsBlockGroups groups[2];
	Random random = { 44 };

	(void) state;
	for (uint32_t i = 0; i < ROW_COUNT; i++)
	{
		lengths[i] = (int64_t) random_below(&random, random_below(&random, 8) == 0 ? 60 : 2);
		values[i] = lengths[i] < 8 ? 0 : (int64_t) random_below(&random, 20);
	}
	for (uint32_t block = 0; block < pfs_block_count(ROW_COUNT); block++)
		groups[block] = (PfsBlockGroups){ .count = pfs_block_rows(ROW_COUNT, block),
										  .lengths = lengths + block * PFS_BLOCK_ROWS,
										  .has_value_each = true };
	forge_beside_groups(values, groups, PFS_TRANSFORM_BANDED);
}

static void
test_wrong_lengths_are_refused(void **state)
{
	(void) state;
	for (ValueShape shape = 0; shape < VALUE_SHAPE_COUNT; shape++)
	{
		PfsBytes bytes = encode(shape, 9, PFS_EFFORT_DENSE);
		uint8_t *longer = calloc(bytes.length + 1, 1);
		PfsError error;

		assert_non_null(longer);
		memcpy(longer, bytes.data, bytes.length);
		assert_int_equal(read_copy(longer, bytes.length + 1, ROW_COUNT, &error), PFS_CORRUPT);
		for (size_t length = 0; length < bytes.length; length++)
			assert_int_equal(read_copy(bytes.data, length, ROW_COUNT, &error), PFS_CORRUPT);
		free(longer);
		free(bytes.data);
	}
}

static void
test_unknown_encodings_are_unsupported(void **state)
{
	const uint8_t packing[] = { 0x08, 0x01, 0x00 };
	const uint8_t transform[] = { 0x00, 0x80, 0x00 };
	PfsError error;

	(void) state;
	assert_int_equal(read_copy(packing, sizeof(packing), 1, &error), PFS_UNSUPPORTED);
	assert_int_equal(error.offset, 0);
	assert_int_equal(read_copy(transform, sizeof(transform), 1, &error), PFS_UNSUPPORTED);
	assert_int_equal(error.offset, 1);
}

/* A header must not make the reader allocate memory beyond what the bytes account for. */
static void
test_short_stream_asks_for_little_memory(void **state)
{
	const uint8_t bytes[] = { 0x00, 0x01, 0x00, 0x01, 0x00 };
	TestHeap heap = { 0 };
	PfsStreamDecoder *decoder;
	PfsError error;

	(void) state;
	assert_int_equal(pfs_stream_open(bytes, sizeof(bytes), PFS_SEGMENT_MAX_ROWS,
									 test_allocator(&heap), &decoder, &error),
					 PFS_CORRUPT);
	assert_in_range(heap.largest, 0, 32 * 1024);
	assert_int_equal(heap.live, 0);
}

static void
test_planes_have_no_patches(void **state)
{
	/*
	 * two rows, PLAIN of 2 bits, kept bits 1, one patch; in packing "planes" one raw section of two
	 * bytes would follow
	 */
	const uint8_t bytes[] = { 0x01, 0x22, 0x00, 0x03, 0x01, 0x01, 0x00, 0x00, 0x00, 0x03 };
	PfsError error;

	(void) state;
	assert_int_equal(read_copy(bytes, sizeof(bytes), 2, &error), PFS_CORRUPT);
}

#define DISTINCT_COUNT	5000
#define DICTIONARY_ROWS (DISTINCT_COUNT * 5)

/* Values of a dictionary of several blocks. A block of rows needs few of these blocks. */
static int64_t
distinct_value(uint32_t rank)
{
	uint64_t noise = rank * UINT64_C(0x9e3779b97f4a7c15) >> 16;

	return (int64_t) (rank * UINT64_C(0x0003333333333331) + noise) - INT64_C(4000000000000000000);
}

/* Reads each block with a new decoder, so that it is the first to need its distinct values. */
static void
test_dictionary_is_decoded_as_needed(void **state)
{
	Random random = { 43 };
	TestHeap heap = { 0 };
	PfsAllocator allocator = test_allocator(&heap);
	int64_t *values = malloc(DICTIONARY_ROWS * sizeof(*values));
	PfsBytes bytes;
	PfsError error;

	(void) state;
	assert_non_null(values);
	for (uint32_t row = 0; row < DICTIONARY_ROWS; row++)
		values[row] =
			distinct_value((row / 50 * 10 + (uint32_t) random_below(&random, 10)) % DISTINCT_COUNT);
	assert_true(pfs_stream_encode(values, NULL, DICTIONARY_ROWS, NULL, PFS_EFFORT_DENSE, allocator,
								  &bytes));
	assert_true((bytes.data[0] & PFS_STREAM_DICTIONARY) != 0);
	for (uint32_t block = pfs_block_count(DICTIONARY_ROWS); block-- > 0;)
	{
		PfsStreamDecoder *decoder;
		const int64_t *expected = values + (size_t) block * PFS_BLOCK_ROWS;
		int64_t least = INT64_MAX;
		int64_t greatest = INT64_MIN;
		int64_t decoded[PFS_BLOCK_ROWS];
		int64_t range[2];

		assert_int_equal(pfs_stream_open(bytes.data, bytes.length, DICTIONARY_ROWS, allocator,
										 &decoder, &error),
						 PFS_OK);
		if (block % 2 == 0)
			assert_true(pfs_stream_range(decoder, block, &range[0], &range[1]));
		assert_int_equal(pfs_stream_block(decoder, block, NULL, decoded, &error), PFS_OK);
		for (uint32_t row = 0; row < pfs_block_rows(DICTIONARY_ROWS, block); row++)
		{
			assert_int_equal(decoded[row], expected[row]);
			least = expected[row] < least ? expected[row] : least;
			greatest = expected[row] > greatest ? expected[row] : greatest;
		}
		assert_true(block % 2 != 0 || (range[0] == least && range[1] == greatest));
		pfs_stream_close(decoder);
	}
	for (size_t i = 0; i < bytes.length; i += 1 + i / 16)
	{
		bytes.data[i] ^= 0x11;
		read_copy(bytes.data, bytes.length, DICTIONARY_ROWS, &error);
		bytes.data[i] ^= 0x11;
	}
	allocator.realloc(allocator.context, bytes.data, 0);
	assert_int_equal(heap.live, 0);
	free(values);
}

/* A block with ranks beyond those of its dictionary is damaged. */
static void
test_ranks_lie_in_the_dictionary(void **state)
{
	static const int64_t distinct[] = { 10, 20, 30 };
	static const int64_t ranks[] = { 0, 2, 3, 4, 1000, INT64_MAX, -1, INT64_MIN };
	TestHeap heap = { 0 };
	PfsAllocator allocator = test_allocator(&heap);
	PfsBytes dictionary;

	(void) state;
	assert_true(
		pfs_stream_encode(distinct, NULL, 3, NULL, PFS_EFFORT_DENSE, allocator, &dictionary));
	for (size_t i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++)
	{
		PfsBlockShape shape = {
			.transform = PFS_TRANSFORM_CONSTANT, .row_count = 5, .least = ranks[i], .divisor = 1
		};
		PfsEntryContext context = PFS_ENTRY_CONTEXT_INIT;
		PfsBuffer stream;
		PfsStreamDecoder *decoder = NULL;
		PfsError error;

		pfs_buffer_init(&stream, allocator);
		pfs_buffer_put_byte(&stream, PFS_PACKING_BITS | PFS_STREAM_DICTIONARY);
		pfs_buffer_put_varint(&stream, 3);
		pfs_buffer_put_varint(&stream, dictionary.length);
		pfs_buffer_put(&stream, dictionary.data, dictionary.length);
		pfs_entry_write(&stream, &shape, &context);
		assert_false(stream.failed);
		assert_int_equal(pfs_stream_open(stream.data, stream.length, 5, allocator, &decoder,
										 &error),
						 ranks[i] >= 0 && ranks[i] < 3 ? PFS_OK : PFS_CORRUPT);
		pfs_stream_close(decoder);
		pfs_buffer_fini(&stream);
	}
	allocator.realloc(allocator.context, dictionary.data, 0);
	assert_int_equal(heap.live, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forged_bytes_do_no_harm),
		cmocka_unit_test(test_forged_blocks_beside_groups_do_no_harm),
		cmocka_unit_test(test_forged_blocks_of_a_value_each_do_no_harm),
		cmocka_unit_test(test_wrong_lengths_are_refused),
		cmocka_unit_test(test_unknown_encodings_are_unsupported),
		cmocka_unit_test(test_short_stream_asks_for_little_memory),
		cmocka_unit_test(test_planes_have_no_patches),
		cmocka_unit_test(test_dictionary_is_decoded_as_needed),
		cmocka_unit_test(test_ranks_lie_in_the_dictionary),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
