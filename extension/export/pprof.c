/*
 * pprof.c
 *		pprof(): a selection as a file for go tool pprof.
 */
#include "profstore.h"

#include "catalog/pg_type.h"
#include "common/int.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "utils/timestamp.h"

#include "base/arguments.h"
#include "base/arrays.h"
#include "dictionary/cache/dictionary.h"
#include "dictionary/intern/intern_arrays.h"
#include "export/export_samples.h"
#include "export/file_notes.h"
#include "export/pprof_write.h"
#include "export/view_text.h"
#include "formats/gunzip.h"
#include "import/server.h"
#include "select/selection.h"
#include "store/segment/codec_server.h"

PG_FUNCTION_INFO_V1(profstore_pprof);

static const char seen_query[] =
	"SELECT pg_catalog.min(s.first_seen), pg_catalog.max(s.last_seen) FROM profstore.series AS s "
	"WHERE s.id OPERATOR(pg_catalog.=) ANY ($1)";

/* Cuts the next part off a profile type. */
static char *
next_part(char **rest)
{
	char *part = *rest;
	char *colon = strchr(part, ':');

	*rest = colon == NULL ? part + strlen(part) : colon + 1;
	if (colon != NULL)
		*colon = '\0';
	return part;
}

/* Converts to nanoseconds since 1970; returns false for infinity and out of range. */
static bool
to_file_time(TimestampTz time, int64 *time_ns)
{
	int64 since_1970;

	return !TIMESTAMP_NOT_FINITE(time) &&
		   !pg_add_s64_overflow(time, PFS_EPOCH_DIFFERENCE_US, &since_1970) &&
		   !pg_mul_s64_overflow(since_1970, PFS_NS_PER_US, time_ns);
}

/*
 * Finds when the series were seen; returns false if that is unknown. last_seen may lag by a minute.
 */
static bool
find_seen(const PfsSelection *selection, TimestampTz *first, TimestampTz *last)
{
	Oid type = INT8ARRAYOID;
	ArrayType *ids = pfs_array_make((uint32) selection->series_count, INT8OID, sizeof(int64));
	Datum argument = PointerGetDatum(ids);
	bool is_null;

	memcpy(ARR_DATA_PTR(ids), selection->series_ids,
		   sizeof(int64) * (Size) selection->series_count);
	SPI_connect();
	if (SPI_execute_with_args(seen_query, 1, &type, &argument, NULL, true, 0) != SPI_OK_SELECT ||
		SPI_processed != 1)
		elog(ERROR, "could not read profstore.series");
	*first = DatumGetTimestampTz(
		SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &is_null));
	*last = DatumGetTimestampTz(
				SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 2, &is_null)) +
			USECS_PER_MINUTE;
	SPI_finish();
	return !is_null;
}

/*
 * Sets the range of the selection; an open end becomes the time at which the series were first or
 * last seen.
 */
static void
header_set_range(PfsPprofHeader *header, const PfsSelection *selection)
{
	int64 end_ns = 0;
	bool has_begin = to_file_time(selection->from, &header->time_ns);
	bool has_end = to_file_time(selection->to, &end_ns);
	TimestampTz first;
	TimestampTz last;

	if ((!has_begin || !has_end) && find_seen(selection, &first, &last))
	{
		has_begin = has_begin || to_file_time(first, &header->time_ns);
		has_end = has_end || to_file_time(last, &end_ns);
	}
	if (!has_begin)
		header->time_ns = 0;
	else if (has_end && selection->delta &&
			 (pg_sub_s64_overflow(end_ns, header->time_ns, &header->duration_ns) ||
			  header->duration_ns < 0))
		header->duration_ns = 0;
}

/* Makes a header with the range, and the period if all series have the same one. */
static PfsPprofHeader
make_header(const PfsSelection *selection)
{
	char *parts = pstrdup(selection->profile_type);
	PfsPprofHeader header = { 0 };

	next_part(&parts);
	header.sample_type = next_part(&parts);
	header.sample_unit = next_part(&parts);
	header.period_type = next_part(&parts);
	header.period_unit = next_part(&parts);
	for (int i = 0; i < selection->series_count; i++)
	{
		if (i == 0)
			header.period = selection->series[i].period;
		else if (header.period != selection->series[i].period)
		{
			header.period = 0;
			break;
		}
	}
	header_set_range(&header, selection);
	return header;
}

typedef struct Export
{
	PfsPprofWriter *writer;
	const PfsSampleLabel *labels; /* labels of the samples being added */
	uint32 label_count;
	uint64 sample_count;
	double kept; /* sum of all samples */
} Export;

static void
export_add_sample(void *argument, const int32 *location_ids, uint32 count, int64 value)
{
	Export *export = argument;

	export->sample_count++;
	export->kept += (double) value;
	pfs_pprof_add(export->writer, location_ids, count, value, export->labels, export->label_count);
}

static void
export_add_part(Export *export, const PfsSelection *selection, PfsSymbols *symbols)
{
	PfsStackStream *stream = pfs_stack_stream_begin(selection);

	pfs_export_stacks(stream, symbols, export_add_sample, export);
	pfs_stack_stream_end(stream);
}

static void
header_add_comment(PfsPprofHeader *header, const char *comment)
{
	const char **comments = PFS_ARRAY(const char *, header->comment_count + 1);

	for (uint32 i = 0; i < header->comment_count; i++)
		comments[i] = header->comments[i];
	comments[header->comment_count++] = comment;
	header->comments = comments;
}

PGDLLEXPORT Datum
profstore_pprof(PG_FUNCTION_ARGS)
{
	PfsSelection *selection = pfs_selection_get(fcinfo);
	PfsFilters filters = pfs_filters_get(fcinfo);
	bool sample_labels = pfs_argument_is_true(fcinfo, "sample_labels");
	PfsPprofHeader header = make_header(selection);
	PfsSymbols *symbols;
	Export export = { 0 };
	StringInfo profile;
	PfsBytes packed;
	bytea *result;

	pfs_file_notes_get(selection, &header);
	pfs_dictionary_begin();
	symbols = pfs_symbols_create(&filters);
	export.writer = pfs_pprof_begin(symbols);
	if (!sample_labels)
		export_add_part(&export, selection, symbols);
	for (int32 i = 0; sample_labels && i < selection->distinct_count; i++)
	{
		PfsSelection *part = pfs_selection_part(selection, i);
		PfsSampleLabel *labels;

		export.label_count = pfs_labels_of_series(part->series[0].labels, &labels);
		export.labels = labels;
		export_add_part(&export, part, symbols);
	}
	if (export.sample_count == 0)
		pfs_selection_tell_empty(selection);
	if (pfs_symbols_dropped(symbols) != NULL)
		header_add_comment(&header,
						   pfs_share_text(fcinfo, export.kept, pfs_symbols_dropped(symbols),
										  header.sample_unit));
	profile = pfs_pprof_end(export.writer, &header);
	if (pfs_gzip((uint8 *) profile->data, (size_t) profile->len,
				 pfs_palloc_allocator(CurrentMemoryContext), pfs_server_pause,
				 &packed) != PFS_READ_OK)
		elog(ERROR, "could not compress a profile of %d bytes", profile->len);
	result = palloc(packed.length + VARHDRSZ);
	SET_VARSIZE(result, packed.length + VARHDRSZ);
	memcpy(VARDATA(result), packed.data, packed.length);
	PG_RETURN_BYTEA_P(result);
}
