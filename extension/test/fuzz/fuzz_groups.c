/*
 * fuzz_groups.c
 *		Fuzzes the decoding of the groups stream, without its CRC. Input: row count - 1 in 3 bytes,
 *		number of groups - 1 in 3 bytes, then the stream.
 */
#include <stdlib.h>
#include <string.h>

#include "codec/groups.h"
#include "codec/stream.h"
#include "test/unit/codec_harness.h"

#define PREFIX_BYTES 6
#define MAX_ROWS	 (1 << 17)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads every block, and checks that the rows of its groups add up to its rows. */
static void
read_blocks(PfsGroupsDecoder *decoder, uint32_t row_count)
{
	uint32_t next = 0;

	for (uint32_t block = 0; block < pfs_block_count(row_count); block++)
	{
		PfsBlockGroups groups;
		uint32_t first;
		uint64_t rows = 0;
		PfsError error = { 0 };

		if (pfs_groups_block(decoder, block, &groups, &first, &error) != PFS_OK)
		{
			if (error.message == NULL)
				abort();
			return;
		}
		for (uint32_t i = 0; i < groups.count; i++)
			rows += (uint64_t) groups.lengths[i] + 1;
		if (first != next || groups.count == 0 || rows != pfs_block_rows(row_count, block))
			abort();
		next = first + groups.count;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	TestHeap heap = { 0 };
	PfsGroupsDecoder *decoder = NULL;
	PfsError error = { 0 };
	uint32_t row_count;
	uint32_t group_count;
	uint8_t *stream;

	if (size < PREFIX_BYTES)
		return 0;
	row_count = (pfs_load16(data) | (uint32_t) data[2] << 16) % MAX_ROWS + 1;
	group_count = (pfs_load16(data + 3) | (uint32_t) data[5] << 16) % row_count + 1;
	size -= PREFIX_BYTES;
	/*
	 * copy the input to a block of its exact size, so that the sanitizer sees a read past the end
	 */
	stream = malloc(size);
	if (stream == NULL)
		abort();
	memcpy(stream, data + PREFIX_BYTES, size);
	if (pfs_groups_open(stream, size, row_count, group_count, test_allocator(&heap), &decoder,
						&error) == PFS_OK)
		read_blocks(decoder, row_count);
	else if (error.message == NULL)
		abort();
	pfs_groups_close(decoder);
	free(stream);
	if (heap.live != 0)
		abort();
	return 0;
}
