/*
 * stack_stream.c
 *		Sums a selection into a table, reads one or two tables in order, and returns parts of
 *		them: from the tables, from a file that keeps the parts, or from memory.
 */
#include "merge/stack_stream.h"

#include "miscadmin.h"
#include "storage/buffile.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "base/arrays.h"
#include "dictionary/cache/doubts.h"
#include "merge/scrapes.h"
#include "merge/series_sums.h"
#include "merge/stack_table.h"
#include "select/range_partitions.h"
#include "select/sample_scan.h"

/*
 * Bytes per stack of a part, so that stacks take half of the memory. They include those that a walk
 * needs for each stack: its sum, the sum of all stacks before it, its leaf, order and verdict.
 */
#define STREAM_STACK_BYTES (56 * 2)
#define MIN_STREAM_STACKS  256
#define MAX_STREAM_STACKS  (16 * 1024 * 1024)

/*
 * If two sides are summed one after the other, the first then keeps less than half of this share.
 */
#define SIDE_SHARE(bytes) ((bytes) / 4 * 3)

/* --- the samples of a selection into a table --- */

static void
sum_delta(const PfsSelection *selection, PfsStackTable *table)
{
	PfsSampleScan *scan =
		pfs_sample_scan_begin_sums(selection, PFS_SAMPLE_STACK | PFS_SAMPLE_VALUE, PFS_PART_PAIRS);
	PfsSampleBlock block;

	while (pfs_sample_scan_next(scan, &block))
		/* Sums of delta types need no division, so series are not told apart. */
		pfs_stack_table_add_rows(table, block.stacks, block.values, block.row_count);
	pfs_sample_scan_end(scan);
}

/*
 * Sums an instant type by (series, stack), in at most bytes of memory. The scrapes per series are
 * counted first, because a sum can be divided only when all times are known. That takes two scans,
 * because segments have sums by stack and by time in two tables.
 */
static void
sum_instant(const PfsSelection *selection, PfsStackTable *table, Size bytes)
{
	const int64 *scrape_counts = pfs_count_scrapes(selection);
	PfsSeriesSums *sums = pfs_series_sums_of(selection, PFS_PART_PAIRS, bytes);
	PfsSeriesKey key;
	int128 sum;

	while (pfs_series_sums_next(sums, &key, &sum))
	{
		/* retention stores each scrape beside its sums; sums of other origin count as one scrape */
		int64 scrapes = Max(scrape_counts[key.series], 1);
		/* The fraction has the sign of the sum, because % takes that of its left side. */
		int128 rest = (sum % scrapes) * (INT64CONST(1) << PFS_FRACTION_BITS);

		pfs_stack_table_add(table, key.id, sum / scrapes, (int64) (rest / scrapes));
	}
	pfs_series_sums_end(sums);
}

/* Adds the values of one scrape of each series. */
static void
sum_chosen(const PfsSelection *selection, PfsStackTable *table)
{
	const TimestampTz *chosen = pfs_choose_scrapes(selection);
	PfsSelection narrow = *selection;
	const PfsSeries *series = NULL;
	PfsSampleScan *scan;
	PfsSampleBlock block;

	/* An empty range, in case no series has a scrape. */
	narrow.from = narrow.to = selection->from;
	for (int i = 0; i < selection->distinct_count; i++)
	{
		if (chosen[i] == DT_NOBEGIN)
			continue;
		narrow.from = narrow.from == narrow.to ? chosen[i] : Min(narrow.from, chosen[i]);
		/* The end of a range is the first time that is not in it. */
		narrow.to = Max(narrow.to, chosen[i] + 1);
	}
	scan = pfs_sample_scan_begin(&narrow, PFS_SAMPLE_TIME | PFS_SAMPLE_SERIES | PFS_SAMPLE_STACK |
											  PFS_SAMPLE_VALUE);
	while (pfs_sample_scan_next(scan, &block))
	{
		for (uint32 row = 0; row < block.row_count; row++)
		{
			series = pfs_selection_next_series(selection, series, block.series[row]);
			/*
			 * The narrowed range also holds scrapes of other times, which were not chosen for this
			 * series.
			 */
			if (block.times[row] == chosen[series->index])
				pfs_stack_table_add(table, block.stacks[row], block.values[row], 0);
		}
	}
	pfs_sample_scan_end(scan);
}

