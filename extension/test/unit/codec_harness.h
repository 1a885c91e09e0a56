/*
 * codec_harness.h
 *		Helpers for the tests of the codec: an allocator that counts and can fail, and functions
 *		that read a whole segment.
 */
#ifndef PFS_TEST_CODEC_HARNESS_H
#define PFS_TEST_CODEC_HARNESS_H

#include "codec/segment.h"

/*
 * An allocator that counts its blocks. The allocation with number fail_after returns NULL, once; 0:
 * none fails.
 */
typedef struct TestHeap
{
	uint64_t allocations;
	uint64_t live; /* number of blocks that have not been freed */
	uint64_t fail_after;
	size_t largest; /* bytes of the largest allocation */
} TestHeap;

PfsAllocator test_allocator(TestHeap *heap);

/* Opens the segment and loads every stream. Returns the status of the first step that failed. */
PfsStatus test_open(const PfsSegment *segment, PfsAllocator allocator, PfsSegmentReader **reader,
					PfsError *error);

/*
 * Reads all blocks of all columns, and their ranges. Returns the status of the first block that
 * failed.
 */
PfsStatus test_read_all(PfsSegmentReader *reader, PfsError *error);

#endif
