/*
 * test_gunzip.c
 *		Packing and unpacking in pieces: nothing changes by it, and whoever pauses may stop it
 *		without a leak.
 */
#include "formats/gunzip.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test/unit/values.h"

#define SIZE	   (20 * PFS_GZIP_PIECE_BYTES + 12345)
#define MAX_BLOCKS 64

/* An allocator whose memory can be given back after a jump, as that of a memory context. */
typedef struct Arena
{
	void *blocks[MAX_BLOCKS];
	size_t count;
} Arena;

static jmp_buf stopped;
static size_t pauses;
static size_t stop_at; /* 0: never */

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

/* Bytes that pack well here, and badly there. */
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
	Arena arena = { .count = 0 };
	PfsAllocator allocator = { arena_realloc, &arena };
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