/*
 * Sums the samples, using at most bytes of memory. The table and memory of the scan are in
 * CurrentMemoryContext.
 */
static PfsStackTable *
sum_selection(const PfsSelection *selection, Size bytes)
{
	/*
	 * Averages need a second table, of sums by series, so each of the two gets half of the memory.
	 */
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

/* --- one or two tables in ascending order of stack ids --- */

/* Number of stacks of a side that are kept in memory. */
#define SIDE_STACKS 64

/*
 * Values are multiplied by numerator / denominator, which is at least 1, and rounded, halves away
 * from 0.
 */
typedef struct Scale
{
	int64 numerator;
	int64 denominator; /* 0: there are no values */
} Scale;

#define NO_SCALE ((Scale){ 1, 1 })

typedef struct Side
{
	PfsStackTable *table; /* NULL if this side is empty, or was read to its end */
	Scale scale;
	uint32 count;
	uint32 next;
	PfsStackSum sums[SIDE_STACKS];
} Side;

/*
 * Reads a table of sums, or two tables side by side, in ascending order of stack ids. Two tables
 * are merged with a few stacks of each in memory.
 */
typedef struct StackReader
{
	Size count; /* upper bound of the number of stacks, or PFS_COUNT_UNKNOWN */
	Side values;
	Side *bases; /* NULL if there are no bases */
} StackReader;

static int64
scale_value(int64 value, Scale scale)
{
	int128 product = (int128) value * scale.numerator;
	/*
	 * Adding half of the divisor rounds to the nearest number, because division truncates towards
	 * 0.
	 */
	int128 half = scale.denominator / 2;

	return pfs_clip((product + (product < 0 ? -half : half)) / scale.denominator);
}

/* Like pfs_stack_table_read(), for the side's table, and scales the values. */
static uint32
read_scaled(Side *side, PfsStackSum *sums, uint32 room)
{
	uint32 count = pfs_stack_table_read(side->table, sums, room);

	/*
	 * A scale of 1 leaves the values as they are. An empty range, whose length is 0, has no values.
	 */
	if (side->scale.numerator != side->scale.denominator && side->scale.denominator != 0)
		for (uint32 i = 0; i < count; i++)
			sums[i].sides.value = scale_value(sums[i].sides.value, side->scale);
	return count;
}

static Size
begin_side(Side *side, PfsStackTable *table, Scale scale)
{
	*side = (Side){ .table = table, .scale = scale };
	return pfs_stack_table_finish(table);
}

static void
end_side(Side *side)
{
	if (side->table != NULL)
		pfs_stack_table_end(side->table);
	side->table = NULL;
}

/* Begins to read the table, which then belongs to the reader. No value can be added afterwards. */
static StackReader *
stack_reader_begin(PfsStackTable *values, Scale scale)
{
	StackReader *reader = palloc0(sizeof(StackReader));

	reader->count = begin_side(&reader->values, values, scale);
	return reader;
}

/* Adds a second table whose values are the bases. Call it before reading. */
static void
stack_reader_add_base(StackReader *reader, PfsStackTable *bases, Scale scale)
{
	Size count;

	reader->bases = palloc(sizeof(Side));
	count = begin_side(reader->bases, bases, scale);
	/* The sum is an upper bound: stacks of both sides become one. */
	reader->count = count == PFS_COUNT_UNKNOWN || reader->count == PFS_COUNT_UNKNOWN
						? PFS_COUNT_UNKNOWN
						: reader->count + count;
}

/* Returns the next stack of a side; NULL at its end. */
static const PfsStackSum *
run_peek(Side *side)
{
	if (side->next < side->count)
		return &side->sums[side->next];
	if (side->table == NULL)
		return NULL;
	side->next = 0;
	side->count = read_scaled(side, side->sums, SIDE_STACKS);
	/*
	 * Fewer than asked for means the end. The table's memory is freed early, while the other side
	 * is read on.
	 */
	if (side->count < SIDE_STACKS)
		end_side(side);
	return side->count > 0 ? side->sums : NULL;
}

static bool
next_pair(StackReader *reader, PfsStackSum *pair)
{
	const PfsStackSum *value = run_peek(&reader->values);
	const PfsStackSum *base = run_peek(reader->bases);

	if (value == NULL && base == NULL)
		return false;
	/*
	 * The call sets value or base to NULL if the other side has the smaller id, so that only sides
	 * that were used move on.
	 */
	*pair = pfs_stack_sum_pair(&value, &base);
	reader->values.next += value != NULL;
	reader->bases->next += base != NULL;
	return true;
}

/*
 * Returns the next stacks whose sum is not 0 on at least one side, up to room of them; fewer only
 * at the end.
 */
static uint32
stack_reader_next(StackReader *reader, PfsStackSum *sums, uint32 room)
{
	uint32 count = 0;

	if (reader->bases == NULL)
		/* Without bases the caller's array is filled directly. */
		return read_scaled(&reader->values, sums, room);
	while (count < room && next_pair(reader, &sums[count]))
		count++;
	return count;
}

static void
stack_reader_end(StackReader *reader)
{
	end_side(&reader->values);
	if (reader->bases != NULL)
	{
		end_side(reader->bases);
		pfree(reader->bases);
	}
	pfree(reader);
}

/* --- streams --- */

/*
 * A stream has one of three sources: an array of sums, a reader, or a reader that is copied to a
 * temporary file.
 */
struct PfsStackStream
{
	MemoryContext context;
	uint32 room;		 /* stacks of a part */
	PfsStackSum *sums;	 /* all stacks, or those of the part that was read last */
	Size count;			 /* number of stacks in sums */
	Size next;			 /* number of stacks in sums that have been returned */
	StackReader *reader; /* NULL: read to its end */
	BufFile *file;		 /* receives a copy of the stacks that are read; NULL: not needed */
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
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "profstore sums of a selection",
							  ALLOCSET_DEFAULT_SIZES);
	PfsStackStream *stream = MemoryContextAllocZero(context, sizeof(PfsStackStream));

	stream->context = context;
	/* All streams of a query return parts of this size, so a walk of any part fits in memory. */
	stream->room = pfs_stack_stream_room();
	return stream;
}

