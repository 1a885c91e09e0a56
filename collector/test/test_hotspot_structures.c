/*
 * test_hotspot_structures.c
 *		HotSpot's counters, tables, numbers and lines, as bytes that the test makes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "process/patience.h"
#include "runtimes/hotspot/hotspot_layout.h"
#include "runtimes/hotspot/hotspot_streams.h"
#include "runtimes/hotspot/hotspot_unloads.h"

#define COUNTER_BYTES 64

/* A virtual machine's counters: a head, and entries; here the test's own. */
typedef struct Counters
{
	uint32_t magic;
	uint32_t version;
	uint32_t used;
	uint32_t unused[3];
	uint32_t first;
	uint32_t count;
	struct
	{
		uint32_t length;
		uint32_t name;
		uint32_t vector;
		uint8_t type;
		uint8_t unused[3];
		uint32_t value;
		char text[COUNTER_BYTES - 28];
		uint64_t number;
	} entries[4];
} Counters;

static void
fill_counters(Counters *counters)
{
	static const char *const names[] = { "java.cls.loadedClasses", "java.cls.unloadedClasses2",
										 "java.cls.unloadedClasses", "java.cls.unloadedClasses" };

	memset(counters, 0, sizeof(*counters));
	counters->magic = 0xc0c0feca;
	counters->used = sizeof(*counters);
	counters->first = offsetof(Counters, entries);
	counters->count = 4;
	for (uint64_t i = 0; i < 4; i++)
	{
		counters->entries[i].length = COUNTER_BYTES;
		counters->entries[i].name = 20;
		counters->entries[i].type = 'J';
		counters->entries[i].value = COUNTER_BYTES - 8;
		counters->entries[i].number = i;
		strcpy(counters->entries[i].text, names[i]);
	}
}

/* The number of unloaded classes is found by its name, and in damaged counters not outside them. */
static void
test_counters(void **state)
{
	static Counters counters;
	uint64_t start = (uintptr_t) &counters;
	Patience patience;
	RemoteMemory memory = { .patience = &patience, .pid = (uint32_t) getpid() };
	const uint64_t variable = (uintptr_t) &start;
	uint32_t *const numbers[] = { &counters.first, &counters.entries[0].length,
								  &counters.entries[2].name, &counters.entries[2].value };

	assert_int_equal(patience_init(&patience), 0);
	fill_counters(&counters);
	assert_int_equal(hotspot_unloads_find(&memory, variable),
					 (uintptr_t) &counters.entries[2].number);
	assert_int_equal(hotspot_unloads_read(&memory, (uintptr_t) &counters.entries[2].number), 2);
	/* an address that cannot be read */
	assert_int_equal(hotspot_unloads_read(&memory, 4096), UINT64_MAX);
	assert_int_equal(hotspot_unloads_read(&memory, 0), 0);

	counters.entries[2].type = 'B';
	assert_int_equal(hotspot_unloads_find(&memory, variable),
					 (uintptr_t) &counters.entries[3].number);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
	{
		for (int bit = 0; bit < 32; bit++)
		{
			uint64_t found;

			fill_counters(&counters);
			*numbers[i] ^= UINT32_C(1) << bit;
			found = hotspot_unloads_find(&memory, variable);
			assert_true(found == 0 || (found >= start && found <= start + sizeof(counters) - 8));
		}
	}
	fill_counters(&counters);
	counters.magic = 0;
	assert_int_equal(hotspot_unloads_find(&memory, variable), 0);
	fill_counters(&counters);
	counters.used = UINT32_MAX; /* more than can be read */
	(void) hotspot_unloads_find(&memory, variable);
	counters.used = offsetof(Counters, entries) + 10;
	assert_int_equal(hotspot_unloads_find(&memory, variable), 0);
	start = 4096;
	assert_int_equal(hotspot_unloads_find(&memory, variable), 0);
	assert_int_equal(hotspot_unloads_find(&memory, 0), 0);
	patience_fini(&patience);
}

