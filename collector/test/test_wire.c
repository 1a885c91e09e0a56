/*
 * test_wire.c
 *		Binary formats byte by byte, unexpected answers, and the cache of ids.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "database/wire.h"
#include "writer/id_cache.h"

static void
assert_bytes(const Buffer *buffer, const char *expected, size_t length)
{
	assert_false(buffer->failed);
	assert_int_equal(buffer->length, length);
	assert_memory_equal(buffer->bytes, expected, length);
}

#define ASSERT_BYTES(buffer, expected) assert_bytes(buffer, expected, sizeof(expected) - 1)

static void
test_arrays(void **state)
{
	Buffer buffer = { NULL };
	size_t begun;

	wire_array(&buffer, WIRE_INT4, 0);
	ASSERT_BYTES(&buffer, "\0\0\0\0\0\0\0\0\0\0\0\x17");
	buffer_reset(&buffer);
	wire_array(&buffer, WIRE_INT8, 2);
	wire_int8_element(&buffer, 1);
	wire_int8_element(&buffer, -2);
	ASSERT_BYTES(&buffer, "\0\0\0\1\0\0\0\0\0\0\0\x14\0\0\0\2\0\0\0\1"
						  "\0\0\0\x8\0\0\0\0\0\0\0\1\0\0\0\x8\xff\xff\xff\xff\xff\xff\xff\xfe");
	buffer_reset(&buffer);
	wire_array(&buffer, WIRE_TEXT, 2);
	wire_text_element(&buffer, "");
	begun = wire_begin(&buffer);
	buffer_put_bytes(&buffer, "abc", 3);
	wire_end(&buffer, begun);
	ASSERT_BYTES(&buffer, "\0\0\0\1\0\0\0\0\0\0\0\x19\0\0\0\2\0\0\0\1\0\0\0\0\0\0\0\3"
						  "abc");
	buffer_fini(&buffer);
}

static void
test_copy(void **state)
{
	Buffer buffer = { NULL };
	char row[WIRE_SAMPLE_BYTES];
	int64_t timestamp_us = 0;

	wire_copy_header(&buffer);
	assert_int_equal(buffer.length, WIRE_COPY_HEADER_BYTES);
	wire_copy_trailer(&buffer);
	ASSERT_BYTES(&buffer, "PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0\0\xff\xff");
	buffer_fini(&buffer);

	wire_copy_sample(row, 1, 2, 3, -1);
	assert_memory_equal(row,
						"\0\4\0\0\0\x8\0\0\0\0\0\0\0\1\0\0\0\4\0\0\0\2"
						"\0\0\0\x8\0\0\0\0\0\0\0\3\0\0\0\x8\xff\xff\xff\xff\xff\xff\xff\xff",
						sizeof(row));

	assert_true(wire_timestamp(INT64_C(946684800000001), &timestamp_us));
	assert_int_equal(timestamp_us, 1);
	assert_false(wire_timestamp(INT64_MIN, &timestamp_us));
}

/*
 * A good answer that is cut, or has a byte changed, is refused, unless the byte is part of a value.
 */
