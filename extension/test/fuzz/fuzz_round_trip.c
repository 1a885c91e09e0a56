/*
 * fuzz_round_trip.c
 *		Fuzzes encoding and decoding: small instructions in the input make values, which must be
 *		equal after a round trip.
 *
 * Input: one byte with the effort in bit 0, in bit 1 whether the values are a key without nulls
 * beside a column of rising times, and in bit 2 whether sums of the times are asked for. Then
 * instructions of two bytes, repeat count and operation. An operation adds to the value, shifts it,
 * replaces it by bytes of the input, or makes rows null.
 */
#include <stdlib.h>
#include <string.h>

#include "codec/bytes.h"
#include "test/unit/codec_harness.h"

#define MAX_ROWS (70 * PFS_BLOCK_ROWS)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int64_t given[MAX_ROWS];
static bool flags[MAX_ROWS];
static int64_t times[MAX_ROWS];

/* Fills values and flags; returns the number of rows. */
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
			given[row] = (int64_t) value;
			flags[row] = is_null;
		}
	}
	return row;
}

/* Fills times, which rise as long as the value stays the same. */
static void
fill_times(uint32_t row_count)
{
	for (uint32_t row = 0; row < row_count; row++)
	{
		bool again = row == 0 || given[row] != given[row - 1];

		times[row] = again ? given[row] & 7 : times[row - 1] + 1 + (given[row] >> 3 & 3);
	}
}

static void
compare_times(PfsSegmentReader *reader, uint32_t block)
{
	uint32_t start = block * PFS_BLOCK_ROWS;
	int64_t values[PFS_BLOCK_ROWS];
	bool nulls[PFS_BLOCK_ROWS];
	bool has_nulls;
	PfsError error = { 0 };

	if (pfs_reader_block(reader, 1, block, values, nulls, &has_nulls, &error) != PFS_OK)
		abort();
	for (uint32_t i = 0; i < PFS_BLOCK_ROWS && start + i < pfs_reader_row_count(reader); i++)
		if (values[i] != times[start + i])
			abort();
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
		if (values[i] != given[start + i] || !has_range || values[i] < least ||
			values[i] > greatest)
			abort();
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	PfsCursor cursor = pfs_cursor(data, size);
	uint8_t head = pfs_cursor_byte(&cursor);
	PfsEffort effort = head % 2 == 0 ? PFS_EFFORT_FAST : PFS_EFFORT_DENSE;
	bool is_key = (head & 2) != 0;
	uint32_t row_count = grow_rows(&cursor);
	PfsColumn columns[] = {
		{ 1, 8, given, is_key ? NULL : flags, is_key, false, false, NULL, 0 },
		{ 2, 8, times, NULL, false, (head & 4) != 0, false, NULL, 0 },
	};
	TestHeap heap = { 0 };
	PfsSegment segment;
	PfsSegmentReader *reader;
	PfsError error = { 0 };

	if (row_count == 0)
		return 0;
	fill_times(row_count);
	if (is_key)
		memset(flags, 0, row_count * sizeof(*flags));
	if (pfs_segment_encode(columns, is_key ? 2 : 1, row_count, effort, test_allocator(&heap),
						   &segment, &error) != PFS_OK ||
		test_open(&segment, test_allocator(&heap), &reader, &error) != PFS_OK)
		abort();
	for (uint32_t block = 0; block < pfs_reader_block_count(reader); block++)
	{
		compare_block(reader, block);
		if (is_key)
			compare_times(reader, block);
	}
	pfs_reader_close(reader);
	pfs_segment_free(&segment, test_allocator(&heap));
	if (heap.live != 0)
		abort();
	return 0;
}