/* Before the virtual machine has set up its tables there is nothing to read. */
static void
test_not_yet(void **state)
{
	HotSpotFile file = { .is_known = true };
	uint64_t words[64] = { 0 };
	Patience patience;
	RemoteMemory memory = { .patience = &patience, .pid = (uint32_t) getpid() };
	HotSpotLayout layout;

	assert_int_equal(patience_init(&patience), 0);
	for (int i = 0; i < HOTSPOT_EXPORTS; i++)
		file.exports[i] = (uint64_t) (uintptr_t) &words[i];
	assert_int_equal(hotspot_layout_read(&memory, &file, 0, &layout), HOTSPOT_NOT_YET);

	/* an entry that is too large, then tables without the searched entry */
	words[HOTSPOT_STRUCTS] = (uint64_t) (uintptr_t) words;
	words[HOTSPOT_TYPES] = (uint64_t) (uintptr_t) words;
	assert_int_equal(hotspot_layout_read(&memory, &file, 0, &layout), HOTSPOT_NOT_YET);
	words[HOTSPOT_STRUCT_STRIDE] = UINT64_C(1) << 40;
	words[HOTSPOT_TYPE_STRIDE] = 48;
	assert_int_equal(hotspot_layout_read(&memory, &file, 0, &layout), HOTSPOT_UNKNOWN);
	words[HOTSPOT_STRUCT_STRIDE] = 48;
	words[HOTSPOT_TYPE_STRIDE] = 48;
	assert_int_equal(hotspot_layout_read(&memory, &file, 0, &layout), HOTSPOT_NOT_YET);
	/* a field in front of its entry */
	words[HOTSPOT_STRUCT_FIELD] = UINT64_MAX - 7;
	assert_int_equal(hotspot_layout_read(&memory, &file, 0, &layout), HOTSPOT_UNKNOWN);
	patience_fini(&patience);
}

/* Writes a number in HotSpot's encoding. */
static uint8_t *
put_number(uint8_t *to, uint32_t number, uint8_t excess)
{
	const uint32_t low = 192U - excess;

	for (int i = 0; i < 4 && number >= low; i++)
	{
		number -= low;
		*to++ = (uint8_t) (low + (number & 63) + excess);
		number >>= 6;
	}
	*to++ = (uint8_t) (number + excess);
	return to;
}

static void
test_numbers(void **state)
{
	const uint32_t numbers[] = { 0,			 1,			 63,		 64,		190,   191,
								 192,		 255,		 256,		 12479,		12480, 0xffff,
								 0x12345678, 0x7fffffff, 0xfffffffe, 0xffffffff };

	for (uint8_t excess = 0; excess < 2; excess++)
	{
		for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		{
			uint8_t bytes[8];
			uint8_t *end = put_number(bytes, numbers[i], excess);
			HotSpotStream stream = { bytes, end, excess };
			uint32_t number;

			assert_true(hotspot_number(&stream, &number));
			assert_int_equal(number, numbers[i]);
			assert_ptr_equal(stream.at, end);
			stream = (HotSpotStream){ bytes, end - 1, excess };
			assert_false(hotspot_number(&stream, &number));
		}
	}
}

/* A table of lines that go forwards and backwards. */
static void
test_lines(void **state)
{
	for (uint8_t excess = 0; excess < 2; excess++)
	{
		uint8_t bytes[64];
		uint8_t *end = bytes;
		HotSpotStream lines = { .at = bytes, .excess = excess };

		*end++ = 255; /* bytecode 0, line 100 */
		end = put_number(end, 0, excess);
		end = put_number(end, 200, excess);
		*end++ = 5 << 3 | 2; /* bytecode 5, line 102 */
		*end++ = 255;		 /* bytecode 40, line 90 */
		end = put_number(end, 70, excess);
		end = put_number(end, 23, excess);
		*end++ = 0;
		lines.end = end;
		assert_int_equal(hotspot_line(lines, -1), 100);
		assert_int_equal(hotspot_line(lines, 0), 100);
		assert_int_equal(hotspot_line(lines, 4), 100);
		assert_int_equal(hotspot_line(lines, 5), 102);
		assert_int_equal(hotspot_line(lines, 39), 102);
		assert_int_equal(hotspot_line(lines, 40), 90);
		assert_int_equal(hotspot_line(lines, 4000), 90);
		lines.end = bytes + 6;
		assert_int_equal(hotspot_line(lines, 4000), 102);
		lines.end = bytes;
		assert_int_equal(hotspot_line(lines, 0), 0);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counters),
		cmocka_unit_test(test_not_yet),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
