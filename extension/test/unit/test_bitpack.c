/*
 * test_bitpack.c
 *		Compares bit-packing and patches with naive oracles, for every width and around every count.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codec/bitpack.h"
#include "codec/crc32c.h"
#include "codec/patched.h"
#include "test/unit/values.h"

#define GUARD_BYTES 16
#define GUARD		0xa5

/* Returns the position in the bytes of a bit of a value, as bitpack.h draws the layouts. */
static size_t
oracle_bit(uint32_t index, unsigned bit, uint32_t count, unsigned width)
{
	unsigned word_bits = width <= 32 ? 32 : 64;
	unsigned lanes = 1024 / word_bits;
	unsigned lane_bit = index / lanes * width + bit;

	if (count != PFS_BLOCK_ROWS)
		return (size_t) index * width + bit;
	return ((size_t) (lane_bit / word_bits) * lanes + index % lanes) * word_bits +
		   lane_bit % word_bits;
}

static void
oracle_pack(const uint64_t *values, uint32_t count, unsigned width, uint8_t *bytes)
{
	memset(bytes, 0, pfs_bitpack_size(count, width));
	for (uint32_t i = 0; i < count; i++)
		for (unsigned bit = 0; bit < width; bit++)
		{
			size_t place = oracle_bit(i, bit, count, width);

			bytes[place / 8] |= (uint8_t) ((values[i] >> bit & 1) << place % 8);
		}
}

static void
fill_width(Random *random, uint64_t *values, uint32_t count, unsigned width)
{
	for (uint32_t i = 0; i < count; i++)
		values[i] = width == 0 ? 0 : random_next(random) >> (64 - width);
}

static void
check_bitpack(Random *random, uint32_t count, unsigned width)
{
	size_t size = pfs_bitpack_size(count, width);
	uint64_t values[PFS_BLOCK_ROWS];
	uint64_t unpacked[PFS_BLOCK_ROWS];
	uint8_t expected[PFS_BLOCK_ROWS * 8];
	uint8_t packed[PFS_BLOCK_ROWS * 8 + GUARD_BYTES];
	uint8_t *exact = malloc(size + 1);

	assert_non_null(exact);
	fill_width(random, values, count, width);
	oracle_pack(values, count, width, expected);
	memset(packed, GUARD, sizeof(packed));
	pfs_bitpack(values, count, width, packed);
	assert_memory_equal(packed, expected, size);
	for (size_t i = size; i < size + GUARD_BYTES; i++)
		assert_int_equal(packed[i], GUARD);
	/*
	 * copy the bytes to an odd address, ending where the heap block ends, so that a read past the
	 * end and a need for alignment both show
	 */
	memcpy(exact + 1, packed, size);
	pfs_bitunpack(exact + 1, count, width, unpacked);
	assert_memory_equal(unpacked, values, count * sizeof(values[0]));
	free(exact);
}

static void
test_every_width_and_count(void **state)
{
	static const uint32_t counts[] = {
		1, 2, 7, 8, 9, 31, 32, 33, 63, 64, 65, 500, 1022, 1023, 1024
	};
	Random random = { 11 };

	(void) state;
	for (unsigned width = 0; width <= 64; width++)
		for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
			check_bitpack(&random, counts[i], width);
}

static void
test_full_block_size(void **state)
{
	(void) state;
	for (unsigned width = 0; width <= 64; width++)
		assert_int_equal(pfs_bitpack_size(PFS_BLOCK_ROWS, width), 128 * width);
}

/* Compares one checksum over a block of every width, so that the layout cannot change unnoticed. */
static void
test_layout_is_frozen(void **state)
{
	static uint8_t all[65 * PFS_BLOCK_ROWS * 8];
	Random random = { 12 };
	size_t length = 0;

	(void) state;
	for (unsigned width = 1; width <= 64; width++)
	{
		uint64_t values[PFS_BLOCK_ROWS];

		fill_width(&random, values, PFS_BLOCK_ROWS, width);
		pfs_bitpack(values, PFS_BLOCK_ROWS, width, all + length);
		length += pfs_bitpack_size(PFS_BLOCK_ROWS, width);
	}
	assert_int_equal(pfs_crc32c(all, length), 0xb3c355ae);
}

