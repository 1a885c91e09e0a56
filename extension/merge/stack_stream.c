/*
 * stack_stream.c
 *		Parts of sums: from tables, from a file that keeps them, or from memory.
 */
#include "merge/stack_stream.h"

#include "miscadmin.h"
#include "storage/buffile.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "base/arrays.h"
#include "merge/selection_sums.h"
#include "merge/stack_reader.h"
#include "select/range_partitions.h"

/*
 * A part of a stream has as many stacks as take half of the memory, counting what a walk needs for
 * each: the sum, that of all stacks before it, its leaf, order and verdict.
 */
#define STREAM_STACK_BYTES (56 * 2)
#define MIN_STREAM_STACKS  256
#define MAX_STREAM_STACKS  (16 * 1024 * 1024)

/* Two sides are summed one after the other; the first then keeps less than half of this. */
#define SIDE_SHARE(bytes) ((bytes) / 4 * 3)

/*
 * A stream has one of three sources: an array of sums, a reader, or a reader that is copied to a
 * temporary file.
 */
struct PfsStackStream
{
	MemoryContext context;
	uint32 room;			/* stacks of a part */
	PfsStackSum *sums;		/* all, or those read last */
	Size count;				/* count of sums, … */
	Size next;				/* … of which this many have been returned */
	PfsStackReader *reader; /* NULL: read to its end */
	BufFile *file;			/* gets a copy of what is read; NULL: not wanted, or not needed */
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
	stream->room = pfs_stack_stream_room();
	return stream;
}

/* Reads the first part, which shows whether there are others. */
static void
read_first(PfsStackStream *stream, PfsStackReader *reader)
{
	Size count = pfs_stack_reader_count(reader);
	uint32 room = (uint32) Min(stream->room, count);

	stream->sums = PFS_ARRAY(PfsStackSum, room);
	/* Fewer stacks than room: the reader is at its end, and its memory can be freed. */
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

	read_first(stream, pfs_stack_reader_begin(pfs_selection_sum(selection, pfs_hash_memory_bytes()),
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

		stream->sums[stream->count++] = pfs_stack_sum_pair(&value, &base);
		i += value != NULL;
		j += base != NULL;
	}
	return stream;
}

bool
pfs_stack_stream_is_whole(const PfsStackStream *stream)
{
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

	if (stream->reader != NULL && stream->file == NULL)
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

/* Length of the range, by which a rate is divided. */
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
	PfsScale value_scale = PFS_NO_SCALE;
	PfsScale base_scale = PFS_NO_SCALE;
	PfsStackStream *stream;
	Size side_bytes = SIDE_SHARE(pfs_hash_memory_bytes());
	PfsStackTable *values;
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
	values = pfs_selection_sum(selection, side_bytes);
	pfs_stack_table_settle(values);
	reader = pfs_stack_reader_begin(values, value_scale);
	pfs_stack_reader_add_base(reader, pfs_selection_sum(base, side_bytes), base_scale);
	read_first(stream, reader);
	MemoryContextSwitchTo(caller);
	return stream;
}
