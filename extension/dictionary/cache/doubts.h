/*
 * doubts.h
 *		What is wrong with samples or dictionary, but does not keep a query from its answer: told
 *		once in a statement.
 *
 * Whoever finds something counts it; when the statement's query ends, it becomes one WARNING for
 * each kind.
 */
#ifndef PFS_DOUBTS_H
#define PFS_DOUBTS_H

#include "profstore.h"

#include "dictionary/cache/dictionary.h"

typedef enum PfsDoubt
{
	PFS_DOUBT_STACKS,  /* stacks that are not in the dictionary */
	PFS_DOUBT_PARENTS, /* nodes of the dictionary whose parents are not there */
	PFS_DOUBT_NAMES,   /* locations, functions and mappings that are not there */
	PFS_DOUBT_SUMS,	   /* sums that left int8 */
	PFS_DOUBT_COUNT
} PfsDoubt;

/* Counts what was found; 0 is nothing. Raises no error. */
void pfs_doubt(PfsDoubt doubt, uint64 count);

/* Whether something was found that has not been told. */
bool pfs_doubts_any(void);

/* Takes back what was counted: a pass begins again, and will meet it again. */
void pfs_doubts_forget(PfsDoubt doubt);

/* The nearest int8 of a sum that has no room in one, and a doubt. */
int64 pfs_clip_doubtful(int128 sum);

/* The sum as an int8: where it does not fit, the nearest there is, and a doubt. */
static inline int64
pfs_clip(int128 sum)
{
	return likely(sum == (int64) sum) ? (int64) sum : pfs_clip_doubtful(sum);
}

/* Called once when the module is loaded. */
void pfs_doubts_init(void);

#endif
