/*
 * stack_sums.c
 *		Adding sample values, or sums that stand for them, to their stacks.
 */
#include "merge/stack_sums.h"

#include "base/arrays.h"
#include "merge/scrapes.h"
#include "merge/series_sums.h"
#include "merge/stack_reader.h"
#include "miscadmin.h"
#include "select/sample_scan.h"
#include "storage/buffile.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#define INITIAL_STACKS 1024

/*
 * Stacks of a part of a stream are so many that they take half of the memory, with what a walk needs for each: the sum, that
 * of all before it, its leaf, order and verdict.
 */
#define STREAM_STACK_BYTES (56 * 2)
#define MIN_STREAM_STACKS  256
#define MAX_STREAM_STACKS  (16 * 1024 * 1024)

static void
sum_delta(const PfsSelection *selection, PfsStackTable *table)
{
	PfsSampleScan *scan =
		pfs_sample_scan_begin_sums(selection, PFS_SAMPLE_STACK | PFS_SAMPLE_VALUE, PFS_PART_PAIRS);
	PfsSampleBlock block;

	while (pfs_sample_scan_next(scan, &block))
		pfs_stack_table_add_rows(table, block.stacks, block.values, block.row_count);
	pfs_sample_scan_end(scan);
}

/*
 * Sums per (series, stack), within so many bytes, and scrapes per series first: a sum can be divided only when all times are known.
 * Two scans, since segments have their sums by stack and by time in two tables.
 */
static void
sum_instant(const PfsSelection *selection, PfsStackTable *table, Size bytes)
{
	const int64 *scrape_counts = pfs_count_scrapes(selection);
	PfsSampleScan *scan =
		pfs_sample_scan_begin_sums(selection,
								   PFS_SAMPLE_SERIES | PFS_SAMPLE_STACK | PFS_SAMPLE_VALUE,
								   PFS_PART_PAIRS);
	PfsSeriesSums *sums = pfs_series_sums_begin(bytes);
	const PfsSeries *series = NULL;
	PfsSampleBlock block;
	PfsSeriesKey key;
	int128 sum;

	while (pfs_sample_scan_next(scan, &block))
	{
		for (uint32 row = 0; row < block.row_count; row++)
		{
			if (series == NULL || series->id != block.series[row])
				series = pfs_selection_series(selection, block.series[row]);
			pfs_series_sums_add(sums, series->index, block.stacks[row], block.values[row]);
		}
	}
	pfs_sample_scan_end(scan);
	while (pfs_series_sums_next(sums, &key, &sum))
	{
		/* sums without a scrape beside them are none that retention has made */
		int64 scrapes = Max(scrape_counts[key.series], 1);
		int128 rest = (sum % scrapes) * (INT64CONST(1) << PFS_FRACTION_BITS);

		pfs_stack_table_add(table, key.id, sum / scrapes, (int64) (rest / scrapes));
	}
	pfs_series_sums_end(sums);
}

/*
 * The values of one scrape of each series.
 */
static void
sum_chosen(const PfsSelection *selection, PfsStackTable *table)
{
	const TimestampTz *chosen = pfs_choose_scrapes(selection);
	PfsSelection narrow = *selection;
	const PfsSeries *series = NULL;
	PfsSampleScan *scan;
	PfsSampleBlock block;

	narrow.from = narrow.to = selection->from;
	for (int i = 0; i < selection->distinct_count; i++)
	{
		if (chosen[i] == DT_NOBEGIN)
			continue;
		narrow.from = narrow.from == narrow.to ? chosen[i] : Min(narrow.from, chosen[i]);
		narrow.to = Max(narrow.to, chosen[i] + 1);
	}
	scan = pfs_sample_scan_begin(&narrow, PFS_SAMPLE_TIME | PFS_SAMPLE_SERIES | PFS_SAMPLE_STACK |
											  PFS_SAMPLE_VALUE);
	while (pfs_sample_scan_next(scan, &block))
	{
		for (uint32 row = 0; row < block.row_count; row++)
		{
			if (series == NULL || series->id != block.series[row])
				series = pfs_selection_series(selection, block.series[row]);
			if (block.times[row] == chosen[series->index])
				pfs_stack_table_add(table, block.stacks[row], block.values[row], 0);
		}
	}
	pfs_sample_scan_end(scan);
}