/* Reads the first part, which shows whether there are more parts. */
static void
read_first(PfsStackStream *stream, StackReader *reader)
{
	Size count = reader->count;
	uint32 room = (uint32) Min(stream->room, count);

	/* PFS_COUNT_UNKNOWN exceeds every room, so the array then has the size of a part. */
	stream->sums = PFS_ARRAY(PfsStackSum, room);
	/* if there are fewer stacks than room, the reader is at its end, and its memory can be freed */
	stream->count = stack_reader_next(reader, stream->sums, room);
	/* In the second case the part is full, but count says that no further stack can follow. */
	if (stream->count < stream->room || count == stream->room)
		stack_reader_end(reader);
	else
		stream->reader = reader;
}

PfsStackStream *
pfs_stack_stream_begin(const PfsSelection *selection)
{
	PfsStackStream *stream = create_stream();
	MemoryContext caller = MemoryContextSwitchTo(stream->context);

	read_first(stream,
			   stack_reader_begin(sum_selection(selection, pfs_hash_memory_bytes()), NO_SCALE));
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

PfsStackStream *
pfs_stack_stream_join(const PfsStackSums *values, const PfsStackSums *bases)
{
	PfsStackStream *stream = create_stream();
	MemoryContext caller = MemoryContextSwitchTo(stream->context);
	uint32 i = 0;
	uint32 j = 0;

	stream->sums = PFS_ARRAY(PfsStackSum, (Size) values->count + bases->count);
	MemoryContextSwitchTo(caller);
	while (i < values->count || j < bases->count)
	{
		const PfsStackSum *value = i < values->count ? &values->sums[i] : NULL;
		const PfsStackSum *base = j < bases->count ? &bases->sums[j] : NULL;

		/* pfs_stack_sum_pair() sets the side with the greater id to NULL, which then waits. */
		stream->sums[stream->count++] = pfs_stack_sum_pair(&value, &base);
		i += value != NULL;
		j += base != NULL;
	}
	return stream;
}

bool
pfs_stack_stream_is_whole(const PfsStackStream *stream)
{
	/* A stream of given sums may have more stacks than a part. */
	return stream->reader == NULL && stream->file == NULL && stream->count <= stream->room;
}

/* Copies the sums that were read last to the file. */
static void
keep_sums(PfsStackStream *stream)
{
	BufFileWrite(stream->file, stream->sums, stream->count * sizeof(PfsStackSum));
}

void
pfs_stack_stream_keep(PfsStackStream *stream)
{
	MemoryContext caller = MemoryContextSwitchTo(stream->context);

	/*
	 * A reader cannot be read twice, so the parts are copied to a file, beginning with the one
	 * already read.
	 */
	if (stream->reader != NULL && stream->file == NULL)
	{
		stream->file = BufFileCreateTemp(false);
		keep_sums(stream);
	}
	MemoryContextSwitchTo(caller);
}

/* Fills the buffer from the reader, or from the file of kept sums in a later pass. */
static void
read_more(PfsStackStream *stream)
{
	if (stream->reader != NULL)
	{
		/*
		 * The first part decided the size of sums[]: with a reader left it has stream->room
		 * elements.
		 */
		stream->count = stack_reader_next(stream->reader, stream->sums, stream->room);
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
	/* The stacks will be looked up a second time, and unknown ones counted a second time. */
	pfs_doubts_forget(PFS_DOUBT_STACKS);
	if (stream->file == NULL)
		return;
	if (stream->reader != NULL)
		stack_reader_end(stream->reader);
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
		stack_reader_end(stream->reader);
	MemoryContextDelete(stream->context);
}

/* Returns the length of the range, by which a rate is divided. */
static int64
range_length(const PfsSelection *selection)
{
	if (TIMESTAMP_NOT_FINITE(selection->from) || TIMESTAMP_NOT_FINITE(selection->to))
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("rates require time ranges with a beginning and an end"),
						errhint("Use absolute => true to compare sums, whatever the lengths of the "
								"ranges.")));
	return pfs_sample_covered_us(selection);
}

