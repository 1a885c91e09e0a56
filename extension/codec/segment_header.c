/*
 * segment_header.c
 *		Opens a segment: parses and checks its whole header.
 */
#include "codec/segment_reader.h"

#include <string.h>

#include "codec/crc32c.h"

/*
 * Checks the prefix. The counts it returns are within limits, and the header is long enough for the
 * entries of that many columns.
 */
static PfsStatus
read_prefix(PfsCursor *cursor, uint32_t *column_count, uint32_t *row_count, bool *is_grouped,
			PfsError *error)
{
	uint32_t magic = pfs_cursor_get32(cursor);
	uint8_t version = pfs_cursor_byte(cursor);
	uint8_t flags = pfs_cursor_byte(cursor);

	*column_count = pfs_cursor_get16(cursor);
	*row_count = pfs_cursor_get32(cursor);
	/* A read past the end returns 0, so the values are looked at only after this check. */
	if (cursor->failed)
		return pfs_reader_fail(error, PFS_CORRUPT, "segment header is too short", cursor->offset);
	if (magic != PFS_SEGMENT_MAGIC)
		return pfs_reader_fail(error, PFS_CORRUPT,
							   "segment header does not begin with the magic number", 0);
	*is_grouped = (flags & PFS_HEADER_GROUPED) != 0;
	/*
	 * The version is checked before the counts, because a later format may give these fields
	 * another meaning.
	 */
	if (version != PFS_FORMAT_VERSION || (flags & ~PFS_HEADER_GROUPED) != 0)
		return pfs_reader_fail(error, PFS_UNSUPPORTED,
							   "segment has a format that this version does not know", 4);
	if (*column_count == 0 || *column_count > PFS_SEGMENT_MAX_COLUMNS ||
		*column_count * PFS_COLUMN_MIN_BYTES > cursor->length - cursor->offset)
		return pfs_reader_fail(error, PFS_CORRUPT, "number of columns is out of range", 6);
	if (*row_count == 0 || *row_count > PFS_SEGMENT_MAX_ROWS)
		return pfs_reader_fail(error, PFS_CORRUPT, "number of rows is out of range", 8);
	return PFS_OK;
}

/* Reads a stream's length and CRC. A stream without bytes has neither. */
static bool
read_stream(PfsSegmentReader *reader, PfsCursor *cursor, bool has_bytes)
{
	PfsReaderStream *stream = &reader->streams[reader->stream_count++];
	uint64_t length;

	/*
	 * The decoder is NULL before anything can fail, because pfs_reader_close() closes all streams
	 * that are counted.
	 */
	memset(stream, 0, sizeof(*stream));
	stream->value_count = reader->row_count;
	if (!has_bytes)
		return true;
	length = pfs_cursor_varint(cursor);
	stream->crc = pfs_cursor_get32(cursor);
	stream->length = (size_t) length;
	return !cursor->failed && length > 0 && length <= PFS_STREAM_MAX_BYTES;
}

/*
 * Reads the position of the column that a column of kind 10 is relative to. That one must stand
 * before it and store plain values, so that decoding cannot recurse.
 */
static bool
read_measure(const PfsSegmentReader *reader, PfsCursor *cursor, PfsReaderColumn *column)
{
	uint64_t measure = pfs_cursor_varint(cursor);
	const PfsReaderColumn *target;

	/* Only columns before this one have been read. */
	if (measure >= (uint64_t) (column - reader->columns))
		return false;
	target = &reader->columns[measure];
	if (!target->has_values || target->has_nulls || target->is_grouped || target->is_parted ||
		target->is_shared || target->is_above || target->measure >= 0)
		return false;
	column->measure = (int) measure;
	return true;
}

/* Reads a column's entry, and adds its streams to the reader. */
static bool
read_column(PfsSegmentReader *reader, PfsCursor *cursor, PfsReaderColumn *column)
{
	uint8_t shape;
	uint8_t width;
	uint8_t kind;
	uint64_t range = 0;

	memset(column, 0, sizeof(*column));
	column->attnum = (int16_t) pfs_cursor_get16(cursor);
	shape = pfs_cursor_byte(cursor);
	width = shape & PFS_COLUMN_WIDTH_MASK;
	if (width != 1 && width != 2 && width != 4 && width != 8)
		return false;
	kind = shape & ~PFS_COLUMN_WIDTH_MASK;
	/*
	 * Kinds GROUPED and PARTED need the groups of this segment; SHARED and ABOVE need those of the
	 * base, which the reader checks when it decodes.
	 */
	if (kind != 0 && kind != PFS_COLUMN_HAS_NULLS && kind != PFS_COLUMN_ALL_NULL &&
		kind != PFS_COLUMN_SHARED && kind != PFS_COLUMN_ABOVE && kind != PFS_COLUMN_MEASURED &&
		((kind != PFS_COLUMN_GROUPED && kind != PFS_COLUMN_PARTED) || !reader->is_grouped))
		return false;
	column->is_grouped = kind == PFS_COLUMN_GROUPED;
	column->is_parted = kind == PFS_COLUMN_PARTED;
	column->is_shared = kind == PFS_COLUMN_SHARED;
	column->is_above = kind == PFS_COLUMN_ABOVE;
	column->has_values = kind != PFS_COLUMN_ALL_NULL;
	column->has_nulls = kind == PFS_COLUMN_ALL_NULL || kind == PFS_COLUMN_HAS_NULLS;
	column->measure = column->null_stream = -1;
	column->sums_stream = -1;
	column->value_stream = (int) reader->stream_count;
	if (column->has_values)
	{
		column->least = pfs_unzigzag(pfs_cursor_varint(cursor));
		range = pfs_cursor_varint(cursor);
		/* Modulo 2^64 this is the distance from least to INT64_MAX, for a negative least, too. */
		if (range > (uint64_t) INT64_MAX - (uint64_t) column->least)
			return false;
		column->greatest = (int64_t) ((uint64_t) column->least + range);
	}
	if (column->is_above || column->is_parted || kind == PFS_COLUMN_MEASURED)
		column->unit = pfs_cursor_varint(cursor);
	if (kind == PFS_COLUMN_MEASURED && !read_measure(reader, cursor, column))
		return false;
	/* Every value is least + unit * q, and PARTED blocks are decoded by these two. */
	if (column->is_parted && (column->unit == 0 || range == 0))
		return false;
	/* a constant column without nulls, or one that the base has, has no bytes */
	if (!read_stream(reader, cursor,
					 column->has_values && !column->is_shared && (column->has_nulls || range > 0)))
		return false;
	reader->streams[column->value_stream].may_have_nulls = column->has_nulls;
	if (column->is_parted)
	{
		column->sums_stream = (int) reader->stream_count;
		if (!read_stream(reader, cursor, true))
			return false;
	}
	if (column->has_values && column->has_nulls)
	{
		column->null_stream = (int) reader->stream_count;
		if (!read_stream(reader, cursor, true))
			return false;
	}
	return !cursor->failed;
}

