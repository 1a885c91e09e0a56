/*
 * fuzz_round_trip.c
 *		Fuzzes encode and decode: lanes grow from the input by small instructions, and must come
 *		back the same.
 *
 * Input: effort in one byte, then instructions of two bytes, repeat count and operation; an
 * operation adds to the value, shifts it, replaces it by bytes of the input, or makes rows null.
 */
#include <stdlib.h>
#include <string.h>

#include "codec/bytes.h"
#include "test/unit/codec_harness.h"

#define MAX_ROWS (70 * PFS_BLOCK_ROWS)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int64_t lanes[MAX_ROWS];
static bool flags[MAX_ROWS];

/* Fills lanes and flags; returns how many rows there are. */
static uint32_t
grow_rows(PfsCursor *cursor)
{
	uint32_t row = 0;
	uint64_t value = 0;
	uint64_t step = 0;

	while (row < MAX_ROWS && cursor->offset < cursor->length)
	{
		uint32_t repeat = pfs_cursor_byte(cursor) + 1;
		uint8_t operation = pfs_cursor_byte(cursor);
		bool is_null = operation >= 0xf0;

		if (operation < 0x40)
			step = operation;
		else if (operation < 0x80)
			step = 0 - (uint64_t) (operation & 0x3f);
		else if (operation < 0xc0)
			step <<= operation & 0x3f;
		else if (operation < 0xd0)
			repeat *= 64;
		else if (operation < 0xe0)
			value = pfs_cursor_varint(cursor);
		else if (operation < 0xf0)
			value ^= UINT64_C(1) << 63;
		for (; repeat > 0 && row < MAX_ROWS; repeat--, row++)
		{
			value += step;
			lanes[row] = (int64_t) value;
			flags[row] = is_null;
		}
	}
	return row;
}

static void
compare_block(PfsSegmentReader *reader, uint32_t block)
{
	uint32_t start = block * PFS_BLOCK_ROWS;
	int64_t values[PFS_BLOCK_ROWS];
	bool nulls[PFS_BLOCK_ROWS];
	bool has_nulls;
	int64_t least = 0;
	int64_t greatest = 0;
	bool has_range = pfs_reader_block_range(reader, 0, block, &least, &greatest);
	PfsError error = { 0 };

	if (pfs_reader_block(reader, 0, block, values, nulls, &has_nulls, &error) != PFS_OK)
		abort();
	for (uint32_t i = 0; i < PFS_BLOCK_ROWS && start + i < pfs_reader_row_count(reader); i++)
	{
		if ((has_nulls && nulls[i]) != flags[start + i])
			abort();
		if (flags[start + i])
			continue;
		if (values[i] != lanes[start + i] || !has_range || values[i] < least ||
			values[i] > greatest)
			abort();
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	PfsCursor cursor = pfs_cursor(data, size);
	PfsEffort effort = pfs_cursor_byte(&cursor) % 2 == 0 ? PFS_EFFORT_FAST : PFS_EFFORT_DENSE;
	uint32_t row_count = grow_rows(&cursor);
	PfsColumn column = { 1, 8, lanes, flags, false, false, NULL };
	TestHeap heap = { 0 };
	PfsSegment segment;
	PfsSegmentReader *reader;
	PfsError error = { 0 };

	if (row_count == 0)
		return 0;
	if (pfs_segment_encode(&column, 1, row_count, effort, test_allocator(&heap), &segment,
						   &error) != PFS_OK ||
		test_open(&segment, test_allocator(&heap), &reader, &error) != PFS_OK)
		abort();
	for (uint32_t block = 0; block < pfs_reader_block_count(reader); block++)
		compare_block(reader, block);
	pfs_reader_close(reader);
	pfs_segment_free(&segment, test_allocator(&heap));
	if (heap.live != 0)
		abort();
	return 0;
}
