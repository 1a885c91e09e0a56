/*
 * segment_reader.c
 *		Loads streams, and answers questions about a segment that need no decoded block: columns,
 *		streams, ranges.
 */
#include "codec/segment_reader.h"

#include "codec/crc32c.h"

uint32_t
pfs_reader_row_count(const PfsSegmentReader *reader)
{
	return reader->row_count;
}

uint32_t
pfs_reader_block_count(const PfsSegmentReader *reader)
{
	return pfs_block_count(reader->row_count);
}

uint32_t
pfs_reader_stream_count(const PfsSegmentReader *reader)
{
	return reader->stream_count;
}

size_t
pfs_reader_stream_length(const PfsSegmentReader *reader, uint32_t stream)
{
	return reader->streams[stream].length;
}

uint32_t
pfs_reader_column_count(const PfsSegmentReader *reader)
{
	return reader->column_count;
}

int
pfs_reader_find_column(const PfsSegmentReader *reader, int16_t attnum)
{
	for (uint32_t i = 0; i < reader->column_count; i++)
		if (reader->columns[i].attnum == attnum)
			/*
			 * Attribute numbers are unique in a segment; of a corrupt one that repeats them, the
			 * first column is read.
			 */
			return (int) i;
	return -1;
}

void
pfs_reader_column_streams(const PfsSegmentReader *reader, int column, int *values, int *nulls)
{
	*values = reader->columns[column].value_stream;
	*nulls = reader->columns[column].null_stream;
}

int
pfs_reader_groups_stream(const PfsSegmentReader *reader)
{
	return reader->groups_stream;
}

void
pfs_reader_set_base(PfsSegmentReader *reader, PfsSegmentReader *base)
{
	reader->base = base;
}

int
pfs_reader_measure_stream(const PfsSegmentReader *reader, int column)
{
	int measure = reader->columns[column].measure;

	return measure < 0 ? -1 : reader->columns[measure].value_stream;
}

int
pfs_reader_sums_stream(const PfsSegmentReader *reader, int column)
{
	return reader->columns[column].sums_stream;
}

void
pfs_reader_base_streams(const PfsSegmentReader *reader, int column, int *values, int *groups)
{
	const PfsReaderColumn *target = &reader->columns[column];
	const PfsReaderColumn *source = NULL;

	*values = *groups = -1;
	if (reader->base == NULL || (!target->is_shared && !target->is_above))
		return;
	if (target->is_shared)
		source = pfs_reader_base_column(reader->base, target);
	/*
	 * Sums of groups are computed from the sums stream and the groups' rows, so they need both
	 * streams.
	 */
	if (source != NULL)
		*values = source->is_parted ? source->sums_stream : source->value_stream;
	if (source == NULL || source->is_parted)
		*groups = reader->base->groups_stream;
}

bool
pfs_reader_range_is_bounds(const PfsSegmentReader *reader, int column)
{
	const PfsReaderColumn *source = &reader->columns[column];

	return source->is_grouped || source->is_parted || source->is_shared || source->is_above ||
		   source->measure >= 0;
}

uint32_t
pfs_reader_group_count(const PfsSegmentReader *reader)
{
	return reader->group_count;
}

/* Parses a stream whose length and CRC are right. */
static PfsStatus
open_stream(PfsSegmentReader *reader, uint32_t number, const uint8_t *bytes, PfsError *error)
{
	PfsReaderStream *stream = &reader->streams[number];
	PfsStatus status;

	if ((int) number == reader->groups_stream)
		return pfs_groups_open(bytes, stream->length, reader->row_count, reader->group_count,
							   reader->allocator, &reader->groups, error);
	status = pfs_stream_open(bytes, stream->length, stream->value_count, reader->allocator,
							 &stream->decoder, error);
	/* The range of a block is read without a check for nulls, unless the column has some. */
	if (status == PFS_OK && !stream->may_have_nulls && pfs_stream_has_null_blocks(stream->decoder))
	{
		pfs_stream_close(stream->decoder);
		stream->decoder = NULL;
		status =
			pfs_reader_fail(error, PFS_CORRUPT, "column without nulls has a block of nulls", 0);
	}
	return status;
}