/* The stacks that do not sum to zero. */
static PfsStackSums
list_sums(PfsStackTable *table)
{
	Size count = pfs_stack_table_finish(table);
	Size capacity = count == PFS_COUNT_UNKNOWN ? INITIAL_STACKS : count + 1;
	PfsStackSums result = { 0, NULL };

	for (;; capacity *= 2)
	{
		if (capacity > PG_UINT32_MAX)
			ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("too many stacks")));
		result.sums = result.sums == NULL
						  ? PFS_ARRAY(PfsStackSum, capacity)
						  : repalloc_huge(result.sums, capacity * sizeof(PfsStackSum));
		result.count += pfs_stack_table_read(table, result.sums + result.count,
											 (uint32) capacity - result.count);
		if (result.count < capacity)
			return result;
	}
}

/* Sums of the selection, within so many bytes; lives in CurrentMemoryContext. */
static PfsStackTable *
sum_selection(const PfsSelection *selection, Size bytes)
{
	bool averages = !selection->delta && !pfs_picks_scrapes(selection);
	Size table_bytes = averages ? bytes / 2 : bytes;
	PfsStackTable *table =
		pfs_stack_table_begin(averages ? (uint32) selection->distinct_count : 0, table_bytes);

	if (selection->delta)
		sum_delta(selection, table);
	else if (averages)
		sum_instant(selection, table, bytes - table_bytes);
	else
		sum_chosen(selection, table);
	return table;
}

static MemoryContext
create_context(void)
{
	return AllocSetContextCreate(CurrentMemoryContext, "profstore sums of a selection",
								 ALLOCSET_DEFAULT_SIZES);
}

PfsStackSums
pfs_stack_sums(const PfsSelection *selection)
{
	MemoryContext context = create_context();
	MemoryContext caller = MemoryContextSwitchTo(context);
	PfsStackTable *table = sum_selection(selection, pfs_hash_memory_bytes());
	PfsStackSums result;

	MemoryContextSwitchTo(caller);
	result = list_sums(table);
	pfs_stack_table_end(table);
	MemoryContextDelete(context);
	return result;
}

/* Sums that are there, those of a reader, or those of a reader that have been kept. */
struct PfsStackStream
{
	MemoryContext context;
	uint32 room;			/* of a part */
	PfsStackSum *sums;		/* all, or the last that were read */
	Size count;				/* of them, … */
	Size next;				/* … of which so many have been told */
	PfsStackReader *reader; /* NULL: it has been read */
	BufFile *file; /* keeps what the reader tells; NULL: it is not asked for, or not needed */
};

uint32
pfs_stack_stream_room(void)
{
	Size room = pfs_hash_memory_bytes() / STREAM_STACK_BYTES;

	return (uint32) Min(Max(room, MIN_STREAM_STACKS), MAX_STREAM_STACKS);
}

static PfsStackStream *
create_stream(void)
{
	MemoryContext context = create_context();
	PfsStackStream *stream = MemoryContextAllocZero(context, sizeof(PfsStackStream));

	stream->context = context;
	stream->room = pfs_stack_stream_room();
	return stream;
}

/* Reads the first part, which tells whether there are others. */
static void
read_first(PfsStackStream *stream, PfsStackReader *reader)
{
	Size count = pfs_stack_reader_count(reader);
	uint32 room = (uint32) Min(stream->room, count);

	stream->sums = PFS_ARRAY(PfsStackSum, room);
	stream->count = pfs_stack_reader_next(reader, stream->sums, room);
	if (stream->count < stream->room || count == stream->room)
		pfs_stack_reader_end(reader);
	else
		stream->reader = reader;
}

PfsStackStream *
pfs_stack_stream_begin(const PfsSelection *selection)
{
	PfsStackStream *stream = create_stream();
	MemoryContext caller = MemoryContextSwitchTo(stream->context);

	read_first(stream, pfs_stack_reader_begin(sum_selection(selection, pfs_hash_memory_bytes()),
											  PFS_NO_SCALE));
	MemoryContextSwitchTo(caller);
	return stream;
}

PfsStackStream *
pfs_stack_stream_of(const PfsStackSums *sums)
{
	PfsStackStream *stream = create_stream();

	stream->sums = sums->sums;
	stream->count = sums->count;
	return stream;
}

bool
pfs_stack_stream_is_whole(const PfsStackStream *stream)
{
	return stream->reader == NULL && stream->file == NULL && stream->count <= stream->room;
}

/* What was read last goes to the file. */
static void
keep_sums(PfsStackStream *stream)
{
	BufFileWrite(stream->file, stream->sums, stream->count * sizeof(PfsStackSum));
}

