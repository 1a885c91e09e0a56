/*
 * store_profile.c
 *		Stores a profile, through the functions for writers.
 *
 * 1. Mappings, functions, locations and stacks get their ids (profile_stacks.h).
 * 2. Samples are grouped by their labels: a series for each label set and sample type
 *    (profile_series.h).
 * 3. Rows of equal series, time and stack are summed. A series without any row gets one of the
 *    empty stack (id 0).
 * 4. Rows are inserted into samples, whose partitions are created first (insert_samples.h); the
 *    times at which series were seen are recorded.
 * 5. Rows of traces are stored beside samples.
 * 6. The notes of the file are stored for the series.
 */
#include "profstore.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

#include "base/arrays.h"
#include "dictionary/intern/intern_arrays.h"
#include "dictionary/intern/series_seen.h"
#include "import/insert_samples.h"
#include "import/known_ids.h"
#include "import/profile_series.h"
#include "import/profile_stacks.h"
#include "import/profile_text.h"
#include "import/server.h"
#include "import/store_profile.h"
#include "import/writer_calls.h"

/*
 * Most days that the samples of one file may have: wrong times must not create hundreds of
 * partitions.
 */
#define MAX_DAYS 366

typedef struct Storing
{
	const PfsImport *import;
	const PfsProfile *profile;
	PfsProfileSeries series;
	PfsSampleRow *rows; /* series_id is the index of the series until the rows are stored */
	uint32 row_count;
	const PfsTraceRow *traces; /* series_id is always the index of the series */
	uint32 trace_count;
} Storing;

/* --- step 3: rows --- */

/* Makes the rows of samples, in which indexes stand for ids of series until they are stored. */
static void
make_rows(Storing *storing, const int64 *stack_ids)
{
	const PfsImport *import = storing->import;
	PfsSampleRows rows;
	PfsReadError error;
	PfsReadStatus status = pfs_profile_rows(import->making, import->profile, &storing->series.sets,
											stack_ids, import->time, &rows, &error);

	if (status == PFS_READ_NO_MEMORY)
		ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
	if (status != PFS_READ_OK)
		ereport(ERROR,
				(errcode(status == PFS_READ_OUT_OF_RANGE ? ERRCODE_DATETIME_VALUE_OUT_OF_RANGE
														 : ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("%s", error.message)));
	storing->rows = rows.rows;
	storing->row_count = rows.count;
	storing->traces = rows.traces;
	storing->trace_count = rows.trace_count;
}

/* --- step 4: samples --- */

/* Returns the day of a time, numbered as in type date. */
static int64
sample_day(TimestampTz time)
{
	return time / USECS_PER_DAY - (time % USECS_PER_DAY < 0);
}

static int
days_compare(const void *a, const void *b)
{
	TimestampTz left = *(const TimestampTz *) a;
	TimestampTz right = *(const TimestampTz *) b;

	return (left > right) - (left < right);
}

/* Collects one time for each day with rows, in order; returns their number. */
static uint32
find_days(const Storing *storing, TimestampTz *times)
{
	uint32 count = 0;
	uint32 day_count = 0;

	for (uint32 i = 0; i < storing->row_count; i++)
		if (count == 0 || sample_day(storing->rows[i].time) != sample_day(times[count - 1]))
			times[count++] = storing->rows[i].time;
	qsort(times, count, sizeof(TimestampTz), days_compare);
	for (uint32 i = 0; i < count; i++)
		if (day_count == 0 || sample_day(times[i]) != sample_day(times[day_count - 1]))
			times[day_count++] = times[i];
	return day_count;
}

/* Creates the partitions of the days with rows, and no others. */
static void
days_ensure_partitions(const Storing *storing)
{
	TimestampTz *times = PFS_ARRAY(TimestampTz, storing->row_count);
	uint32 day_count = find_days(storing, times);

	if (day_count > MAX_DAYS)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
						errmsg("cannot import samples of more than %d days at once", MAX_DAYS),
						errdetail("The profile has samples on %u different days.", day_count)));
	for (uint32 i = 0; i < day_count; i++)
	{
		Oid type = TIMESTAMPTZOID;
		Datum time = TimestampTzGetDatum(times[i]);

		pfs_writer_call("SELECT profstore.ensure_partitions($1, $1)", 1, &type, &time);
	}
	pfree(times);
}

/* Records the first and last time of each series' rows. */
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
	days_ensure_partitions(storing);
	tell_seen(storing);
	for (uint32 i = 0; i < storing->row_count; i++)
		storing->rows[i].series_id = storing->series.ids[storing->rows[i].series_id];
	pfs_samples_insert(storing->rows, storing->row_count);
}

/* --- step 5: traces --- */

static Datum
span_datum(const PfsTraceIds *ids)
{
	bytea *span = palloc(VARHDRSZ + PFS_SPAN_BYTES);

	SET_VARSIZE(span, VARHDRSZ + PFS_SPAN_BYTES);
	memcpy(VARDATA(span), ids->span, PFS_SPAN_BYTES);
	return PointerGetDatum(span);
}

