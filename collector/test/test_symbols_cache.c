/*
 * test_symbols_cache.c
 *		The symbolizer's containers compared with simple ones: results under a budget, nested
 *		address ranges, the choice among names.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/elf/symbol_name.h"
#include "symbols/result_cache.h"
#include "symbols/worker/address_ranges.h"

static uint32_t seed = 7;

static uint32_t
next_random(void)
{
	seed = seed * 1664525 + 1013904223;
	return seed >> 8;
}

/* Computes the answer that the test adds for a key, and so expects. */
static void
make_lines(uint64_t binary, uint64_t address, char text[64], SymbolLine lines[2],
		   SymbolLines *found)
{
	snprintf(text, 64, "function_%u", (unsigned) (address / 16));
	lines[0] = (SymbolLine){ text, text, "/file.c", (int32_t) binary, (int32_t) address };
	lines[1] = (SymbolLine){ "outer", "_Z5outerv", "", 0, 0 };
	*found = (SymbolLines){ (uint32_t) (address % 3), lines };
}

static void
expect_lines(uint64_t binary, uint64_t address, const SymbolLines *found)
{
	SymbolLine lines[2];
	SymbolLines expected;
	char text[64];

	make_lines(binary, address, text, lines, &expected);
	assert_int_equal(found->count, expected.count);
	for (uint32_t i = 0; i < expected.count; i++)
	{
		assert_string_equal(found->lines[i].name, lines[i].name);
		assert_string_equal(found->lines[i].system_name, lines[i].system_name);
		assert_string_equal(found->lines[i].filename, lines[i].filename);
		assert_int_equal(found->lines[i].start_line, lines[i].start_line);
		assert_int_equal(found->lines[i].line, lines[i].line);
	}
}

/* Looks a key up, and adds it if it is missing. Returns true if it was present. */
static bool
visit(ResultCache *cache, uint64_t binary, uint64_t address)
{
	SymbolLine lines[2];
	SymbolLines made;
	SymbolLines stored;
	char text[64];
	bool known = result_cache_find(cache, binary, address, &stored);

	if (!known)
	{
		make_lines(binary, address, text, lines, &made);
		assert_int_equal(result_cache_add(cache, binary, address, &made, &stored), 0);
	}
	expect_lines(binary, address, &stored);
	return known;
}

static void
keeps_all_within_budget(void **state)
{
	ResultCache *cache;

	assert_int_equal(result_cache_create(4 << 20, &cache), 0);
	for (uint64_t i = 0; i < 5000; i++)
		assert_false(visit(cache, i % 7, i * 5));
	for (uint64_t i = 0; i < 5000; i++)
		assert_true(visit(cache, i % 7, i * 5));
	assert_false(visit(cache, 8, 0));
	assert_int_equal(result_cache_evictions(cache), 0);
	assert_in_range(result_cache_bytes(cache), 1, 2 << 20);
	result_cache_free(cache);
}

/* Of more keys than fit, those that are used all the time stay; all removed ones are counted. */
static void
keeps_what_is_used(void **state)
{
	const size_t budget = 1 << 20;
	uint64_t hot_misses = 0;
	uint64_t added = 0;
	ResultCache *cache;

	assert_int_equal(result_cache_create(budget, &cache), 0);
	for (uint64_t i = 0; i < 200000; i++)
	{
		uint64_t hot = next_random() % 200;

		added += !visit(cache, 1, 1000 + i * 3);
		if (!visit(cache, 2, hot))
		{
			hot_misses++;
			added++;
		}
		/* an array that doubles may exceed its half of the budget once */
		assert_true(result_cache_bytes(cache) < 2 * budget);
	}
	assert_true(hot_misses < 400);
	assert_in_range(result_cache_evictions(cache), added - 20000, added);
	result_cache_free(cache);
}

/* Sorted ranges that do not overlap are found by bisection, however they overlapped before. */
static void
expect_no_overlap(const AddressRanges *ranges, size_t added)
{
	assert_true(ranges->count < 2 * added);
	for (size_t i = 1; i < ranges->count; i++)
		assert_true(ranges->items[i].low - ranges->items[i - 1].low >=
					ranges->items[i - 1].size_bytes);
}

