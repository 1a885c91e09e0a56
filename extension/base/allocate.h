/*
 * allocate.h
 *		Allocation of arrays that may be larger than palloc's usual limit, or empty.
 */
#ifndef PFS_ALLOCATE_H
#define PFS_ALLOCATE_H

#include "profstore.h"

#include "utils/memutils.h"

/* An array of count elements in CurrentMemoryContext, never NULL; INVALID_PARAMETER_VALUE beyond MaxAllocHugeSize. */
#define PFS_ARRAY(type, count) \
	((type *) palloc_extended((Size) (count) * sizeof(type) + 1, MCXT_ALLOC_HUGE))
#define PFS_ARRAY0(type, count) \
	((type *) palloc_extended((Size) (count) * sizeof(type) + 1, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO))

#endif
