/*
 * stack_sums.h
 *		The merge: one sum per stack over a selection.
 *
 * Delta types add up. Instant types are averaged over the scrapes (distinct times) of each series, then series are
 * added; the average of a stack is rounded once, at the end. Stacks that sum to zero are left out.
 */
#ifndef PFS_STACK_SUMS_H
#define PFS_STACK_SUMS_H

#include "profstore.h"

#include "dictionary/doubts.h"
#include "select/selection.h"

/* What is compared, and what with; without a comparison the base is 0. */
typedef struct PfsSides
{
	int64 value;
	int64 base;
} PfsSides;

typedef struct PfsStackSum
{
	int64 stack_id;
	PfsSides sides;
} PfsStackSum;

typedef struct PfsStackSums
{
	uint32 count;
	PfsStackSum *sums; /* by ascending stack id */
} PfsStackSums;

/*
 * Scans the samples of the selection. The result lives in CurrentMemoryContext, what the scan needs goes before the
 * return. A sum that does not fit int8 is the nearest that does (pfs_clip).
 */
PfsStackSums pfs_stack_sums(const PfsSelection *selection);

/* The same in parts, by ascending stack id, for who needs each stack once: takes no more than its share of work_mem. */
typedef struct PfsStackStream PfsStackStream;

/* So many stacks are a part at most, and take what such a query may take. */
uint32 pfs_stack_stream_room(void);

/* Scans the samples of the selection; lives in CurrentMemoryContext. */
PfsStackStream *pfs_stack_stream_begin(const PfsSelection *selection);

/*
 * The same with both sides, each stack that has a value on either. By rate, both are scaled to the longer of the two ranges
 * (so nothing is rounded away, and equal ranges stay exact); averages of an instant type are rates already. Raises
 * INVALID_PARAMETER_VALUE where the profile types differ, or where a rate is asked for a range without an end.
 */
PfsStackStream *pfs_stack_stream_compare(const PfsSelection *selection, const PfsSelection *base,
										 bool by_rate);

/* A stream of sums that are there, which have to outlive the stream. */
PfsStackStream *pfs_stack_stream_of(const PfsStackSums *sums);

/* For who reads a stream more than once, before its first part: what does not come as one part is kept on disk. */
void pfs_stack_stream_keep(PfsStackStream *stream);

/* Whether all stacks come as one part, or none. */
bool pfs_stack_stream_is_whole(const PfsStackStream *stream);

/* The next stacks, which hold until the next call; false at the end. */
bool pfs_stack_stream_next(PfsStackStream *stream, PfsStackSums *part);

/* Back to before the first part, where all have been read and kept. */
void pfs_stack_stream_rewind(PfsStackStream *stream);
void pfs_stack_stream_end(PfsStackStream *stream);

/* Both in one list: the values of the first are the values, those of the second the bases. */
PfsStackSums pfs_stack_sums_join(const PfsStackSums *values, const PfsStackSums *bases);

/* Sums of many stacks, while they are added up: exact, so that the order is of no account. */
typedef struct PfsWideSides
{
	int128 value;
	int128 base;
} PfsWideSides;

static inline void
pfs_add_sides(PfsWideSides *sum, PfsSides more)
{
	sum->value += more.value;
	sum->base += more.base;
}

static inline void
pfs_add_wide_sides(PfsWideSides *sum, const PfsWideSides *more)
{
	sum->value += more->value;
	sum->base += more->base;
}

static inline PfsSides
pfs_clip_sides(const PfsWideSides *sum)
{
	return (PfsSides){ pfs_clip(sum->value), pfs_clip(sum->base) };
}

/*
 * a - b, modulo 2^64: for what is left of a total, which fits where it is a sum of stacks, even if the way there
 * does not.
 */
static inline PfsSides
pfs_subtract_sides(PfsSides a, PfsSides b)
{
	return (PfsSides){ (int64) ((uint64) a.value - (uint64) b.value),
					   (int64) ((uint64) a.base - (uint64) b.base) };
}

#endif