static void
check_patched(const uint64_t *numbers, uint32_t count, unsigned bits)
{
	PfsArrayShape shape = pfs_array_plan(numbers, count, bits);
	size_t size = pfs_array_size(&shape);
	uint64_t unpacked[PFS_BLOCK_ROWS];
	uint8_t *bytes = malloc(size + 1);
	uint32_t patch_count = 0;

	assert_non_null(bytes);
	assert_int_equal(shape.count, count);
	assert_in_range(size, 0, pfs_bitpack_size(count, bits));
	for (uint32_t i = 0; i < count; i++)
		patch_count += shape.kept_bits < 64 && numbers[i] >> shape.kept_bits != 0;
	assert_int_equal(shape.patch_count, patch_count);
	bytes[size] = GUARD;
	pfs_array_pack(numbers, &shape, bytes);
	assert_int_equal(bytes[size], GUARD);
	assert_true(pfs_array_unpack(bytes, &shape, unpacked));
	assert_memory_equal(unpacked, numbers, count * sizeof(numbers[0]));
	free(bytes);
}

static void
test_patches_come_back(void **state)
{
	Random random = { 13 };

	(void) state;
	for (int round = 0; round < 3000; round++)
	{
		uint32_t count =
			round % 3 == 0 ? PFS_BLOCK_ROWS : 1 + (uint32_t) random_below(&random, 1024);
		uint64_t one_in = 1 + random_below(&random, 300);
		unsigned small = (unsigned) random_below(&random, 30);
		unsigned large = small + (unsigned) random_below(&random, 65 - small);
		uint64_t numbers[PFS_BLOCK_ROWS];
		uint64_t most = 0;

		for (uint32_t i = 0; i < count; i++)
		{
			unsigned width = random_below(&random, one_in) == 0 ? large : small;

			numbers[i] = width == 0 ? 0 : random_next(&random) >> (64 - width);
			most |= numbers[i];
		}
		check_patched(numbers, count, most == 0 ? 0 : 64 - (unsigned) __builtin_clzll(most));
	}
}

static void
test_few_large_numbers_are_patched(void **state)
{
	uint64_t numbers[PFS_BLOCK_ROWS] = { 0 };
	PfsArrayShape shape;

	(void) state;
	for (uint32_t i = 0; i < PFS_BLOCK_ROWS; i++)
		numbers[i] = i % 4;
	numbers[0] = numbers[500] = numbers[1023] = UINT64_MAX;
	shape = pfs_array_plan(numbers, PFS_BLOCK_ROWS, 64);
	assert_int_equal(shape.kept_bits, 2);
	assert_int_equal(shape.patch_count, 3);
	assert_int_equal(shape.gap_bits, 10);
	assert_in_range(pfs_array_size(&shape), 256, 256 + 4 + 24);
	check_patched(numbers, PFS_BLOCK_ROWS, 64);
}

static void
test_patch_outside_is_refused(void **state)
{
	PfsArrayShape shape = { 10, 2, 8, 0, 4 };
	uint8_t bytes[] = { 0x45, 1, 1 }; /* gaps 5 and 4: positions 5 and 10 */
	uint64_t numbers[10];

	(void) state;
	assert_false(pfs_array_unpack(bytes, &shape, numbers));
	bytes[0] = 0x35; /* positions 5 and 9 */
	assert_true(pfs_array_unpack(bytes, &shape, numbers));
	assert_int_equal(numbers[9], 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_width_and_count),
		cmocka_unit_test(test_full_block_size),
		cmocka_unit_test(test_layout_is_frozen),
		cmocka_unit_test(test_patches_come_back),
		cmocka_unit_test(test_few_large_numbers_are_patched),
		cmocka_unit_test(test_patch_outside_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
