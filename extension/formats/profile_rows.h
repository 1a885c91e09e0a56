/*
 * profile_rows.h
 *		Rows of samples, once the stacks of a profile have numbers. Knows no server header.
 */
#ifndef PFS_PROFILE_ROWS_H
#define PFS_PROFILE_ROWS_H

#include "formats/series_names.h"
#include "formats/trace_ids.h"

typedef struct PfsSampleRow
{
	int64_t time; /* microseconds, since whenever the profile's time counts from */
	int64_t stack_id;
	int64_t value;
	int32_t series_id; /* set * type_count + sample type, until the caller knows better */
} PfsSampleRow;

/* What of a row's value a trace or a span brought about. */
typedef struct PfsTraceRow
{
	PfsSampleRow row;
	PfsTraceIds ids;
} PfsTraceRow;

typedef struct PfsSampleRows
{
	PfsSampleRow *rows;
	uint32_t count;
	PfsTraceRow *traces; /* each of one of the rows */
	uint32_t trace_count;
} PfsSampleRows;

/*
 * Rows of a profile of that time, whose samples have these stacks; 0 is the empty one.
 *
 * Samples of equal stack, labels and time add up, as far as sums fit int8: beyond it they stay
 * several rows. Values of 0 are left out, but a series without another row gets one of stack 0.
 * Traces are the values of samples whose labels tell ids; equal ones add up in the same way.
 * The rows go with the scratch. PFS_READ_OUT_OF_RANGE for times that leave int8,
 * PFS_READ_TOO_LARGE, PFS_READ_NO_MEMORY.
 */
PfsReadStatus pfs_profile_rows(PfsMaking *making, const PfsProfile *profile,
							   const PfsProfileSets *sets, const int64_t *stack_ids, int64_t time,
							   PfsSampleRows *result, PfsReadError *error);

#endif
