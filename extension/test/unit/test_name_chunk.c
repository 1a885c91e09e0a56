/*
 * test_name_chunk.c
 *		Tests packed functions and locations: a round trip returns equal rows, and damaged bytes are
 *		refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codec/bytes.h"
#include "codec/crc32c.h"
#include "codec/name_chunk.h"
#include "test/unit/codec_harness.h"
#include "test/unit/values.h"

#define MAX_LINES 6
#define TEXT_ROOM 80

/* Rows to pack, with the memory to which they point. */
typedef struct Sample
{
	uint32_t count;
	PfsPackedFunction functions[PFS_NAME_CHUNK_ROWS];
	PfsPackedLocation locations[PFS_NAME_CHUNK_ROWS];
	char texts[PFS_NAME_CHUNK_ROWS][3][TEXT_ROOM];
	int32_t numbers[PFS_NAME_CHUNK_ROWS][2][MAX_LINES];
} Sample;

static int32_t
any_int32(Random *random)
{
	static const int32_t edges[] = { INT32_MIN, INT32_MAX, 0, -1 };

	return random_below(random, 8) == 0 ? edges[random_below(random, 4)]
										: (int32_t) random_below(random, 5000);
}

/* Makes functions whose texts are empty, equal, similar, or not ASCII. */
static void
make_function(Random *random, Sample *sample, uint32_t i)
{
	char(*texts)[TEXT_ROOM] = sample->texts[i];

	snprintf(texts[0], TEXT_ROOM, "%.*sstd::größe<%d>::call", (int) random_below(random, 4), "\1ab",
			 (int) random_below(random, 100));
	snprintf(texts[1], TEXT_ROOM, random_below(random, 2) == 0 ? "%s" : "_Z%s", texts[0]);
	snprintf(texts[2], TEXT_ROOM, "%s", random_below(random, 3) == 0 ? "" : "/usr/src/a.cc");
	sample->functions[i] = (PfsPackedFunction){ texts[0], texts[1], texts[2], any_int32(random) };
}

static void
make_location(Random *random, Sample *sample, uint32_t i)
{
	int32_t(*numbers)[MAX_LINES] = sample->numbers[i];
	uint32_t line_count = (uint32_t) random_below(random, MAX_LINES + 1);

	for (uint32_t j = 0; j < line_count; j++)
	{
		numbers[0][j] = any_int32(random);
		numbers[1][j] = any_int32(random);
	}
	sample->locations[i] = (PfsPackedLocation){ .mapping = any_int32(random),
												.address = (int64_t) random_next(random),
												.symbolization = "psx"[random_below(random, 3)],
												.line_count = line_count,
												.function_ids = numbers[0],
												.lines = numbers[1] };
}

static Sample *
make_sample(Random *random, uint32_t count)
{
	Sample *sample = calloc(1, sizeof(Sample));

	assert_non_null(sample);
	sample->count = count;
	for (uint32_t i = 0; i < count; i++)
	{
		make_function(random, sample, i);
		make_location(random, sample, i);
	}
	return sample;
}

static void
check_functions(const Sample *sample, const PfsPackedFunction *read)
{
	for (uint32_t i = 0; i < sample->count; i++)
	{
		assert_string_equal(read[i].name, sample->functions[i].name);
		assert_string_equal(read[i].system_name, sample->functions[i].system_name);
		assert_string_equal(read[i].filename, sample->functions[i].filename);
		assert_int_equal(read[i].start_line, sample->functions[i].start_line);
	}
}

static void
check_locations(const Sample *sample, const PfsPackedLocation *read)
{
	for (uint32_t i = 0; i < sample->count; i++)
	{
		const PfsPackedLocation *expected = &sample->locations[i];
		size_t bytes = expected->line_count * sizeof(int32_t);

		assert_int_equal(read[i].mapping, expected->mapping);
		assert_true(read[i].address == expected->address);
		assert_int_equal(read[i].symbolization, expected->symbolization);
		assert_int_equal(read[i].line_count, expected->line_count);
		assert_memory_equal(read[i].function_ids, expected->function_ids, bytes);
		assert_memory_equal(read[i].lines, expected->lines, bytes);
	}
}

/* Unpacks a chunk as one of the two kinds. If that succeeds, compares the rows. */
static PfsStatus
unpack(const Sample *sample, bool are_functions, const uint8_t *bytes, size_t length,
	   TestHeap *heap, bool compare)
{
	PfsAllocator allocator = test_allocator(heap);
	PfsPackedFunction functions[PFS_NAME_CHUNK_ROWS];
	PfsPackedLocation locations[PFS_NAME_CHUNK_ROWS];
	PfsError error = { 0 };
	void *memory = NULL;
	PfsStatus status = are_functions ? pfs_functions_unpack(bytes, length, sample->count, allocator,
															functions, &memory, &error)
									 : pfs_locations_unpack(bytes, length, sample->count, allocator,
															locations, &memory, &error);

	if (status != PFS_OK)
		assert_non_null(error.message);
	else if (compare && are_functions)
		check_functions(sample, functions);
	else if (compare)
		check_locations(sample, locations);
	if (memory != NULL)
		allocator.realloc(allocator.context, memory, 0);
	return status;
}