/* One range covers many that begin later, and each of others covers all that follow. */
static void
cuts_ranges_that_cover_many(void **state)
{
	const uint32_t count = 50000;
	AddressRanges flat = { 0 };
	AddressRanges nested = { 0 };
	uint32_t value;

	assert_int_equal(address_ranges_add(&flat, 0, 4 * count, count), 0);
	for (uint32_t i = 0; i < count; i++)
	{
		assert_int_equal(address_ranges_add(&flat, 2 * i, 2 * i + 1, i), 0);
		assert_int_equal(address_ranges_add(&nested, i, 2 * count - i, i), 0);
	}
	assert_int_equal(address_ranges_sort(&flat), 0);
	assert_int_equal(address_ranges_sort(&nested), 0);
	expect_no_overlap(&flat, count + 1);
	expect_no_overlap(&nested, count);
	for (uint32_t i = 0; i < count; i++)
	{
		assert_true(address_ranges_find(&flat, 2 * i, &value) && value == i);
		assert_true(address_ranges_find(&flat, 2 * i + 1, &value) && value == count);
		assert_true(address_ranges_find(&nested, i, &value) && value == i);
		assert_true(address_ranges_find(&nested, 2 * count - 1 - i, &value) && value == i);
	}
	assert_true(address_ranges_find(&flat, 4 * count - 1, &value) && value == count);
	assert_false(address_ranges_find(&flat, 4 * count, &value));
	assert_false(address_ranges_find(&nested, 2 * count, &value));
	address_ranges_fini(&flat);
	address_ranges_fini(&nested);
}

static void
finds_the_innermost_range(void **state)
{
	AddressRanges ranges = { 0 };
	struct
	{
		uint64_t low;
		uint64_t high;
	} naive[300];

	for (uint32_t i = 0; i < 300; i++)
	{
		naive[i].low = next_random() % 5000;
		naive[i].high = naive[i].low + next_random() % (i % 10 == 0 ? 2000 : 60);
		assert_int_equal(address_ranges_add(&ranges, naive[i].low, naive[i].high, i), 0);
	}
	assert_int_equal(address_ranges_sort(&ranges), 0);
	expect_no_overlap(&ranges, 300);
	for (uint64_t address = 0; address < 7100; address++)
	{
		uint32_t value = 0;
		int best = -1;
		bool found = address_ranges_find(&ranges, address, &value);

		for (int i = 0; i < 300; i++)
			if (address >= naive[i].low && address < naive[i].high &&
				(best < 0 || naive[i].low > naive[best].low ||
				 (naive[i].low == naive[best].low && naive[i].high < naive[best].high)))
				best = i;
		assert_int_equal(found, best >= 0);
		if (!found)
			continue;
		assert_int_equal(naive[value].low, naive[best].low);
		assert_int_equal(naive[value].high, naive[best].high);
	}
	address_ranges_fini(&ranges);
}

static void
prefers_plain_names(void **state)
{
	char versioned[] = "memcpy@@GLIBC_2.14";
	char plain[] = "memcpy";

	assert_true(symbol_name_compare("read", "__read") < 0);
	assert_true(symbol_name_compare("_exit", "__exit") < 0);
	assert_true(symbol_name_compare("puts", "_IO_puts") < 0);
	assert_true(symbol_name_compare("open64", "open") > 0);
	assert_true(symbol_name_compare("abc", "abd") < 0);
	assert_int_equal(symbol_name_compare("same", "same"), 0);
	symbol_name_cut_version(versioned);
	assert_string_equal(versioned, "memcpy");
	symbol_name_cut_version(plain);
	assert_string_equal(plain, "memcpy");
	assert_true(symbol_name_is_mark("$x"));
	assert_true(symbol_name_is_mark("$d.17"));
	assert_true(symbol_name_is_mark(".Lloop"));
	assert_false(symbol_name_is_mark("$main"));
	assert_false(symbol_name_is_mark("a"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_all_within_budget),	 cmocka_unit_test(keeps_what_is_used),
		cmocka_unit_test(finds_the_innermost_range), cmocka_unit_test(cuts_ranges_that_cover_many),
		cmocka_unit_test(prefers_plain_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
