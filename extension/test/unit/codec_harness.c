/*
 * codec_harness.c
 *		Allocators and helpers for the tests of the codec.
 */
#include "test/unit/codec_harness.h"

#include <stdlib.h>

static void *
heap_realloc(void *context, void *pointer, size_t bytes)
{
	TestHeap *heap = context;

	if (bytes == 0)
	{
		if (pointer != NULL)
			heap->live--;
		free(pointer);
		return NULL;
	}
	heap->allocations++;
	heap->largest = bytes > heap->largest ? bytes : heap->largest;
	if (heap->allocations == heap->fail_after)
		return NULL;
	if (pointer == NULL)
		heap->live++;
	return realloc(pointer, bytes);
}

PfsAllocator
test_allocator(TestHeap *heap)
{
	return (PfsAllocator){ heap_realloc, heap };
}

PfsStatus
test_open(const PfsSegment *segment, PfsAllocator allocator, PfsSegmentReader **reader,
		  PfsError *error)
{
	PfsStatus status;

	*reader = NULL;
	status =
		pfs_reader_open(segment->header.data, segment->header.length, allocator, reader, error);
	for (uint32_t i = 0; status == PFS_OK && i < pfs_reader_stream_count(*reader); i++)
	{
		PfsBytes stream = { NULL, 0 };

		if (i < segment->stream_count)
			stream = segment->streams[i];
		status = pfs_reader_load_stream(*reader, i, stream.data, stream.length, error);
	}
	if (status != PFS_OK)
	{
		pfs_reader_close(*reader);
		*reader = NULL;
	}
	return status;
}

PfsStatus
test_read_all(PfsSegmentReader *reader, PfsError *error)
{
	int64_t values[PFS_BLOCK_ROWS];
	bool nulls[PFS_BLOCK_ROWS];

	for (uint32_t column = 0; column < pfs_reader_column_count(reader); column++)
		for (uint32_t block = 0; block < pfs_reader_block_count(reader); block++)
		{
			int64_t least;
			int64_t greatest;
			bool has_nulls;
			bool are_kept;
			PfsUnits units;
			PfsStatus status;

			pfs_reader_block_range(reader, (int) column, block, &least, &greatest);
			status =
				pfs_reader_block(reader, (int) column, block, values, nulls, &has_nulls, error);
			if (status == PFS_OK)
				status = pfs_reader_block_units(reader, (int) column, block, NULL, &units,
												&are_kept, error);
			if (status != PFS_OK)
				return status;
		}
	return PFS_OK;
}
