/*
 * memory.h
 *		Memory of readers: an allocator under a budget, arrays that grow, and small pieces that go
 *		all at once. Knows no server header.
 */
#ifndef PFS_MEMORY_H
#define PFS_MEMORY_H

#include "codec/segment.h"

/*
 * Called again and again by what may take long: between pieces of compressed data, fields and
 * lines. It may leave by longjmp, since there is no memory but the allocator's. NULL: nobody wants
 * to be called.
 */
typedef void (*PfsPauseFn)(void);

/*
 * Memory of a reader: an allocator, and how much may still be asked for; and whom it calls in
 * between.
 */
typedef struct PfsBudget
{
	PfsAllocator allocator;
	PfsPauseFn pause;
	size_t left;
	bool exhausted; /* memory was refused because of the budget */
} PfsBudget;

static inline void
pfs_pause(PfsPauseFn pause)
{
	if (pause != NULL)
		pause();
}

/*
 * Makes room for one more element of an array, which doubles; false where memory or budget are out,
 * with the array as it was. Arrays of a profile are grown by this alone.
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

/* Capacities are powers of two from this on, so an array is full where its count is one. */
#define PFS_FIRST_CAPACITY 8

static inline bool
pfs_is_full(size_t count)
{
	return count == 0 || (count >= PFS_FIRST_CAPACITY && (count & (count - 1)) == 0);
}

/* Small pieces of memory that go all at once. Zeroed: empty. */
typedef struct PfsScratchChunk PfsScratchChunk;

typedef struct PfsScratch
{
	PfsScratchChunk *chunks; /* newest first */
	size_t free_bytes;		 /* at the end of the newest */
} PfsScratch;

/* Aligned for 8 bytes; NULL where memory or budget are out. */
void *pfs_scratch_alloc(PfsScratch *scratch, PfsBudget *budget, size_t bytes);

/* Gives all of it back, and its charge; the scratch is then empty. */
void pfs_scratch_free(PfsScratch *scratch, PfsBudget *budget);

#endif
