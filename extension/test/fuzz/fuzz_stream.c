/*
 * fuzz_stream.c
 *		Fuzzes the decoding of a stream, without its CRC. Input: row count - 1 in 17 bits of 3
 *		bytes, whose last bit is set if values are those of groups; then the stream.
 */
#include <stdlib.h>
#include <string.h>

#include "codec/stream.h"
#include "test/unit/codec_harness.h"

#define PREFIX_BYTES 3
#define GROUP_SIZES	 (sizeof(group_sizes) / sizeof(group_sizes[0]))
#define MAX_ROWS	 (1 << 17)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * Numbers of rows of the groups in each block, used in turn; the end of the block cuts the last
 * group.
 */
static const uint32_t group_sizes[] = { 1, 2, 1, 3, 1, 5, 60, 4, 7, 130, 1, 9, 17 };

static void
make_groups(uint32_t rows, bool has_value_each, int64_t *lengths, int64_t *sums,
			PfsBlockGroups *groups)
{
	*groups = (PfsBlockGroups){
		.lengths = lengths, .has_value_each = has_value_each, .sums = sums, .unit = 1
	};
	while (rows > 0)
	{
		uint32_t size = group_sizes[groups->count % GROUP_SIZES];

		if (has_value_each)
		{
			lengths[groups->count++] = (int64_t) size - 1;
			rows--;
			continue;
		}
		sums[groups->count] = groups->count % 3 == 0 ? groups->count % 7 * size : 0;
		size = size < rows ? size : rows;
		lengths[groups->count++] = (int64_t) size - 1;
		rows -= size;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	TestHeap heap = { 0 };
	PfsStreamDecoder *decoder = NULL;
	PfsError error = { 0 };
	uint32_t row_count;
	uint8_t *stream;

	if (size < PREFIX_BYTES)
		return 0;
	row_count = (pfs_load16(data) | (uint32_t) data[2] << 16) % MAX_ROWS + 1;
	size -= PREFIX_BYTES;
	/*
	 * copy the input to a block of its exact size, so that the sanitizer sees a read past the end
	 */
	stream = malloc(size);
	if (stream == NULL)
		abort();
	memcpy(stream, data + PREFIX_BYTES, size);
	if (pfs_stream_open(stream, size, row_count, test_allocator(&heap), &decoder, &error) == PFS_OK)
	{
		for (uint32_t block = 0; block < pfs_block_count(row_count); block++)
		{
			int64_t values[PFS_BLOCK_ROWS];
			int64_t lengths[PFS_BLOCK_ROWS];
			int64_t sums[PFS_BLOCK_ROWS];
			PfsBlockGroups groups;
			int64_t least;
			int64_t greatest;

			if (pfs_stream_range(decoder, block, &least, &greatest) && greatest < least)
				abort();
			make_groups(pfs_block_rows(row_count, block), (data[2] & 0x80) != 0, lengths, sums,
						&groups);
			if (pfs_stream_block(decoder, block, &groups, values, &error) != PFS_OK &&
				error.message == NULL)
				abort();
		}
	}
	else if (error.message == NULL)
		abort();
	pfs_stream_close(decoder);
	free(stream);
	if (heap.live != 0)
		abort();
	return 0;
}
