/*
 * fuzz_header.c
 *		Fuzzes the segment header. The right CRC is put into each input, so that the fields are
 *		tested and not only the CRC.
 */
#include <stdlib.h>
#include <string.h>

#include "codec/bytes.h"
#include "codec/crc32c.h"
#include "test/unit/codec_harness.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	TestHeap heap = { 0 };
	uint8_t *header = malloc(size + 4);
	PfsSegmentReader *reader = NULL;
	PfsError error = { 0 };

	if (header == NULL)
		abort();
	memcpy(header, data, size);
	pfs_store32(header + size, pfs_crc32c(header, size));
	if (pfs_reader_open(header, size + 4, test_allocator(&heap), &reader, &error) == PFS_OK)
	{
		for (uint32_t column = 0; column < pfs_reader_column_count(reader); column++)
		{
			int64_t least = 0;
			int64_t greatest = 0;
			int values;
			int nulls;

			if (pfs_reader_column_range(reader, (int) column, &least, &greatest) &&
				least > greatest)
				abort();
			pfs_reader_column_streams(reader, (int) column, &values, &nulls);
			if (values >= (int) pfs_reader_stream_count(reader) ||
				nulls >= (int) pfs_reader_stream_count(reader))
				abort();
		}
	}
	else if (error.message == NULL)
		abort();
	pfs_reader_close(reader);
	free(header);
	if (heap.live != 0)
		abort();
	return 0;
}
