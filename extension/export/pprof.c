/*
 * pprof.c
 *		pprof(): a selection as a file that go tool pprof reads.
 */
#include "export/pprof_write.h"

#include "base/arrays.h"
#include "common/int.h"
#include "dictionary/dictionary.h"
#include "export/export_samples.h"
#include "export/file_notes.h"
#include "export/view_text.h"
#include "fmgr.h"
#include "formats/gunzip.h"
#include "import/server.h"
#include "select/selection.h"
#include "store/segment/codec_server.h"
#include "utils/timestamp.h"

enum
{
	ARG_SELECTOR = 0,
	ARG_FILTERS = 3,
	ARG_SAMPLE_LABELS = 7
};

PG_FUNCTION_INFO_V1(profstore_pprof);

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

/* The range as asked for, where it has ends; and the period that all series have in common, if they do. */
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
	if (!TIMESTAMP_NOT_FINITE(selection->from))
	{
		int64 length;

		if (pg_mul_s64_overflow(selection->from + PFS_EPOCH_DIFFERENCE_US, PFS_NS_PER_US,
								&header.time_ns))
			header.time_ns = 0;
		if (!TIMESTAMP_NOT_FINITE(selection->to) && selection->delta &&
			!pg_sub_s64_overflow(selection->to, selection->from, &length) &&
			pg_mul_s64_overflow(length, PFS_NS_PER_US, &header.duration_ns))
			header.duration_ns = 0;
	}
	return header;
}

typedef struct Export
{
	PfsPprofWriter *writer;
	const PfsSampleLabel *labels; /* of the samples that are being added */
	uint32 label_count;
	double kept; /* sum of all samples */
} Export;

static void
add_sample(void *argument, const int32 *location_ids, uint32 count, int64 value)
{
	Export *export = argument;

	export->kept += (double) value;
	pfs_pprof_add(export->writer, location_ids, count, value, export->labels, export->label_count);
}

static void
add_part(Export *export, const PfsSelection *selection, PfsSymbols *symbols)
{
	PfsStackStream *stream = pfs_stack_stream_begin(selection);

	pfs_export_stacks(stream, symbols, add_sample, export);
	pfs_stack_stream_end(stream);
}

static void
add_comment(PfsPprofHeader *header, const char *comment)
{
	const char **comments = PFS_ARRAY(const char *, header->comment_count + 1);

	for (uint32 i = 0; i < header->comment_count; i++)
		comments[i] = header->comments[i];
	comments[header->comment_count++] = comment;
	header->comments = comments;
}

/* pprof(selector, from_ts, to_ts, focus, ignore, show, hide, sample_labels) -> bytea */
PGDLLEXPORT Datum
profstore_pprof(PG_FUNCTION_ARGS)
{
	PfsSelection *selection = pfs_selection_get(fcinfo, ARG_SELECTOR);
	PfsFilters filters = pfs_filters_get(fcinfo, ARG_FILTERS);
	bool sample_labels = !PG_ARGISNULL(ARG_SAMPLE_LABELS) && PG_GETARG_BOOL(ARG_SAMPLE_LABELS);
	PfsPprofHeader header = make_header(selection);
	PfsSymbols *symbols;
	Export export = { NULL, NULL, 0, 0 };
	StringInfo profile;
	PfsBytes packed;
	bytea *result;

	pfs_file_notes_get(selection, &header);
	pfs_dictionary_begin();
	symbols = pfs_symbols_create(&filters);
	export.writer = pfs_pprof_begin(symbols);
	if (!sample_labels)
		add_part(&export, selection, symbols);
	for (int32 i = 0; sample_labels && i < selection->distinct_count; i++)
	{
		PfsSelection *part = pfs_selection_part(selection, i);
		PfsSampleLabel *labels;

		export.label_count = pfs_labels_of_series(part->series[0].labels, &labels);
		export.labels = labels;
		add_part(&export, part, symbols);
	}
	if (pfs_symbols_dropped(symbols) != NULL)
		add_comment(&header, pfs_share_text(fcinfo, ARG_FILTERS, export.kept,
											pfs_symbols_dropped(symbols), header.sample_unit));
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