static void
test_results(void **state)
{
	Buffer buffer = { NULL };
	int64_t values[2] = { 0, 0 };
	char *copy;

	wire_array(&buffer, WIRE_INT4, 2);
	wire_int4_element(&buffer, 7);
	wire_int4_element(&buffer, -8);
	assert_true(wire_ints(buffer.bytes, buffer.length, WIRE_INT4, 2, values));
	assert_int_equal(values[0], 7);
	assert_int_equal(values[1], -8);
	assert_false(wire_ints(buffer.bytes, buffer.length, WIRE_INT8, 2, values));
	assert_false(wire_ints(buffer.bytes, buffer.length, WIRE_INT4, 1, values));
	assert_false(wire_ints(buffer.bytes, buffer.length, WIRE_INT4, 3, values));
	assert_false(wire_ints(buffer.bytes, buffer.length, WIRE_INT4, 0, values));
	for (size_t length = 0; length < buffer.length; length++)
	{
		/* memory of exactly that size, so that a memory checker detects a read beyond it */
		copy = malloc(length + 1);
		memcpy(copy, buffer.bytes, length);
		copy = realloc(copy, length ? length : 1);
		assert_false(wire_ints(copy, length, WIRE_INT4, 2, values));
		free(copy);
	}
	for (size_t i = 0; i < buffer.length; i++)
	{
		/* the index from which the server counts is not checked */
		bool is_bound = i >= 16 && i < 20;
		bool is_value = (i >= 24 && i < 28) || (i >= 32 && i < 36);

		buffer.bytes[i] ^= 0x40;
		assert_int_equal(wire_ints(buffer.bytes, buffer.length, WIRE_INT4, 2, values),
						 is_bound || is_value);
		buffer.bytes[i] ^= 0x40;
	}
	buffer_reset(&buffer);
	wire_array(&buffer, WIRE_INT8, 0);
	assert_true(wire_ints(buffer.bytes, buffer.length, WIRE_INT8, 0, values));
	assert_false(wire_ints(buffer.bytes, buffer.length, WIRE_INT8, 1, values));
	buffer_fini(&buffer);
}

static int64_t
id_for(uint32_t i)
{
	return (int64_t) i * 3 - 1000;
}

/* However small the budget, an answer is correct or absent; entries in use stay. */
static void
test_id_cache(void **state)
{
	static const size_t budgets[] = { 0, 1000, 5000, 50000, 1000000 };

	for (size_t b = 0; b < sizeof(budgets) / sizeof(budgets[0]); b++)
	{
		IdCache cache;
		uint32_t known = 0;
		int64_t id;

		id_cache_init(&cache, budgets[b]);
		for (uint32_t i = 0; i < 5000; i++)
		{
			uint32_t hot[] = { i % 5, 0xffffffff };

			id_cache_put(&cache, &i, sizeof(i), id_for(i));
			id_cache_put(&cache, &i, sizeof(i), id_for(i));
			if (!id_cache_find(&cache, hot, sizeof(hot), &id))
				id_cache_put(&cache, hot, sizeof(hot), -(int64_t) hot[0]);
			else
				assert_int_equal(id, -(int64_t) hot[0]);
			assert_true(cache.generations[0].budget.used_bytes <= budgets[b] / 2);
			assert_true(cache.generations[1].budget.used_bytes <= budgets[b] / 2);
		}
		for (uint32_t i = 0; i < 5000; i++)
		{
			if (!id_cache_find(&cache, &i, sizeof(i), &id))
				continue;
			assert_int_equal(id, id_for(i));
			known++;
		}
		if (budgets[b] == 1000000)
			assert_int_equal(known, 5000);
		if (budgets[b] == 50000)
			assert_in_range(known, 100, 4999);
		if (budgets[b] == 0)
			assert_int_equal(known, 0);
		id_cache_clear(&cache);
		assert_false(id_cache_find(&cache, &known, sizeof(known), &id));
		assert_int_equal(cache.generations[0].budget.used_bytes, 0);
		assert_int_equal(cache.generations[1].budget.used_bytes, 0);
	}
}

/* Entries that are used again and again stay, however many others are added. */
static void
test_id_cache_keeps_what_is_used(void **state)
{
	IdCache cache;
	const uint32_t hot = 0xffffffff;
	int64_t id = 0;

	id_cache_init(&cache, 20000);
	id_cache_put(&cache, &hot, sizeof(hot), 42);
	for (uint32_t i = 0; i < 100000; i++)
	{
		id_cache_put(&cache, &i, sizeof(i), i);
		assert_true(id_cache_find(&cache, &hot, sizeof(hot), &id));
		assert_int_equal(id, 42);
	}
	id_cache_clear(&cache);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arrays),
		cmocka_unit_test(test_copy),
		cmocka_unit_test(test_results),
		cmocka_unit_test(test_id_cache),
		cmocka_unit_test(test_id_cache_keeps_what_is_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
