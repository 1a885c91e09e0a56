/*
 * arrays.h
 *		Arrays that may be large or empty, that grow, and that are sorted.
 */
#ifndef PFS_ARRAYS_H
#define PFS_ARRAYS_H

#include "profstore.h"

#include "utils/memutils.h"

/*
 * Allocates an array of count elements in CurrentMemoryContext, never NULL. Raises INTERNAL_ERROR
 * beyond MaxAllocHugeSize.
 */
#define PFS_ARRAY(type, count) \
	((type *) palloc_extended((Size) (count) * sizeof(type) + 1, MCXT_ALLOC_HUGE))
#define PFS_ARRAY0(type, count) \
	((type *) palloc_extended((Size) (count) * sizeof(type) + 1, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO))

/*
 * Returns the array with room for at least the given number of bytes; it may have moved. If array
 * is NULL, allocates a new one in the context.
 */
void *pfs_array_resize(MemoryContext context, void *array, Size bytes);

/*
 * Returns the new capacity of an array that must hold count elements: at least twice the old one.
 * Raises PROGRAM_LIMIT_EXCEEDED beyond PG_UINT32_MAX.
 */
uint32 pfs_grown_capacity(uint32 capacity, uint64 count);

/*
 * Makes room for at least count elements. capacity is a uint32, 0 if array is NULL; both are set
 * when the array grows. A new array is allocated in the context, or in CurrentMemoryContext; added
 * elements are not initialised.
 */
#define PFS_RESERVE_IN(context, array, capacity, count)                                   \
	do                                                                                    \
	{                                                                                     \
		if (unlikely((uint64) (count) > (capacity)))                                      \
		{                                                                                 \
			uint32 grown_ = pfs_grown_capacity(capacity, (uint64) (count));               \
                                                                                          \
			(array) = pfs_array_resize(context, array, (Size) grown_ * sizeof(*(array))); \
			(capacity) = grown_;                                                          \
		}                                                                                 \
	} while (0)
#define PFS_RESERVE(array, capacity, count) \
	PFS_RESERVE_IN(CurrentMemoryContext, array, capacity, count)

/*
 * Moves low and high, two variables, to the first index in [low, high) for which is_before, an
 * expression of middle, is false; to high if it is true for all. is_before must be true up to some
 * index and false from there on.
 */
#define PFS_BISECT(low, high, middle, is_before)               \
	while ((low) < (high))                                     \
	{                                                          \
		__typeof__(low) middle = (low) + ((high) - (low)) / 2; \
                                                               \
		if (is_before)                                         \
			(low) = middle + 1;                                \
		else                                                   \
			(high) = middle;                                   \
	}

/*
 * Returns the first index in [low, high) whose number is not less than the given one; high if there
 * is none.
 */
static inline uint32
pfs_lower_bound(const int64 *sorted, uint32 low, uint32 high, int64 number)
{
	PFS_BISECT(low, high, middle, sorted[middle] < number);
	return low;
}

/* For qsort(): ascending. */
int pfs_compare_int64(const void *a, const void *b);

/* Ascending, distinct numbers. */
typedef struct PfsNumbers
{
	uint32 count;
	const int64 *numbers;
} PfsNumbers;

/* Returns the position of a number; -1 if it is missing. */
static inline int64
pfs_numbers_find(PfsNumbers numbers, int64 number)
{
	uint32 at = pfs_lower_bound(numbers.numbers, 0, numbers.count, number);

	return at < numbers.count && numbers.numbers[at] == number ? (int64) at : -1;
}

static inline bool
pfs_numbers_contain(PfsNumbers numbers, int64 number)
{
	return pfs_numbers_find(numbers, number) >= 0;
}

#endif