static PfsStatus
pack(const Sample *sample, bool are_functions, TestHeap *heap, PfsBytes *packed)
{
	return are_functions
			   ? pfs_functions_pack(sample->functions, sample->count, test_allocator(heap), packed)
			   : pfs_locations_pack(sample->locations, sample->count, test_allocator(heap), packed);
}

static void
give_back(TestHeap *heap, PfsBytes *packed)
{
	PfsAllocator allocator = test_allocator(heap);

	allocator.realloc(allocator.context, packed->data, 0);
	assert_int_equal(heap->live, 0);
}

static void
test_round_trip(void **state)
{
	Random random = { 5 };

	(void) state;
	for (uint32_t count = 1; count <= PFS_NAME_CHUNK_ROWS; count += count < 9 ? 1 : 13)
		for (int kind = 0; kind < 2; kind++)
		{
			Sample *sample = make_sample(&random, count);
			TestHeap heap = { 0 };
			PfsBytes packed;

			assert_int_equal(pack(sample, kind == 0, &heap, &packed), PFS_OK);
			assert_int_equal(unpack(sample, kind == 0, packed.data, packed.length, &heap, true),
							 PFS_OK);
			/* unpack it as the other kind, and with another number of rows */
			assert_int_equal(unpack(sample, kind != 0, packed.data, packed.length, &heap, false),
							 PFS_CORRUPT);
			sample->count = count == 1 ? 2 : count - 1;
			assert_int_equal(unpack(sample, kind == 0, packed.data, packed.length, &heap, false),
							 PFS_CORRUPT);
			give_back(&heap, &packed);
			free(sample);
		}
}

static void
test_damage(void **state)
{
	Random random = { 6 };
	Sample *sample = make_sample(&random, 9);

	(void) state;
	for (int kind = 0; kind < 2; kind++)
	{
		TestHeap heap = { 0 };
		PfsBytes packed;

		assert_int_equal(pack(sample, kind == 0, &heap, &packed), PFS_OK);
		for (size_t i = 0; i < packed.length * 8; i++)
		{
			packed.data[i / 8] ^= (uint8_t) (1 << i % 8);
			assert_int_not_equal(unpack(sample, kind == 0, packed.data, packed.length, &heap,
										false),
								 PFS_OK);
			packed.data[i / 8] ^= (uint8_t) (1 << i % 8);
		}
		for (size_t length = 0; length < packed.length; length++)
			assert_int_equal(unpack(sample, kind == 0, packed.data, length, &heap, false),
							 PFS_CORRUPT);
		packed.data[4]++;
		pfs_store32(packed.data, pfs_crc32c(packed.data + 4, packed.length - 4));
		assert_int_equal(unpack(sample, kind == 0, packed.data, packed.length, &heap, false),
						 PFS_UNSUPPORTED);
		give_back(&heap, &packed);
	}
	free(sample);
}

static void
test_memory(void **state)
{
	Random random = { 7 };
	Sample *sample = make_sample(&random, 100);

	(void) state;
	for (int kind = 0; kind < 2; kind++)
	{
		TestHeap sound = { 0 };
		PfsBytes packed;
		PfsStatus status = PFS_NO_MEMORY;

		for (uint64_t fail = 1; status != PFS_OK; fail++)
		{
			TestHeap heap = { .fail_after = fail };

			status = pack(sample, kind == 0, &heap, &packed);
			assert_true(status == PFS_OK || status == PFS_NO_MEMORY);
			if (status == PFS_OK)
				test_allocator(&heap).realloc(&heap, packed.data, 0);
			assert_int_equal(heap.live, 0);
		}
		assert_int_equal(pack(sample, kind == 0, &sound, &packed), PFS_OK);
		status = PFS_NO_MEMORY;
		for (uint64_t fail = 1; status != PFS_OK; fail++)
		{
			TestHeap heap = { .fail_after = fail };

			status = unpack(sample, kind == 0, packed.data, packed.length, &heap, true);
			assert_true(status == PFS_OK || status == PFS_NO_MEMORY);
			assert_int_equal(heap.live, 0);
		}
		give_back(&sound, &packed);
	}
	free(sample);
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_round_trip),
										cmocka_unit_test(test_damage),
										cmocka_unit_test(test_memory) };

	return cmocka_run_group_tests_name("name_chunk", tests, NULL, NULL);
}
