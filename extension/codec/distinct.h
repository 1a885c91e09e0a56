/*
 * distinct.h
 *		Finds the distinct values of a column, if there are few, and each row's rank among them.
 */
#ifndef PFS_DISTINCT_H
#define PFS_DISTINCT_H

#include "codec/segment.h"

typedef struct PfsDistinct
{
	uint32_t count;	 /* 0: too many, or not worth a dictionary; then there is nothing to free */
	int64_t *values; /* ascending */
	int64_t *ranks;	 /* rank of each row's value, from 0 */
} PfsDistinct;

/*
 * Looks for a dictionary that makes numbers smaller: with at most a quarter as many entries as
 * there are values, and ranks that are clearly narrower than the values. Returns false if out of
 * memory.
 */
bool pfs_distinct_find(const int64_t *values, uint32_t count, PfsAllocator allocator,
					   PfsDistinct *distinct);
void pfs_distinct_free(PfsDistinct *distinct, PfsAllocator allocator);

#endif
