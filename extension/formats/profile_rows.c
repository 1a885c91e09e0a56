/*
 * profile_rows.c
 *		Converts samples to rows, which are sorted by series, stack and time and summed up. The
 *		values of traces become rows of their own in the same way.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/profile_rows.h"

#define NS_PER_US 1000

static int
compare_rows(const void *a, const void *b)
{
	const PfsSampleRow *left = a;
	const PfsSampleRow *right = b;

	if (left->series_id != right->series_id)
		return left->series_id < right->series_id ? -1 : 1;
	if (left->stack_id != right->stack_id)
		return left->stack_id < right->stack_id ? -1 : 1;
	return (left->time > right->time) - (left->time < right->time);
}

/*
 * Sums up adjacent rows of equal series, time and stack while the sums fit; removes rows with the
 * sum 0.
 */
static void
merge(PfsSampleRows *result)
{
	uint32_t merged = 0;

	qsort(result->rows, result->count, sizeof(PfsSampleRow), compare_rows);
	for (uint32_t i = 0; i < result->count;)
	{
		PfsSampleRow row = result->rows[i];
		int64_t sum;

		/* A sum that overflows leaves the remaining values in rows of their own. */
		for (i++; i < result->count && compare_rows(&result->rows[i], &row) == 0 &&
				  !__builtin_add_overflow(row.value, result->rows[i].value, &sum);
			 i++)
			row.value = sum;
		/* Positive and negative values may cancel each other out. */
		if (row.value != 0)
			result->rows[merged++] = row;
	}
	result->count = merged;
}

/* Adds a row for each value that is not 0. Returns false if a time does not fit into int8. */
static bool
rows_add_values(const PfsProfile *profile, const PfsProfileSets *sets, const int64_t *stack_ids,
				int64_t time, PfsSampleRows *result)
{
	/* value runs through the matrix: one row per sample, one column per type. */
	const int64_t *value = profile->values;

	for (uint32_t i = 0; i < profile->sample_count; i++)
	{
		const PfsProfileSample *sample = &profile->samples[i];
		/* Each set of labels has one series per type. */
		int32_t series = (int32_t) (sets->set_of_sample[i] * profile->type_count);
		int64_t sample_time;

		if (__builtin_add_overflow(time, sample->time_offset_ns / NS_PER_US, &sample_time))
			return false;
		for (uint32_t type = 0; type < profile->type_count; type++, value++)
			if (*value != 0)
				result->rows[result->count++] =
					(PfsSampleRow){ sample_time, stack_ids[i], *value, series + (int32_t) type };
	}
	return true;
}

/* Compares by row, then by the ids of trace and span. */
static int
compare_traces(const void *a, const void *b)
{
	const PfsTraceRow *left = a;
	const PfsTraceRow *right = b;
	int order = compare_rows(&left->row, &right->row);

	return order != 0 ? order : memcmp(&left->ids, &right->ids, sizeof(PfsTraceIds));
}

/* Like merge(), but for values of traces. Values that refer to removed rows are removed, too. */
static void
merge_traces(PfsSampleRows *result)
{
	uint32_t merged = 0;

	qsort(result->traces, result->trace_count, sizeof(PfsTraceRow), compare_traces);
	for (uint32_t i = 0; i < result->trace_count;)
	{
		PfsTraceRow trace = result->traces[i];
		int64_t sum;

		for (i++; i < result->trace_count && compare_traces(&result->traces[i], &trace) == 0 &&
				  !__builtin_add_overflow(trace.row.value, result->traces[i].row.value, &sum);
			 i++)
			trace.row.value = sum;
		/*
		 * Rows with the sum 0 were removed by merge(); values of traces without a row would refer
		 * to nothing.
		 */
		if (bsearch(&trace.row, result->rows, result->count, sizeof(PfsSampleRow), compare_rows))
			result->traces[merged++] = trace;
	}
	result->trace_count = merged;
}

static uint32_t
count_traced(const PfsProfile *profile)
{
	uint32_t count = 0;
	PfsTraceIds ids;

	for (uint32_t i = 0; i < profile->sample_count; i++)
		count += pfs_trace_of_sample(profile, &profile->samples[i], &ids);
	return count;
}

/*
 * Adds the values of traces for the rows that rows_add_values() has made. Returns false if out of
 * memory.
 */
static bool
add_traces(PfsMaking *making, const PfsProfile *profile, PfsSampleRows *result)
{
	const int64_t *value = profile->values;
	/* row runs in step with the rows that rows_add_values() has added, before they are sorted. */
	const PfsSampleRow *row = result->rows;
	size_t traced = count_traced(profile);
	PfsTraceIds ids;

	result->traces = pfs_making_alloc(making, traced * profile->type_count * sizeof(PfsTraceRow));
	if (result->traces == NULL)
		return false;
	for (uint32_t i = 0; traced > 0 && i < profile->sample_count; i++)
	{
		bool is_traced = pfs_trace_of_sample(profile, &profile->samples[i], &ids);

		for (uint32_t type = 0; type < profile->type_count; type++)
		{
			/* A value of 0 has no row, so row does not advance. */
			if (*value++ == 0)
				continue;
			if (is_traced)
				result->traces[result->trace_count++] = (PfsTraceRow){ *row, ids };
			row++;
		}
	}
	return true;
}

static void
add_empty(uint32_t series_count, int64_t time, bool *has_row, PfsSampleRows *result)
{
	for (uint32_t i = 0; i < result->count; i++)
		has_row[result->rows[i].series_id] = true;
	for (uint32_t i = 0; i < series_count; i++)
		/*
		 * A series without rows gets one with the value 0, which shows that the profile was
		 * recorded.
		 */
		if (!has_row[i])
			result->rows[result->count++] = (PfsSampleRow){ time, 0, 0, (int32_t) i };
}

PfsReadStatus
pfs_profile_rows(PfsMaking *making, const PfsProfile *profile, const PfsProfileSets *sets,
				 const int64_t *stack_ids, int64_t time, PfsSampleRows *result, PfsReadError *error)
{
	size_t series_count = (size_t) sets->count * profile->type_count;
	/* At most one row per value, and one per series without values. */
	size_t room = (size_t) profile->sample_count * profile->type_count + series_count;
	bool *has_row;

	*error = pfs_error_at("profile has too many values", 0);
	/* Numbers of rows and of series are int32. */
	if (room >= INT32_MAX)
		return PFS_READ_TOO_LARGE;
	*result = (PfsSampleRows){ .rows = pfs_making_alloc(making, room * sizeof(PfsSampleRow)) };
	has_row = pfs_making_alloc(making, series_count);
	if (result->rows == NULL || has_row == NULL)
		return pfs_budget_status(making->budget, error);
	memset(has_row, 0, series_count);
	error->message = "time of samples out of range";
	if (!rows_add_values(profile, sets, stack_ids, time, result))
		return PFS_READ_OUT_OF_RANGE;
	if (!add_traces(making, profile, result))
		return pfs_budget_status(making->budget, error);
	/* Traces refer to rows, so merge_traces() needs the merged ones. */
	merge(result);
	merge_traces(result);
	add_empty((uint32_t) series_count, time, has_row, result);
	return PFS_READ_OK;
}