/* Stores the parts of the samples that belong to traces, by profstore.keep_traces(). */
static void
keep_traces(const Storing *storing)
{
	Oid types[] = { TIMESTAMPTZARRAYOID, INT4ARRAYOID, INT8ARRAYOID,
					INT8ARRAYOID,		 UUIDARRAYOID, BYTEAARRAYOID };
	uint32 count = storing->trace_count;
	ArrayType *times = pfs_array_make(count, TIMESTAMPTZOID, sizeof(TimestampTz));
	ArrayType *series = pfs_array_make(count, INT4OID, sizeof(int32));
	ArrayType *stacks = pfs_array_make(count, INT8OID, sizeof(int64));
	ArrayType *amounts = pfs_array_make(count, INT8OID, sizeof(int64));
	ArrayType *ids = pfs_array_make(count, UUIDOID, UUID_LEN);
	Datum *spans = PFS_ARRAY(Datum, count);
	Datum values[lengthof(types)] = { PointerGetDatum(times),  PointerGetDatum(series),
									  PointerGetDatum(stacks), PointerGetDatum(amounts),
									  PointerGetDatum(ids),	   (Datum) 0 };

	if (count == 0)
		return;
	for (uint32 i = 0; i < count; i++)
	{
		const PfsTraceRow *trace = &storing->traces[i];

		((TimestampTz *) ARR_DATA_PTR(times))[i] = trace->row.time;
		((int32 *) ARR_DATA_PTR(series))[i] = storing->series.ids[trace->row.series_id];
		((int64 *) ARR_DATA_PTR(stacks))[i] = trace->row.stack_id;
		((int64 *) ARR_DATA_PTR(amounts))[i] = trace->row.value;
		memcpy(ARR_DATA_PTR(ids) + (Size) i * UUID_LEN, trace->ids.trace, UUID_LEN);
		spans[i] = span_datum(&trace->ids);
	}
	values[lengthof(types) - 1] = pfs_varlena_array(spans, count, BYTEAOID);
	pfs_writer_call("SELECT profstore.keep_traces($1, $2, $3, $4, $5, $6)", lengthof(types), types,
					values);
}

/* --- step 6: notes --- */

static void
profile_put_text(StringInfo content, PfsText text)
{
	appendBinaryStringInfo(content, (const char *) &text.length, sizeof(text.length));
	appendBinaryStringInfo(content, text.data, (int) text.length);
}

static Datum
int4_array(const int32 *elements, uint32 count)
{
	ArrayType *array = pfs_array_make(count, INT4OID, sizeof(int32));

	memcpy(ARR_DATA_PTR(array), elements, count * sizeof(int32));
	return PointerGetDatum(array);
}

/* Appends all notes of a file, and its series. */
static void
put_notes(StringInfo content, const void *context, uint32 item)
{
	const Storing *storing = context;
	const PfsProfile *profile = storing->profile;
	PfsText texts[3] = { profile->doc_url, profile->drop_frames, profile->keep_frames };

	appendBinaryStringInfo(content, (const char *) storing->series.ids,
						   (int) (storing->series.count * sizeof(int32)));
	appendBinaryStringInfo(content, (const char *) &profile->default_type, sizeof(uint32));
	for (int i = 0; i < 3; i++)
		profile_put_text(content, texts[i]);
	for (uint32 i = 0; i < profile->comment_count; i++)
		profile_put_text(content, profile->comments[i]);
}

static const int32 *
store_notes(const void *context, const uint32 *items, uint32 count)
{
	static const int32 stored = 1;
	const Storing *storing = context;
	const PfsProfile *profile = storing->profile;
	PfsText texts[4] = { { "", 0 }, profile->doc_url, profile->drop_frames, profile->keep_frames };
	Oid types[6] = { INT4ARRAYOID, TEXTARRAYOID, TEXTOID, TEXTOID, TEXTOID, TEXTOID };
	Datum *comments = PFS_ARRAY(Datum, profile->comment_count);
	Datum values[6];

	if (profile->default_type != PFS_NONE)
		texts[0] = profile->types[profile->default_type].type;
	for (int i = 0; i < 4; i++)
		values[2 + i] = pfs_import_text_datum(storing->import, texts[i]);
	for (uint32 i = 0; i < profile->comment_count; i++)
		comments[i] = pfs_import_text_datum(storing->import, profile->comments[i]);
	values[0] = int4_array(storing->series.ids, storing->series.count);
	values[1] = pfs_varlena_array(comments, profile->comment_count, TEXTOID);
	pfs_writer_call("SELECT profstore.keep_file_notes($1, $2, $3, $4, $5, $6)", 6, types, values);
	return &stored;
}

static void
keep_notes(const Storing *storing)
{
	const PfsProfile *profile = storing->profile;

	if (profile->default_type != PFS_NONE || profile->doc_url.length > 0 ||
		profile->drop_frames.length > 0 || profile->keep_frames.length > 0 ||
		profile->comment_count > 0)
		pfs_known_ids(&(PfsKnownItems){ .kind = PFS_KNOWN_NOTES,
										.encoding = storing->import->encoding,
										.count = 1,
										.context = storing,
										.put_content = put_notes,
										.intern = store_notes });
}

int64
pfs_profile_store(const PfsImport *import)
{
	Storing storing = { .import = import, .profile = import->profile };
	const int64 *stack_ids;

	SPI_connect();
	pfs_known_ids_begin();
	stack_ids = pfs_profile_stacks(import);
	storing.series = pfs_profile_series(import);
	make_rows(&storing, stack_ids);
	insert_rows(&storing);
	keep_traces(&storing);
	keep_notes(&storing);
	SPI_finish();
	return storing.row_count;
}
