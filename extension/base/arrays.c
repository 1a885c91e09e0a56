/*
 * arrays.c
 *		Allocates, extends and sorts arrays.
 */
#include "base/arrays.h"

#define LEAST_CAPACITY 16

void *
pfs_array_resize(MemoryContext context, void *array, Size bytes)
{
	return array == NULL ? MemoryContextAllocHuge(context, bytes) : repalloc_huge(array, bytes);
}

uint32
pfs_grown_capacity(uint32 capacity, uint64 count)
{
	uint64 grown = Max(Max((uint64) capacity * 2, LEAST_CAPACITY), count);

	if (count > PG_UINT32_MAX)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
						errmsg("cannot keep more than %u elements", PG_UINT32_MAX),
						errhint("Request less at once, for example a shorter time range.")));
	return (uint32) Min(grown, PG_UINT32_MAX);
}

int
pfs_compare_int64(const void *a, const void *b)
{
	int64 left = *(const int64 *) a;
	int64 right = *(const int64 *) b;

	return (left > right) - (left < right);
}
