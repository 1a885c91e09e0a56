/*
 * test_gunzip.c
 *		Tests packing and unpacking in pieces: the pieces do not affect the result, and the pause
 *		function may leave by longjmp() without a leak.
 */
#include "formats/gunzip.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <zlib.h>

#include "test/unit/values.h"

#define SIZE	   (20 * PFS_GZIP_PIECE_BYTES + 12345)
#define MAX_BLOCKS 64

#define SMALL 3000

/* An allocator whose blocks can all be freed after a longjmp(), like those of a memory context. */
typedef struct Arena
{
	void *blocks[MAX_BLOCKS];
	size_t count;
} Arena;

static jmp_buf stopped;
static size_t pauses;
static size_t stop_at; /* number of the pause at which the test leaves; 0: never */

static void *
arena_realloc(void *context, void *memory, size_t bytes)
{
	Arena *arena = context;
	size_t i = 0;

	while (i < arena->count && arena->blocks[i] != memory)
		i++;
	if (memory == NULL)
	{
		assert_true(arena->count < MAX_BLOCKS);
		i = arena->count++;
	}
	assert_true(i < arena->count);
	if (bytes > 0)
		return arena->blocks[i] = realloc(memory, bytes);
	free(memory);
	arena->blocks[i] = arena->blocks[--arena->count];
	return NULL;
}

static void
arena_free(Arena *arena)
{
	while (arena->count > 0)
		free(arena->blocks[--arena->count]);
}

static void
count_pauses(void)
{
	if (++pauses == stop_at)
		longjmp(stopped, 1);
}

/* Returns bytes of which one part compresses well and another badly. */
static uint8_t *
make_bytes(void)
{
	Random random = { 7 };
	uint8_t *bytes = malloc(SIZE);

	assert_non_null(bytes);
	for (size_t i = 0; i < SIZE; i++)
		bytes[i] = i / PFS_GZIP_PIECE_BYTES % 3 == 0 ? 0 : (uint8_t) random_below(&random, 256);
	return bytes;
}

static void
test_round_trip(void **state)
{
	Arena arena = { .count = 0 };
	PfsAllocator allocator = { arena_realloc, &arena };
	uint8_t *bytes = make_bytes();
	PfsBytes packed;
	PfsBytes unpacked;
	PfsReadError error;

	stop_at = pauses = 0;
	assert_int_equal(pfs_gzip(bytes, SIZE, allocator, count_pauses, &packed), PFS_READ_OK);
	assert_true(pauses >= SIZE / PFS_GZIP_PIECE_BYTES);
	pauses = 0;
	assert_int_equal(pfs_gunzip(packed.data, packed.length, SIZE, allocator, count_pauses,
								&unpacked, &error),
					 PFS_READ_OK);
	assert_true(pauses >= SIZE / PFS_GZIP_PIECE_BYTES);
	assert_int_equal(unpacked.length, SIZE);
	assert_memory_equal(unpacked.data, bytes, SIZE);
	arena_free(&arena);
	free(bytes);
}

static void
test_stop(void **state)
{
	/* static, because longjmp() may restore older values of variables in registers */
	static Arena arena = { .count = 0 };
	static const PfsAllocator allocator = { arena_realloc, &arena };
	uint8_t *bytes = make_bytes();
	PfsBytes packed;
	PfsBytes unpacked;
	PfsReadError error;

	stop_at = 10;
	pauses = 0;
	if (setjmp(stopped) == 0)
	{
		pfs_gzip(bytes, SIZE, allocator, count_pauses, &packed);
		fail_msg("packing did not stop");
	}
	arena_free(&arena);

	stop_at = 0;
	assert_int_equal(pfs_gzip(bytes, SIZE, allocator, NULL, &packed), PFS_READ_OK);
	stop_at = 10;
	pauses = 0;
	if (setjmp(stopped) == 0)
	{
		pfs_gunzip(packed.data, packed.length, SIZE, allocator, count_pauses, &unpacked, &error);
		fail_msg("unpacking did not stop");
	}
	arena_free(&arena);
	free(bytes);
}

/* Unpacks a file of one or more members with zlib alone; returns false if that fails. */
static bool
unpack_by_zlib(const uint8_t *bytes, size_t length, uint8_t *unpacked, size_t room, size_t *count)
{
	z_stream stream = { .next_in = (uint8_t *) (uintptr_t) bytes,
						.avail_in = (uInt) length,
						.next_out = unpacked,
						.avail_out = (uInt) room };
	int code = inflateInit2(&stream, 31);

	while (code == Z_OK)
	{
		code = inflate(&stream, Z_FINISH);
		if (code == Z_STREAM_END && stream.avail_in > 0)
			code = inflateReset(&stream);
	}
	*count = room - stream.avail_out;
	inflateEnd(&stream);
	return code == Z_STREAM_END;
}

static void
compare_with_zlib(const uint8_t *bytes, size_t length, size_t max_bytes)
{
	static uint8_t expected[8 * SMALL];
	Arena arena = { .count = 0 };
	PfsAllocator allocator = { arena_realloc, &arena };
	PfsBytes unpacked;
	PfsReadError error;
	size_t count;
	bool is_gzip = unpack_by_zlib(bytes, length, expected, sizeof(expected), &count);
	PfsReadStatus status = pfs_gunzip(bytes, length, max_bytes, allocator, NULL, &unpacked, &error);

	assert_int_equal(status == PFS_READ_OK, is_gzip && count <= max_bytes);
	if (status == PFS_READ_OK)
	{
		assert_int_equal(unpacked.length, count);
		assert_memory_equal(unpacked.data, expected, count);
		allocator.realloc(&arena, unpacked.data, 0);
	}
	assert_int_equal(arena.count, 0);
}

/*
 * Small files are unpacked by libdeflate. The result must be the same for files that are whole,
 * cut, damaged, or have several members.
 */
static void
test_small(void **state)
{
	static const size_t sizes[] = { 0, 1, 100, SMALL };
	PfsAllocator allocator = { arena_realloc, &(Arena){ .count = 0 } };
	uint8_t *bytes = make_bytes() + PFS_GZIP_PIECE_BYTES - SMALL / 2; /* half of it zeros */

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
	{
		PfsBytes packed;
		uint8_t *twice;

		assert_int_equal(pfs_gzip(bytes, sizes[i], allocator, NULL, &packed), PFS_READ_OK);
		compare_with_zlib(packed.data, packed.length, sizes[i]);
		if (sizes[i] > 0)
			compare_with_zlib(packed.data, packed.length, sizes[i] - 1);
		for (size_t length = 2; length < packed.length; length++)
			compare_with_zlib(packed.data, length, SMALL);
		for (size_t at = 0; at < packed.length; at++)
			for (uint8_t bit = 1; bit != 0; bit = (uint8_t) (bit << 1))
			{
				packed.data[at] ^= bit;
				compare_with_zlib(packed.data, packed.length, SMALL);
				packed.data[at] ^= bit;
			}
		twice = malloc(2 * packed.length);
		assert_non_null(twice);
		memcpy(twice, packed.data, packed.length);
		memcpy(twice + packed.length, packed.data, packed.length);
		compare_with_zlib(twice, 2 * packed.length, 2 * SMALL);
		compare_with_zlib(twice, packed.length + 1, 2 * SMALL);
		free(twice);
		allocator.realloc(allocator.context, packed.data, 0);
	}
	free(bytes - (PFS_GZIP_PIECE_BYTES - SMALL / 2));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_stop),
		cmocka_unit_test(test_small),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