PfsStatus
pfs_reader_load_stream(PfsSegmentReader *reader, uint32_t stream, const uint8_t *bytes,
					   size_t length, PfsError *error)
{
	PfsReaderStream *target = &reader->streams[stream];
	bool is_loaded = target->decoder != NULL ||
					 ((int) stream == reader->groups_stream && reader->groups != NULL);
	PfsStatus status = PFS_OK;

	if (length != target->length)
		status = pfs_reader_fail(error, PFS_CORRUPT,
								 "length of the stream does not match the segment header", length);
	else if (!is_loaded && length > 0)
	{
		/*
		 * A stream that is loaded again is not checked again: several columns may share the groups
		 * stream.
		 */
		if (pfs_crc32c(bytes, length) != target->crc)
			status =
				pfs_reader_fail(error, PFS_CORRUPT, "checksum of the stream does not match", 0);
		else
			status = open_stream(reader, stream, bytes, error);
	}
	if (status != PFS_OK)
		error->stream = (int) stream;
	return status;
}

/*
 * Sets min and max to bounds of a block of a grouped column: the range of those blocks of values in
 * which its groups lie.
 */
static void
grouped_range(const PfsSegmentReader *reader, PfsStreamDecoder *decoder, uint32_t block,
			  int64_t *min, int64_t *max)
{
	uint32_t first;
	uint32_t count;
	int64_t least;
	int64_t greatest;

	pfs_groups_place(reader->groups, block, &first, &count);
	/* A block's groups, at most PFS_BLOCK_ROWS, touch at most two blocks of values. */
	pfs_stream_range(decoder, first / PFS_BLOCK_ROWS, min, max);
	pfs_stream_range(decoder, (first + count - 1) / PFS_BLOCK_ROWS, &least, &greatest);
	*min = least < *min ? least : *min;
	*max = greatest > *max ? greatest : *max;
}

/*
 * Sets min and max to the range of a shared column in a block, if the base knows it; otherwise to
 * that of the whole column.
 */
static bool
shared_range(const PfsSegmentReader *reader, const PfsReaderColumn *column, uint32_t block,
			 int64_t *min, int64_t *max)
{
	const PfsSegmentReader *base = reader->base;
	int source = base == NULL ? -1 : pfs_reader_find_column(base, column->attnum);
	PfsStreamDecoder *decoder = NULL;

	/*
	 * Without help of the base, the header's range of the whole column is a bound for every block.
	 */
	*min = column->least;
	*max = column->greatest;
	/*
	 * This segment has a row per group of the base, so its block of rows has the number of the
	 * base's block of groups.
	 */
	if (source >= 0 && base->columns[source].is_grouped && base->group_count == reader->row_count)
		decoder = base->streams[base->columns[source].value_stream].decoder;
	return decoder == NULL || pfs_stream_range(decoder, block, min, max);
}

bool
pfs_reader_block_range(const PfsSegmentReader *reader, int column, uint32_t block, int64_t *min,
					   int64_t *max)
{
	const PfsReaderColumn *source = &reader->columns[column];
	PfsStreamDecoder *decoder = reader->streams[source->value_stream].decoder;

	if (source->is_shared)
		return shared_range(reader, source, block, min, max);
	/*
	 * The entries of kinds 10 and 12 have the range of differences, which says nothing about the
	 * values.
	 */
	if (decoder == NULL || source->is_above || source->measure >= 0 ||
		(source->is_grouped && reader->groups == NULL))
		return pfs_reader_column_range(reader, column, min, max);
	if (!source->is_grouped)
		return pfs_stream_range(decoder, block, min, max);
	grouped_range(reader, decoder, block, min, max);
	return true;
}

bool
pfs_reader_column_range(const PfsSegmentReader *reader, int column, int64_t *min, int64_t *max)
{
	const PfsReaderColumn *source = &reader->columns[column];

	if (!source->has_values)
		return false;
	*min = source->least;
	*max = source->greatest;
	return true;
}
