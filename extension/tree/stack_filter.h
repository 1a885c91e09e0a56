/*
 * stack_filter.h
 *		Tests during a scan of samples whether a stack passes the filters.
 *
 * Each stack is judged when it is first met, so one scan is enough. Verdicts use at most an eighth
 * of the memory of a query; beyond that they are dropped and made again. They are kept for the
 * session's next query with these filters, and so are the filtered sums of segment chunks, in
 * another eighth.
 */
#ifndef PFS_STACK_FILTER_H
#define PFS_STACK_FILTER_H

#include "profstore.h"

#include "datatype/timestamp.h"

#include "dictionary/cache/dictionary.h"
#include "store/scan/scan_request.h"
#include "tree/frames/filters.h"

typedef struct PfsStackFilter PfsStackFilter;

/*
 * Creates a filter of stacks; NULL if there are no filters, so that every stack passes. filters
 * must outlive it. Begins the use of the dictionary. Lives in CurrentMemoryContext.
 */
PfsStackFilter *pfs_stack_filter_create(const PfsFilters *filters);

/*
 * Returns the callbacks for a scan of samples; filter may be NULL. The caller sets their attnum.
 * New stacks are judged together.
 */
PfsVerdicts pfs_stack_filter_verdicts(PfsStackFilter *filter);

/* Returns approximately how many samples of a range need not be read again. */
uint64 pfs_stack_filter_kept_rows(const PfsStackFilter *filter, TimestampTz from, TimestampTz to);

/* Chunks kept by other processes with equal filters, in shared memory. */
typedef struct PfsKeptArea
{
	PfsDictionaryVersion version;
	bool is_valid;
	Size bytes;
	/* the chunks follow, one after another */
} PfsKeptArea;

/*
 * Return the bytes of an area for all kept chunks, and for the largest number of chunks that may be
 * kept.
 */
Size pfs_stack_filter_kept_bytes(const PfsStackFilter *filter);
Size pfs_stack_filter_most_bytes(const PfsStackFilter *filter);

/*
 * Writes the kept chunks into an area of that size, as many as fit; with new_ones only those that
 * this process has made. pfs_stack_filter_take() reads them, unless the dictionary has changed
 * since they were written.
 */
void pfs_stack_filter_share(const PfsStackFilter *filter, bool new_ones, PfsKeptArea *area,
							Size bytes);
void pfs_stack_filter_take(PfsStackFilter *filter, const PfsKeptArea *area);

#endif
