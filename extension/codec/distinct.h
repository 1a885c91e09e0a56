/*
 * distinct.h
 *		The distinct ones of many values, where they are few, and each value's place among them.
 */
#ifndef PFS_DISTINCT_H
#define PFS_DISTINCT_H

#include "codec/segment.h"

typedef struct PfsDistinct
{
	uint32_t count;	 /* 0: too many, or not worth it; then there is nothing to free */
	int64_t *values; /* ascending */
	int64_t *ranks;	 /* of each value, from 0 */
} PfsDistinct;

/*
 * Looks for a dictionary that makes numbers smaller: a quarter as many as there are values at
 * most, and much closer as ranks than as themselves. False: out of memory.
 */
bool pfs_distinct_find(const int64_t *values, uint32_t count, PfsAllocator allocator,
					   PfsDistinct *distinct);
void pfs_distinct_free(PfsDistinct *distinct, PfsAllocator allocator);

#endif