PfsStackStream *
pfs_stack_stream_compare(const PfsSelection *selection, const PfsSelection *base, bool by_rate)
{
	Scale value_scale = NO_SCALE;
	Scale base_scale = NO_SCALE;
	PfsStackStream *stream;
	Size side_bytes = SIDE_SHARE(pfs_hash_memory_bytes());
	PfsStackTable *values;
	StackReader *reader;
	MemoryContext caller;

	if (strcmp(selection->profile_type, base->profile_type) != 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("selectors name different profile types"),
						errdetail("Values of %s and %s cannot be compared.", base->profile_type,
								  selection->profile_type)));
	if (by_rate && selection->delta && base->delta)
	{
		value_scale.denominator = range_length(selection);
		base_scale.denominator = range_length(base);
		/*
		 * Scaling the shorter range up keeps all digits of its values; scaling the longer one down
		 * would lose some.
		 */
		value_scale.numerator = base_scale.numerator =
			Max(value_scale.denominator, base_scale.denominator);
	}
	stream = create_stream();
	caller = MemoryContextSwitchTo(stream->context);
	values = sum_selection(selection, side_bytes);
	/* The first table must leave room for the second, which is filled now. */
	pfs_stack_table_settle(values);
	reader = stack_reader_begin(values, value_scale);
	stack_reader_add_base(reader, sum_selection(base, side_bytes), base_scale);
	read_first(stream, reader);
	MemoryContextSwitchTo(caller);
	return stream;
}