void
pfs_stack_stream_keep(PfsStackStream *stream)
{
	MemoryContext caller = MemoryContextSwitchTo(stream->context);

	if (stream->reader != NULL)
	{
		stream->file = BufFileCreateTemp(false);
		keep_sums(stream);
	}
	MemoryContextSwitchTo(caller);
}

static void
read_more(PfsStackStream *stream)
{
	if (stream->reader != NULL)
	{
		stream->count = pfs_stack_reader_next(stream->reader, stream->sums, stream->room);
		if (stream->file != NULL)
			keep_sums(stream);
	}
	else if (stream->file != NULL)
		stream->count =
			BufFileRead(stream->file, stream->sums, stream->room * sizeof(PfsStackSum)) /
			sizeof(PfsStackSum);
	else
		return;
	stream->next = 0;
}

bool
pfs_stack_stream_next(PfsStackStream *stream, PfsStackSums *part)
{
	if (stream->next == stream->count)
		read_more(stream);
	part->count = (uint32) Min(stream->room, stream->count - stream->next);
	part->sums = stream->sums + stream->next;
	stream->next += part->count;
	return part->count > 0;
}

void
pfs_stack_stream_rewind(PfsStackStream *stream)
{
	stream->next = 0;
	pfs_doubts_forget(PFS_DOUBT_STACKS);
	if (stream->file == NULL)
		return;
	if (stream->reader != NULL)
		pfs_stack_reader_end(stream->reader);
	stream->reader = NULL;
	stream->count = 0;
	if (BufFileSeek(stream->file, 0, 0, SEEK_SET) != 0)
		ereport(ERROR,
				(errcode_for_file_access(), errmsg("could not rewind a temporary file: %m")));
}

void
pfs_stack_stream_end(PfsStackStream *stream)
{
	if (stream->file != NULL)
		BufFileClose(stream->file);
	if (stream->reader != NULL)
		pfs_stack_reader_end(stream->reader);
	MemoryContextDelete(stream->context);
}

/* What a rate divides by. */
static int64
range_length(const PfsSelection *selection)
{
	if (TIMESTAMP_NOT_FINITE(selection->from) || TIMESTAMP_NOT_FINITE(selection->to))
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("a rate needs time ranges with two ends"),
						errhint("With absolute => true, sums are compared, whatever the ranges.")));
	return pfs_sample_covered_us(selection);
}

PfsStackSums
pfs_stack_sums_join(const PfsStackSums *values, const PfsStackSums *bases)
{
	PfsStackSums merged = { 0, PFS_ARRAY(PfsStackSum, (Size) values->count + bases->count) };
	uint32 i = 0;
	uint32 j = 0;

	while (i < values->count || j < bases->count)
	{
		const PfsStackSum *value = i < values->count ? &values->sums[i] : NULL;
		const PfsStackSum *base = j < bases->count ? &bases->sums[j] : NULL;
		PfsStackSum *sum = &merged.sums[merged.count++];

		if (value != NULL && base != NULL && value->stack_id != base->stack_id)
		{
			if (value->stack_id < base->stack_id)
				base = NULL;
			else
				value = NULL;
		}
		sum->stack_id = value != NULL ? value->stack_id : base->stack_id;
		sum->sides.value = value != NULL ? value->sides.value : 0;
		sum->sides.base = base != NULL ? base->sides.value : 0;
		i += value != NULL;
		j += base != NULL;
	}
	return merged;
}

PfsStackStream *
pfs_stack_stream_compare(const PfsSelection *selection, const PfsSelection *base, bool by_rate)
{
	PfsScale value_scale = PFS_NO_SCALE;
	PfsScale base_scale = PFS_NO_SCALE;
	PfsStackStream *stream;
	PfsStackReader *reader;
	MemoryContext caller;

	if (strcmp(selection->profile_type, base->profile_type) != 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("selectors name different profile types"),
						errdetail("Values of %s and %s do not compare.", base->profile_type,
								  selection->profile_type)));
	if (by_rate && selection->delta && base->delta)
	{
		value_scale.denominator = range_length(selection);
		base_scale.denominator = range_length(base);
		value_scale.numerator = base_scale.numerator =
			Max(value_scale.denominator, base_scale.denominator);
	}
	stream = create_stream();
	caller = MemoryContextSwitchTo(stream->context);
	reader =
		pfs_stack_reader_begin(sum_selection(selection, pfs_hash_memory_bytes() / 2), value_scale);
	pfs_stack_reader_add_base(reader, sum_selection(base, pfs_hash_memory_bytes() / 2), base_scale);
	read_first(stream, reader);
	MemoryContextSwitchTo(caller);
	return stream;
}
