/*
 * profile_rows.h
 *		Rows of samples, made when the stacks of a profile have numbers. Includes no server header.
 */
#ifndef PFS_PROFILE_ROWS_H
#define PFS_PROFILE_ROWS_H

#include "formats/series_names.h"
#include "formats/trace_ids.h"

typedef struct PfsSampleRow
{
	int64_t time; /* microseconds, in the same epoch as the profile's time */
	int64_t stack_id;
	int64_t value;
	int32_t series_id; /* set * type_count + sample type, until the caller replaces it */
} PfsSampleRow;

/* The part of a row's value that is attributed to a trace or span. */
typedef struct PfsTraceRow
{
	PfsSampleRow row;
	PfsTraceIds ids;
} PfsTraceRow;

typedef struct PfsSampleRows
{
	PfsSampleRow *rows;
	uint32_t count;
	PfsTraceRow *traces; /* each refers to one of the rows */
	uint32_t trace_count;
} PfsSampleRows;

/*
 * Makes the rows of a profile at that time. stacks has the stack id of each sample; 0 is the empty
 * stack.
 *
 * Samples of equal stack, labels and time are summed up while the sums fit int8; beyond that they
 * remain several rows. Values of 0 are left out, but a series without another row gets one of stack
 * 0. Traces are the values of samples whose labels contain ids, summed up in the same way. The rows
 *    are freed with the scratch. Returns PFS_READ_OUT_OF_RANGE for times that do not fit int8,
 *    PFS_READ_TOO_LARGE or PFS_READ_NO_MEMORY.
 */
PfsReadStatus pfs_profile_rows(PfsMaking *making, const PfsProfile *profile,
							   const PfsProfileSets *sets, const int64_t *stack_ids, int64_t time,
							   PfsSampleRows *result, PfsReadError *error);

#endif
