/*
 * codec_harness.h
 *		What the codec's tests share: allocators that count and fail, and a segment in one piece of
 *		memory.
 */
#ifndef PFS_TEST_CODEC_HARNESS_H
#define PFS_TEST_CODEC_HARNESS_H

#include "codec/segment.h"

/* Counts what is allocated; from the fail_after-th allocation on, once, returns NULL (0: never). */
typedef struct TestHeap
{
	uint64_t allocations;
	uint64_t live; /* blocks not given back */
	uint64_t fail_after;
	size_t largest; /* bytes of the largest allocation */
} TestHeap;

PfsAllocator test_allocator(TestHeap *heap);

/* Opens the segment, loads every stream; status of the first step that failed. */
PfsStatus test_open(const PfsSegment *segment, PfsAllocator allocator, PfsSegmentReader **reader,
					PfsError *error);

/* Reads all blocks of all columns, and their ranges; status of the first block that failed. */
PfsStatus test_read_all(PfsSegmentReader *reader, PfsError *error);

#endif
