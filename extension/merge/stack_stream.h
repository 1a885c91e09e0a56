/*
 * stack_stream.h
 *		The merge: one sum per stack over a selection, in parts that fit work_mem.
 *
 * Delta types are summed. Instant types are averaged over the scrapes (distinct times) of each
 * series, then series are summed; the average of a stack is rounded once, at the end. Stacks with
 * sum 0 are left out. A sum that does not fit int8 is clipped to the nearest int8 (pfs_clip()).
 *
 * Stack ids ascend within a part and from one part to the next, and no stack is in two parts. A
 * stream lives in CurrentMemoryContext and uses at most its share of work_mem; its temporary files
 * are removed with the transaction.
 */
#ifndef PFS_STACK_STREAM_H
#define PFS_STACK_STREAM_H

#include "profstore.h"

#include "merge/stack_sums.h"
#include "select/selection.h"

typedef struct PfsStackStream PfsStackStream;

/* Returns the largest number of stacks in a part, which the memory of the query determines. */
uint32 pfs_stack_stream_room(void);

/* Scans the samples of the selection. */
PfsStackStream *pfs_stack_stream_begin(const PfsSelection *selection);

/*
 * Scans both selections: returns each stack that has a value on either side. If rates are compared,
 * both sides are scaled to the longer of the two ranges, so that no precision is lost by rounding,
 * and equal ranges stay exact. Averages of an instant type are rates already. Raises
 * INVALID_PARAMETER_VALUE if the profile types differ, or for a rate over a range without an end.
 */
PfsStackStream *pfs_stack_stream_compare(const PfsSelection *selection, const PfsSelection *base,
										 bool by_rate);

/* Makes a stream of existing sums, whose memory must outlive the stream. */
PfsStackStream *pfs_stack_stream_of(const PfsStackSums *sums);

/* Makes a stream of two existing lists of sums, side by side. */
PfsStackStream *pfs_stack_stream_join(const PfsStackSums *values, const PfsStackSums *bases);

/*
 * Makes a stream that can be read more than once: if it has more than one part, parts are written
 * to disk. Call it before the first part is read.
 */
void pfs_stack_stream_keep(PfsStackStream *stream);

/* Returns true if all stacks come in one part, or there are none. */
bool pfs_stack_stream_is_whole(const PfsStackStream *stream);

/* Returns the next stacks, which are valid until the next call; false at the end. */
bool pfs_stack_stream_next(PfsStackStream *stream, PfsStackSums *part);

/* Goes back to the first part of a stream that was kept and read to its end. */
void pfs_stack_stream_rewind(PfsStackStream *stream);
void pfs_stack_stream_end(PfsStackStream *stream);

#endif
