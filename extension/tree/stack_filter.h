/*
 * stack_filter.h
 *		Whether a stack passes the filters, while samples are read.
 *
 * Each stack is judged when it is first met, so one scan is enough. Verdicts take a quarter of
 * work_mem at most; beyond, they are forgotten, and made again. They stay for the session's next
 * query with these filters, and with them what passed of chunks of segments, in another quarter.
 */
#ifndef PFS_STACK_FILTER_H
#define PFS_STACK_FILTER_H

#include "profstore.h"

#include "datatype/timestamp.h"

#include "dictionary/cache/dictionary.h"
#include "store/scan/scan_request.h"
#include "tree/filters.h"

typedef struct PfsStackFilter PfsStackFilter;

/*
 * NULL where there are no filters: every stack passes. filters must outlive it. Begins the use of
 * the dictionary. Lives in CurrentMemoryContext.
 */
PfsStackFilter *pfs_stack_filter_create(const PfsFilters *filters);

/*
 * For a scan of samples, of a filter that may be NULL; their attnum is the scan's to set. Stacks
 * that are new are judged together.
 */
PfsVerdicts pfs_stack_filter_verdicts(PfsStackFilter *filter);

/* Samples of a range, nearly, that need not be read again. */
uint64 pfs_stack_filter_kept_rows(const PfsStackFilter *filter, TimestampTz from, TimestampTz to);

/* What filters alike in other processes keep of chunks, in shared memory. */
typedef struct PfsKeptArea
{
	PfsDictionaryVersion version;
	bool is_valid;
	Size bytes;
	/* chunks side by side */
} PfsKeptArea;

/* An area for all that is kept, and for the most that may be. */
Size pfs_stack_filter_kept_bytes(const PfsStackFilter *filter);
Size pfs_stack_filter_most_bytes(const PfsStackFilter *filter);

/*
 * Writes what is kept to an area of so many bytes, as much as fits; or what was read by this
 * process alone. Others take it, unless their dictionary has changed meanwhile.
 */
void pfs_stack_filter_share(const PfsStackFilter *filter, bool new_ones, PfsKeptArea *area,
							Size bytes);
void pfs_stack_filter_take(PfsStackFilter *filter, const PfsKeptArea *area);

#endif
