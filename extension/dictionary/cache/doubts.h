/*
 * doubts.h
 *		Doubts: problems of samples or dictionary that do not prevent a result. They are
 *		reported once in a statement.
 *
 * Code that finds a problem counts it; when the statement's query ends, each kind is reported by
 * one WARNING.
 */
#ifndef PFS_DOUBTS_H
#define PFS_DOUBTS_H

#include "profstore.h"

#include "dictionary/cache/dictionary.h"

typedef enum PfsDoubt
{
	PFS_DOUBT_STACKS,  /* stacks that are not in the dictionary */
	PFS_DOUBT_PARENTS, /* nodes of the dictionary whose parents are missing */
	PFS_DOUBT_NAMES,   /* missing locations, functions and mappings */
	PFS_DOUBT_SUMS,	   /* sums out of the range of int8 */
	PFS_DOUBT_COUNT
} PfsDoubt;

/* Counts problems; 0 does nothing. Raises no error. */
void pfs_doubt(PfsDoubt doubt, uint64 count);

/* Returns true if problems were counted and not reported yet. */
bool pfs_doubts_any(void);

/* Discards the counts, because the caller restarts and will find its doubts again. */
void pfs_doubts_forget(PfsDoubt doubt);

/* Returns the int8 nearest to a sum that does not fit, and counts a doubt. */
int64 pfs_clip_doubtful(int128 sum);

/* Returns the sum as an int8; if it does not fit, the nearest one, and counts a doubt. */
static inline int64
pfs_clip(int128 sum)
{
	return likely(sum == (int64) sum) ? (int64) sum : pfs_clip_doubtful(sum);
}

/* Called once when the module is loaded. */
void pfs_doubts_init(void);

#endif
