/*
 * store_profile.c
 *		The way of a profile into the tables, through the functions that every writer uses.
 *
 * 1. Mappings, functions, locations and stacks get their ids (profile_stacks).
 * 2. Samples are grouped by their labels: a series for each label set and sample type
 *	  (profile_series).
 * 3. Rows of equal series, time and stack add up; a series without one gets a row of stack 0.
 * 4. Rows go into samples, whose partitions are made (insert_samples); series are told when they
 *	  were seen.
 * 5. What the file says beside its samples is kept for the series.
 */
#include "profstore.h"

#include "catalog/pg_type.h"
#include "common/int.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "base/arrays.h"
#include "dictionary/intern/arrays.h"
#include "dictionary/intern/series_seen.h"
#include "import/insert_samples.h"
#include "import/profile_series.h"
#include "import/profile_stacks.h"
#include "import/profile_text.h"
#include "import/server.h"
#include "import/store_profile.h"
#include "import/writer_calls.h"

/* Most days of one file: mistaken times shall not make hundreds of tables. */
#define MAX_DAYS 366

typedef struct Storing
{
	const PfsImport *import;
	const PfsProfile *profile;
	const int64 *stack_ids; /* of samples */
	PfsProfileSeries series;
	PfsSampleRow *rows; /* until they are stored, series_id is the index of the series */
	uint32 row_count;
} Storing;

/* Step 3: rows */

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
merge_rows(Storing *storing)
{
	uint32 merged = 0;

	qsort(storing->rows, storing->row_count, sizeof(PfsSampleRow), compare_rows);
	for (uint32 i = 0; i < storing->row_count;)
	{
		PfsSampleRow row = storing->rows[i];
		int64 sum;

		for (i++; i < storing->row_count && compare_rows(&storing->rows[i], &row) == 0 &&
				  !pg_add_s64_overflow(row.value, storing->rows[i].value, &sum);
			 i++)
			row.value = sum;
		if (row.value != 0)
			storing->rows[merged++] = row;
	}
	storing->row_count = merged;
}

static TimestampTz
time_of(const Storing *storing, const PfsProfileSample *sample)
{
	TimestampTz time;

	if (pg_add_s64_overflow(storing->import->time, sample->time_offset_ns / PFS_NS_PER_US, &time))
		ereport(ERROR, (errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
						errmsg("time of samples out of range")));
	return time;
}

static void
make_rows(Storing *storing)
{
	const PfsProfile *profile = storing->profile;
	Size value_count = (Size) profile->sample_count * profile->type_count;
	bool *has_row = PFS_ARRAY0(bool, storing->series.count);

	if (value_count + storing->series.count >= PG_INT32_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("profile has too many values")));
	storing->rows = PFS_ARRAY(PfsSampleRow, value_count + storing->series.count);
	for (Size i = 0; i < value_count; i++)
	{
		uint32 sample = (uint32) (i / profile->type_count);
		uint32 series = storing->series.set_of_sample[sample] * profile->type_count +
						(uint32) (i % profile->type_count);

		if (profile->values[i] != 0)
			storing->rows[storing->row_count++] =
				(PfsSampleRow){ time_of(storing, &profile->samples[sample]),
								storing->stack_ids[sample], profile->values[i], (int32) series };
	}
	merge_rows(storing);
	for (uint32 i = 0; i < storing->row_count; i++)
		has_row[storing->rows[i].series_id] = true;
	for (uint32 i = 0; i < storing->series.count; i++)
		if (!has_row[i])
			storing->rows[storing->row_count++] =
				(PfsSampleRow){ storing->import->time, 0, 0, (int32) i };
}

/* Step 4: samples */

/* Day of a time, counted as dates are. */
static int64
day_of(TimestampTz time)
{
	return time / USECS_PER_DAY - (time % USECS_PER_DAY < 0);
}

static int
compare_times(const void *a, const void *b)
{
	TimestampTz left = *(const TimestampTz *) a;
	TimestampTz right = *(const TimestampTz *) b;

	return (left > right) - (left < right);
}

