/*
 * memory.h
 *		Memory of readers: an allocator with a budget, growing arrays, and small pieces that are
 *		freed together. Includes no server header.
 */
#ifndef PFS_MEMORY_H
#define PFS_MEMORY_H

#include "codec/segment.h"

/*
 * Called regularly during long work: between pieces of compressed data, fields and lines. It may
 * leave by longjmp(), because all memory comes from the allocator. If it is NULL, nothing is
 * called.
 */
typedef void (*PfsPauseFn)(void);

/* Memory of a reader: an allocator, the rest of the budget, and the function to call for pauses. */
typedef struct PfsBudget
{
	PfsAllocator allocator;
	PfsPauseFn pause;
	size_t left;
	bool exhausted; /* an allocation was refused because of the budget */
} PfsBudget;

static inline void
pfs_pause(PfsPauseFn pause)
{
	if (pause != NULL)
		pause();
}

/*
 * Makes room for one more element of an array, which doubles. Returns false if out of memory or
 * budget, with the array unchanged. All arrays of a profile must grow by this macro.
 */
#define PFS_GROW(budget, array, count)                                                       \
	({                                                                                       \
		void *grown_ = pfs_is_full(count) ? pfs_grow(budget, array, count, sizeof(*(array))) \
										  : (void *) (array);                                \
                                                                                             \
		if (grown_ != NULL)                                                                  \
			(array) = grown_;                                                                \
		grown_ != NULL;                                                                      \
	})
void *pfs_grow(PfsBudget *budget, void *array, size_t count, size_t element_bytes);

/*
 * Capacities are powers of two from this one, so an array is full if its count is a power of two.
 */
#define PFS_FIRST_CAPACITY 8

static inline bool
pfs_is_full(size_t count)
{
	return count == 0 || (count >= PFS_FIRST_CAPACITY && (count & (count - 1)) == 0);
}

/* Small pieces of memory that are freed together. A zeroed scratch is empty. */
typedef struct PfsScratchChunk PfsScratchChunk;

typedef struct PfsScratch
{
	PfsScratchChunk *chunks; /* newest first */
	size_t free_bytes;		 /* at the end of the newest chunk */
} PfsScratch;

/* Returns memory aligned to 8 bytes; NULL if out of memory or budget. */
void *pfs_scratch_alloc(PfsScratch *scratch, PfsBudget *budget, size_t bytes);

/* Frees all pieces and returns their charge; the scratch is empty afterwards. */
void pfs_scratch_free(PfsScratch *scratch, PfsBudget *budget);

#endif
