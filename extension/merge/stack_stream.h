/*
 * stack_stream.h
 *		The merge: one sum per stack over a selection, in parts that fit work_mem.
 *
 * Delta types add up. Instant types are averaged over the scrapes (distinct times) of each series,
 * then series are added; the average of a stack is rounded once, at the end. Stacks that sum to
 * zero are left out. A sum that does not fit int8 is the nearest that does (pfs_clip).
 *
 * A part has whole stacks, by ascending id; so has the next. A stream lives in CurrentMemoryContext
 * and takes no more than its share of work_mem; temporary files of it go with the transaction.
 */
#ifndef PFS_STACK_STREAM_H
#define PFS_STACK_STREAM_H

#include "profstore.h"

#include "merge/stack_sums.h"
#include "select/selection.h"

typedef struct PfsStackStream PfsStackStream;

/* So many stacks are a part at most, and take what such a query may take. */
uint32 pfs_stack_stream_room(void);

/* Scans the samples of the selection. */
PfsStackStream *pfs_stack_stream_begin(const PfsSelection *selection);

/*
 * The same with both sides: each stack that has a value on either. By rate, both are scaled to the
 * longer of the two ranges, so nothing is rounded away, and equal ranges stay exact. Averages of an
 * instant type are rates already. Raises INVALID_PARAMETER_VALUE where the profile types differ, or
 * where a rate is asked for a range without an end.
 */
PfsStackStream *pfs_stack_stream_compare(const PfsSelection *selection, const PfsSelection *base,
										 bool by_rate);

/* A stream of sums that are there, in memory that has to outlive the stream. */
PfsStackStream *pfs_stack_stream_of(const PfsStackSums *sums);

/* The values of two lists that are there, side by side. */
PfsStackStream *pfs_stack_stream_join(const PfsStackSums *values, const PfsStackSums *bases);

/*
 * Before the first part of a stream that is to be read more than once: what does not come as one
 * part is kept on disk.
 */
void pfs_stack_stream_keep(PfsStackStream *stream);

/* Whether all stacks come as one part, or none. */
bool pfs_stack_stream_is_whole(const PfsStackStream *stream);

/* The next stacks, which hold until the next call; false at the end. */
bool pfs_stack_stream_next(PfsStackStream *stream, PfsStackSums *part);

/* Back to before the first part, where all have been read and kept. */
void pfs_stack_stream_rewind(PfsStackStream *stream);
void pfs_stack_stream_end(PfsStackStream *stream);

#endif