/* A time in each day that has rows, in order of time; returns their number. */
static uint32
find_days(const Storing *storing, TimestampTz *times)
{
	uint32 count = 0;
	uint32 day_count = 0;

	for (uint32 i = 0; i < storing->row_count; i++)
		if (count == 0 || day_of(storing->rows[i].time) != day_of(times[count - 1]))
			times[count++] = storing->rows[i].time;
	qsort(times, count, sizeof(TimestampTz), compare_times);
	for (uint32 i = 0; i < count; i++)
		if (day_count == 0 || day_of(times[i]) != day_of(times[day_count - 1]))
			times[day_count++] = times[i];
	return day_count;
}

/* The partitions of the days that have rows, and of no others. */
static void
ensure_partitions(const Storing *storing)
{
	TimestampTz *times = PFS_ARRAY(TimestampTz, storing->row_count);
	uint32 day_count = find_days(storing, times);

	if (day_count > MAX_DAYS)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
						errmsg("cannot import samples of more than %d days at once", MAX_DAYS),
						errdetail("The profile has samples of %u days.", day_count)));
	for (uint32 i = 0; i < day_count; i++)
	{
		Oid type = TIMESTAMPTZOID;
		Datum time = TimestampTzGetDatum(times[i]);

		pfs_writer_call("SELECT profstore.ensure_partitions($1, $1)", 1, &type, &time);
	}
	pfree(times);
}

static void
tell_seen(const Storing *storing)
{
	TimestampTz *first = PFS_ARRAY(TimestampTz, storing->series.count);
	TimestampTz *last = PFS_ARRAY(TimestampTz, storing->series.count);

	for (uint32 i = 0; i < storing->series.count; i++)
	{
		first[i] = DT_NOEND;
		last[i] = DT_NOBEGIN;
	}
	for (uint32 i = 0; i < storing->row_count; i++)
	{
		const PfsSampleRow *row = &storing->rows[i];

		first[row->series_id] = Min(first[row->series_id], row->time);
		last[row->series_id] = Max(last[row->series_id], row->time);
	}
	/* each series has a row */
	for (uint32 i = 0; i < storing->series.count; i++)
		pfs_series_seen(storing->series.ids[i], first[i], last[i]);
}

static void
insert_rows(Storing *storing)
{
	ensure_partitions(storing);
	tell_seen(storing);
	for (uint32 i = 0; i < storing->row_count; i++)
		storing->rows[i].series_id = storing->series.ids[storing->rows[i].series_id];
	pfs_samples_insert(storing->rows, storing->row_count);
}

/* Step 5: notes */

static Datum
int4_array(const int32 *elements, uint32 count)
{
	ArrayType *array = pfs_array_make(count, INT4OID, sizeof(int32));

	memcpy(ARR_DATA_PTR(array), elements, count * sizeof(int32));
	return PointerGetDatum(array);
}

static void
keep_notes(const Storing *storing)
{
	const PfsProfile *profile = storing->profile;
	PfsText texts[4] = { { "", 0 }, profile->doc_url, profile->drop_frames, profile->keep_frames };
	Oid types[6] = { INT4ARRAYOID, TEXTARRAYOID, TEXTOID, TEXTOID, TEXTOID, TEXTOID };
	Datum *comments = PFS_ARRAY(Datum, profile->comment_count);
	Datum values[6];
	bool any = profile->comment_count > 0;

	if (profile->default_type != PFS_NONE)
		texts[0] = profile->types[profile->default_type].type;
	for (int i = 0; i < 4; i++)
	{
		values[2 + i] = pfs_import_text_datum(storing->import, texts[i]);
		any |= texts[i].length > 0;
	}
	if (!any)
		return;
	for (uint32 i = 0; i < profile->comment_count; i++)
		comments[i] = pfs_import_text_datum(storing->import, profile->comments[i]);
	values[0] = int4_array(storing->series.ids, storing->series.count);
	values[1] = pfs_varlena_array(comments, profile->comment_count, TEXTOID);
	pfs_writer_call("SELECT profstore.keep_file_notes($1, $2, $3, $4, $5, $6)", 6, types, values);
}

int64
pfs_profile_store(const PfsImport *import)
{
	Storing storing = { .import = import, .profile = import->profile };

	SPI_connect();
	storing.stack_ids = pfs_profile_stacks(import);
	storing.series = pfs_profile_series(import);
	make_rows(&storing);
	insert_rows(&storing);
	keep_notes(&storing);
	SPI_finish();
	return storing.row_count;
}
