/*
 * profile_rows.c
 *		Samples to rows: sorted by series, stack and time, and added up.
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

/* Adds up neighbours that are of one series, time and stack, as far as sums fit; sums of 0 go. */
static void
merge(PfsSampleRows *result)
{
	uint32_t merged = 0;

	qsort(result->rows, result->count, sizeof(PfsSampleRow), compare_rows);
	for (uint32_t i = 0; i < result->count;)
	{
		PfsSampleRow row = result->rows[i];
		int64_t sum;

		for (i++; i < result->count && compare_rows(&result->rows[i], &row) == 0 &&
				  !__builtin_add_overflow(row.value, result->rows[i].value, &sum);
			 i++)
			row.value = sum;
		if (row.value != 0)
			result->rows[merged++] = row;
	}
	result->count = merged;
}

/* A row for each value that is not 0; false where a time leaves int8. */
static bool
add_values(const PfsProfile *profile, const PfsProfileSets *sets, const int64_t *stack_ids,
		   int64_t time, PfsSampleRows *result)
{
	const int64_t *value = profile->values;

	for (uint32_t i = 0; i < profile->sample_count; i++)
	{
		const PfsProfileSample *sample = &profile->samples[i];
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

static void
add_empty(uint32_t series_count, int64_t time, bool *has_row, PfsSampleRows *result)
{
	for (uint32_t i = 0; i < result->count; i++)
		has_row[result->rows[i].series_id] = true;
	for (uint32_t i = 0; i < series_count; i++)
		if (!has_row[i])
			result->rows[result->count++] = (PfsSampleRow){ time, 0, 0, (int32_t) i };
}

PfsReadStatus
pfs_profile_rows(PfsMaking *making, const PfsProfile *profile, const PfsProfileSets *sets,
				 const int64_t *stack_ids, int64_t time, PfsSampleRows *result, PfsReadError *error)
{
	size_t series_count = (size_t) sets->count * profile->type_count;
	size_t room = (size_t) profile->sample_count * profile->type_count + series_count;
	bool *has_row;

	*error = (PfsReadError){ "profile has too many values", 0 };
	if (room >= INT32_MAX)
		return PFS_READ_TOO_LARGE;
	*result = (PfsSampleRows){ pfs_making_alloc(making, room * sizeof(PfsSampleRow)), 0 };
	has_row = pfs_making_alloc(making, series_count);
	if (result->rows == NULL || has_row == NULL)
		return pfs_budget_status(making->budget, error);
	memset(has_row, 0, series_count);
	error->message = "time of samples out of range";
	if (!add_values(profile, sets, stack_ids, time, result))
		return PFS_READ_OUT_OF_RANGE;
	merge(result);
	add_empty((uint32_t) series_count, time, has_row, result);
	return PFS_READ_OK;
}
