/*
 * test_bytes.c
 *		Buffer, cursor, varints, zigzag and CRC-32C.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codec/bytes.h"
#include "codec/crc32c.h"
#include "test/unit/codec_harness.h"
#include "test/unit/values.h"

/* Computes CRC-32C by its definition, one bit at a time. */
static uint32_t
oracle_crc32c(const uint8_t *bytes, size_t length)
{
	uint32_t crc = 0xffffffff;

	for (size_t i = 0; i < length; i++)
	{
		crc ^= bytes[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ 0x82f63b78 : crc >> 1;
	}
	return ~crc;
}

static void
test_crc32c(void **state)
{
	uint8_t bytes[300];
	Random random = { 21 };

	(void) state;
	assert_int_equal(pfs_crc32c("123456789", 9), 0xe3069283);
	assert_int_equal(pfs_crc32c_portable("123456789", 9), 0xe3069283);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t) random_next(&random);
	for (size_t start = 0; start < 9; start++)
		for (size_t length = 0; start + length <= sizeof(bytes); length++)
		{
			uint32_t expected = oracle_crc32c(bytes + start, length);

			assert_int_equal(pfs_crc32c(bytes + start, length), expected);
			assert_int_equal(pfs_crc32c_portable(bytes + start, length), expected);
		}
}

static void
test_zigzag(void **state)
{
	static const int64_t numbers[] = { 0, -1, 1, -2, 2, INT64_MAX, INT64_MIN };
	static const uint64_t expected[] = { 0, 1, 2, 3, 4, UINT64_MAX - 1, UINT64_MAX };

	(void) state;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
	{
		assert_int_equal(pfs_zigzag(numbers[i]), expected[i]);
		assert_int_equal(pfs_unzigzag(expected[i]), numbers[i]);
	}
}

static void
test_bit_width(void **state)
{
	(void) state;
	assert_int_equal(pfs_bit_width(0), 0);
	for (unsigned width = 1; width <= 64; width++)
	{
		assert_int_equal(pfs_bit_width(UINT64_C(1) << (width - 1)), width);
		assert_int_equal(pfs_bit_width(UINT64_MAX >> (64 - width)), width);
	}
}

static void
test_written_fields_come_back(void **state)
{
	TestHeap heap = { 0 };
	PfsBuffer buffer;
	PfsBytes bytes;
	PfsCursor cursor;

	(void) state;
	pfs_buffer_init(&buffer, test_allocator(&heap));
	for (unsigned width = 0; width <= 64; width++)
		pfs_buffer_put_varint(&buffer, width == 0 ? 0 : UINT64_MAX >> (64 - width));
	pfs_buffer_put_byte(&buffer, 0xfe);
	pfs_buffer_put16(&buffer, 0x1234);
	pfs_buffer_put32(&buffer, 0xdeadbeef);
	pfs_buffer_put(&buffer, "", 0);
	bytes = pfs_buffer_take(&buffer);
	cursor = pfs_cursor(bytes.data, bytes.length);
	for (unsigned width = 0; width <= 64; width++)
		assert_int_equal(pfs_cursor_varint(&cursor), width == 0 ? 0 : UINT64_MAX >> (64 - width));
	assert_int_equal(pfs_cursor_byte(&cursor), 0xfe);
	assert_int_equal(pfs_cursor_get16(&cursor), 0x1234);
	assert_int_equal(pfs_cursor_get32(&cursor), 0xdeadbeef);
	assert_false(cursor.failed);
	assert_int_equal(cursor.offset, bytes.length);
	assert_int_equal(pfs_cursor_byte(&cursor), 0);
	assert_true(cursor.failed);
	/* a cursor that has failed also refuses reads that would fit */
	assert_null(pfs_cursor_take(&cursor, 0));
	heap.live--;
	free(bytes.data);
	pfs_buffer_fini(&buffer);
	assert_int_equal(heap.live, 0);
}

static void
expect_bad_varint(const uint8_t *bytes, size_t length)
{
	PfsCursor cursor = pfs_cursor(bytes, length);

	assert_int_equal(pfs_cursor_varint(&cursor), 0);
	assert_true(cursor.failed);
}

static void
test_bad_varints_are_refused(void **state)
{
	const uint8_t cut[] = { 0x80, 0x80 };
	const uint8_t not_shortest[] = { 0x81, 0x00 };
	const uint8_t too_large[] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02 };
	const uint8_t too_long[] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x81, 0x01 };

	(void) state;
	expect_bad_varint(cut, 0);
	expect_bad_varint(cut, sizeof(cut));
	expect_bad_varint(not_shortest, sizeof(not_shortest));
	expect_bad_varint(too_large, sizeof(too_large));
	expect_bad_varint(too_long, sizeof(too_long));
}

static void
test_buffer_remembers_failure(void **state)
{
	TestHeap heap = { .fail_after = 1 };
	PfsBuffer buffer;

	(void) state;
	pfs_buffer_init(&buffer, test_allocator(&heap));
	pfs_buffer_put_byte(&buffer, 1);
	assert_true(buffer.failed);
	pfs_buffer_put_byte(&buffer, 2);
	assert_true(buffer.failed);
	assert_int_equal(buffer.length, 0);
	assert_int_equal(heap.allocations, 1);
	pfs_buffer_fini(&buffer);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_crc32c),
		cmocka_unit_test(test_zigzag),
		cmocka_unit_test(test_bit_width),
		cmocka_unit_test(test_written_fields_come_back),
		cmocka_unit_test(test_bad_varints_are_refused),
		cmocka_unit_test(test_buffer_remembers_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