/* Reads the groups' entry, and gives streams with one value per group that number of values. */
static bool
header_read_groups(PfsSegmentReader *reader, PfsCursor *cursor)
{
	uint64_t group_count;

	if (!reader->is_grouped)
		return true;
	/* every block has at least one group */
	group_count = pfs_cursor_varint(cursor);
	if (group_count < pfs_block_count(reader->row_count) || group_count > reader->row_count)
		return false;
	reader->group_count = (uint32_t) group_count;
	reader->groups_stream = (int) reader->stream_count;
	for (uint32_t i = 0; i < reader->column_count; i++)
	{
		const PfsReaderColumn *column = &reader->columns[i];

		if (column->is_grouped)
			/*
			 * Streams were counted with a value per row; the number of groups is read after the
			 * columns.
			 */
			reader->streams[column->value_stream].value_count = reader->group_count;
		if (column->is_parted)
			reader->streams[column->sums_stream].value_count = reader->group_count;
	}
	return read_stream(reader, cursor, true);
}

static PfsStatus
read_columns(PfsSegmentReader *reader, PfsCursor *cursor, PfsError *error)
{
	for (uint32_t i = 0; i < reader->column_count; i++)
	{
		size_t start = cursor->offset;

		if (!read_column(reader, cursor, &reader->columns[i]))
			return pfs_reader_fail(error, PFS_CORRUPT,
								   "column entry of the segment header is damaged", start);
	}
	if (!header_read_groups(reader, cursor))
		return pfs_reader_fail(error, PFS_CORRUPT, "groups entry of the segment header is damaged",
							   cursor->offset);
	if (cursor->offset != cursor->length)
		return pfs_reader_fail(error, PFS_CORRUPT, "segment header is longer than its columns",
							   cursor->offset);
	return PFS_OK;
}

PfsStatus
pfs_reader_open(const uint8_t *header, size_t length, PfsAllocator allocator,
				PfsSegmentReader **reader_out, PfsError *error)
{
	/*
	 * The checksum is the last field. If the header is too short for it, the cursor is empty and
	 * read_prefix() fails, so the checksum is never read from outside.
	 */
	PfsCursor cursor =
		pfs_cursor(header, length < PFS_HEADER_CRC_BYTES ? 0 : length - PFS_HEADER_CRC_BYTES);
	uint32_t column_count;
	uint32_t row_count;
	bool is_grouped;
	PfsSegmentReader *reader;
	PfsStatus status = read_prefix(&cursor, &column_count, &row_count, &is_grouped, error);

	if (status != PFS_OK)
		return status;
	/*
	 * Magic number and version are checked before the checksum, so that a later format is reported
	 * as unsupported, and other data as what they are.
	 */
	if (pfs_crc32c(header, cursor.length) != pfs_load32(header + cursor.length))
		return pfs_reader_fail(error, PFS_CORRUPT, "checksum of the segment header does not match",
							   cursor.length);
	/*
	 * One allocation: reader, streams, columns. A column has at most two streams, because sums
	 * exclude null flags; the last one is that of the groups.
	 */
	reader = allocator.realloc(allocator.context, NULL,
							   sizeof(*reader) +
								   column_count *
									   (sizeof(PfsReaderColumn) + 2 * sizeof(PfsReaderStream)) +
								   sizeof(PfsReaderStream));
	if (reader == NULL)
		return pfs_reader_fail(error, PFS_NO_MEMORY, "out of memory", 0);
	reader->allocator = allocator;
	reader->row_count = row_count;
	reader->column_count = column_count;
	reader->stream_count = 0;
	reader->is_grouped = is_grouped;
	reader->group_count = 0;
	reader->groups_stream = -1;
	reader->groups = NULL;
	reader->base = NULL;
	reader->streams = (PfsReaderStream *) (reader + 1);
	reader->columns = (PfsReaderColumn *) (reader->streams + 2 * column_count + 1);
	status = read_columns(reader, &cursor, error);
	if (status == PFS_OK)
		*reader_out = reader;
	else
		pfs_reader_close(reader);
	return status;
}

void
pfs_reader_close(PfsSegmentReader *reader)
{
	if (reader == NULL)
		return;
	for (uint32_t i = 0; i < reader->stream_count; i++)
		pfs_stream_close(reader->streams[i].decoder);
	pfs_groups_close(reader->groups);
	reader->allocator.realloc(reader->allocator.context, reader, 0);
}
