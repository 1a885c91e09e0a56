/*
 * segment_read.c
 *		Reading a segment: its header, checked as a whole, then streams as they are handed in.
 */
#include "codec/segment.h"

#include <string.h>

#include "codec/clones.h"
#include "codec/crc32c.h"
#include "codec/groups.h"
#include "codec/stream.h"

/* where values change more seldom, groups are put together before they are spread */
#define MIN_GROUPS_PER_CHANGE 16

typedef struct Stream
{
	size_t length; /* bytes; 0: there are none, the header tells all */
	uint32_t crc;
	uint32_t value_count;
	PfsStreamDecoder *decoder; /* NULL until loaded */
} Stream;

typedef struct Column
{
	int16_t attnum;
	bool has_values; /* some row is not null */
	bool has_nulls;	 /* some row is null */
	bool is_grouped; /* a value per group */
	bool is_parted;	 /* the groups' sums have a stream */
	bool is_shared;	 /* the values are the base's */
	int measure;	 /* values are what is above unit times that column; -1: none */
	bool is_above;	 /* values are what is above unit times the rows of the base's groups */
	uint64_t unit;
	int value_stream;
	int null_stream; /* -1: none */
	int sums_stream; /* -1: none */
	int64_t least;
	int64_t greatest;
} Column;

struct PfsSegmentReader
{
	PfsAllocator allocator;
	uint32_t row_count;
	uint32_t column_count;
	uint32_t stream_count;
	bool is_grouped;
	uint32_t group_count;
	int groups_stream;		  /* -1: none */
	PfsGroupsDecoder *groups; /* NULL until loaded */
	PfsSegmentReader *base;	  /* NULL: none was named */
	Column *columns;		  /* in the reader's own allocation, as streams[] */
	Stream *streams;
};

static PfsStatus
fail(PfsError *error, PfsStatus status, const char *message, size_t offset)
{
	*error = (PfsError){ message, -1, offset };
	return status;
}

/*
 * Checks the prefix; the counts it returns are within limits, and the header is long enough for the
 * columns.
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
	if (cursor->failed)
		return fail(error, PFS_CORRUPT, "segment header is too short", cursor->offset);
	if (magic != PFS_SEGMENT_MAGIC)
		return fail(error, PFS_CORRUPT, "segment header does not begin with the magic number", 0);
	*is_grouped = (flags & PFS_HEADER_GROUPED) != 0;
	if (version != PFS_FORMAT_VERSION || (flags & ~PFS_HEADER_GROUPED) != 0)
		return fail(error, PFS_UNSUPPORTED, "segment has a format that this version does not know",
					4);
	if (*column_count == 0 || *column_count > PFS_SEGMENT_MAX_COLUMNS ||
		*column_count * PFS_COLUMN_MIN_BYTES > cursor->length - cursor->offset)
		return fail(error, PFS_CORRUPT, "number of columns is out of range", 6);
	if (*row_count == 0 || *row_count > PFS_SEGMENT_MAX_ROWS)
		return fail(error, PFS_CORRUPT, "number of rows is out of range", 8);
	return PFS_OK;
}

/* Reads a stream's length and CRC; a stream without bytes has neither. */
static bool
read_stream(PfsSegmentReader *reader, PfsCursor *cursor, bool has_bytes)
{
	Stream *stream = &reader->streams[reader->stream_count++];
	uint64_t length;

	memset(stream, 0, sizeof(*stream));
	stream->value_count = reader->row_count;
	if (!has_bytes)
		return true;
	length = pfs_cursor_varint(cursor);
	stream->crc = pfs_cursor_get32(cursor);
	stream->length = (size_t) length;
	return !cursor->failed && length > 0 && length <= PFS_STREAM_MAX_BYTES;
}

/* Reads which column, of those before it, a column's values are above. */
static bool
read_measure(const PfsSegmentReader *reader, PfsCursor *cursor, Column *column)
{
	uint64_t measure = pfs_cursor_varint(cursor);
	const Column *target;

	if (measure >= (uint64_t) (column - reader->columns))
		return false;
	target = &reader->columns[measure];
	if (!target->has_values || target->has_nulls || target->is_grouped || target->is_parted ||
		target->is_shared || target->is_above || target->measure >= 0)
		return false;
	column->measure = (int) measure;
	return true;
}

static bool
read_column(PfsSegmentReader *reader, PfsCursor *cursor, Column *column)
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
		if (range > (uint64_t) INT64_MAX - (uint64_t) column->least)
			return false;
		column->greatest = (int64_t) ((uint64_t) column->least + range);
	}
	if (column->is_above || column->is_parted || kind == PFS_COLUMN_MEASURED)
		column->unit = pfs_cursor_varint(cursor);
	if (kind == PFS_COLUMN_MEASURED && !read_measure(reader, cursor, column))
		return false;
	if (column->is_parted && (column->unit == 0 || range == 0))
		return false;
	if (!read_stream(reader, cursor,
					 column->has_values && !column->is_shared && (column->has_nulls || range > 0)))
		return false;
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

/* Reads the groups' entry, and tells their number to the streams that have a value for each. */
static bool
read_groups(PfsSegmentReader *reader, PfsCursor *cursor)
{
	uint64_t group_count;

	if (!reader->is_grouped)
		return true;
	group_count = pfs_cursor_varint(cursor);
	if (group_count < pfs_block_count(reader->row_count) || group_count > reader->row_count)
		return false;
	reader->group_count = (uint32_t) group_count;
	reader->groups_stream = (int) reader->stream_count;
	for (uint32_t i = 0; i < reader->column_count; i++)
	{
		const Column *column = &reader->columns[i];

		if (column->is_grouped)
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
			return fail(error, PFS_CORRUPT, "column entry of the segment header is damaged", start);
	}
	if (!read_groups(reader, cursor))
		return fail(error, PFS_CORRUPT, "groups entry of the segment header is damaged",
					cursor->offset);
	if (cursor->offset != cursor->length)
		return fail(error, PFS_CORRUPT, "segment header is longer than its columns",
					cursor->offset);
	return PFS_OK;
}

PfsStatus
pfs_reader_open(const uint8_t *header, size_t length, PfsAllocator allocator,
				PfsSegmentReader **reader_out, PfsError *error)
{
	PfsCursor cursor =
		pfs_cursor(header, length < PFS_HEADER_CRC_BYTES ? 0 : length - PFS_HEADER_CRC_BYTES);
	uint32_t column_count;
	uint32_t row_count;
	bool is_grouped;
	PfsSegmentReader *reader;
	PfsStatus status = read_prefix(&cursor, &column_count, &row_count, &is_grouped, error);

	if (status != PFS_OK)
		return status;
	if (pfs_crc32c(header, cursor.length) != pfs_load32(header + cursor.length))
		return fail(error, PFS_CORRUPT, "checksum of the segment header does not match",
					cursor.length);
	reader =
		allocator.realloc(allocator.context, NULL,
						  sizeof(*reader) + column_count * (sizeof(Column) + 2 * sizeof(Stream)) +
							  sizeof(Stream));
	if (reader == NULL)
		return fail(error, PFS_NO_MEMORY, "out of memory", 0);
	reader->allocator = allocator;
	reader->row_count = row_count;
	reader->column_count = column_count;
	reader->stream_count = 0;
	reader->is_grouped = is_grouped;
	reader->group_count = 0;
	reader->groups_stream = -1;
	reader->groups = NULL;
	reader->base = NULL;
	reader->streams = (Stream *) (reader + 1);
	reader->columns = (Column *) (reader->streams + 2 * column_count + 1);
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

/* The base's column of that number, NULL where it has none. */
static const Column *
base_column(const PfsSegmentReader *base, const Column *column)
{
	int source = pfs_reader_find_column(base, column->attnum);

	return source < 0 ? NULL : &base->columns[source];
}

void
pfs_reader_base_streams(const PfsSegmentReader *reader, int column, int *values, int *groups)
{
	const Column *target = &reader->columns[column];
	const Column *source = NULL;

	*values = *groups = -1;
	if (reader->base == NULL || (!target->is_shared && !target->is_above))
		return;
	if (target->is_shared)
		source = base_column(reader->base, target);
	if (source != NULL)
		*values = source->is_parted ? source->sums_stream : source->value_stream;
	if (source == NULL || source->is_parted)
		*groups = reader->base->groups_stream;
}

bool
pfs_reader_range_is_bounds(const PfsSegmentReader *reader, int column)
{
	const Column *source = &reader->columns[column];

	return source->is_grouped || source->is_parted || source->is_shared || source->is_above ||
		   source->measure >= 0;
}

uint32_t
pfs_reader_group_count(const PfsSegmentReader *reader)
{
	return reader->group_count;
}

/* Opens the stream whose length and CRC are right. */
static PfsStatus
open_stream(PfsSegmentReader *reader, uint32_t number, const uint8_t *bytes, PfsError *error)
{
	Stream *stream = &reader->streams[number];

	if ((int) number == reader->groups_stream)
		return pfs_groups_open(bytes, stream->length, reader->row_count, reader->group_count,
							   reader->allocator, &reader->groups, error);
	return pfs_stream_open(bytes, stream->length, stream->value_count, reader->allocator,
						   &stream->decoder, error);
}

PfsStatus
pfs_reader_load_stream(PfsSegmentReader *reader, uint32_t stream, const uint8_t *bytes,
					   size_t length, PfsError *error)
{
	Stream *target = &reader->streams[stream];
	bool is_loaded = target->decoder != NULL ||
					 ((int) stream == reader->groups_stream && reader->groups != NULL);
	PfsStatus status = PFS_OK;

	if (length != target->length)
		status = fail(error, PFS_CORRUPT, "length of the stream does not match the segment header",
					  length);
	else if (!is_loaded && length > 0)
	{
		if (pfs_crc32c(bytes, length) != target->crc)
			status = fail(error, PFS_CORRUPT, "checksum of the stream does not match", 0);
		else
			status = open_stream(reader, stream, bytes, error);
	}
	if (status != PFS_OK)
		error->stream = (int) stream;
	return status;
}

/* Bounds of a grouped column in a block: those of the values' blocks that its groups touch. */
static void
grouped_range(const PfsSegmentReader *reader, PfsStreamDecoder *decoder, uint32_t block,
			  int64_t *min, int64_t *max)
{
	uint32_t first;
	uint32_t count;
	int64_t least;
	int64_t greatest;

	pfs_groups_place(reader->groups, block, &first, &count);
	pfs_stream_range(decoder, first / PFS_BLOCK_ROWS, min, max);
	pfs_stream_range(decoder, (first + count - 1) / PFS_BLOCK_ROWS, &least, &greatest);
	*min = least < *min ? least : *min;
	*max = greatest > *max ? greatest : *max;
}

/* Range of a shared column in a block, where the base knows it. */
static bool
shared_range(const PfsSegmentReader *reader, const Column *column, uint32_t block, int64_t *min,
			 int64_t *max)
{
	const PfsSegmentReader *base = reader->base;
	int source = base == NULL ? -1 : pfs_reader_find_column(base, column->attnum);
	PfsStreamDecoder *decoder = NULL;

	*min = column->least;
	*max = column->greatest;
	if (source >= 0 && base->columns[source].is_grouped && base->group_count == reader->row_count)
		decoder = base->streams[base->columns[source].value_stream].decoder;
	return decoder == NULL || pfs_stream_range(decoder, block, min, max);
}

bool
pfs_reader_block_range(const PfsSegmentReader *reader, int column, uint32_t block, int64_t *min,
					   int64_t *max)
{
	const Column *source = &reader->columns[column];
	PfsStreamDecoder *decoder = reader->streams[source->value_stream].decoder;

	if (source->is_shared)
		return shared_range(reader, source, block, min, max);
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
	const Column *source = &reader->columns[column];

	if (!source->has_values)
		return false;
	*min = source->least;
	*max = source->greatest;
	return true;
}

/* Decodes a block of a null stream into flags; values[] is scratch. */
static PfsStatus
read_nulls(PfsSegmentReader *reader, const Column *column, uint32_t block, int64_t *values,
		   bool *nulls, bool *has_nulls, PfsError *error)
{
	PfsStreamDecoder *decoder = reader->streams[column->null_stream].decoder;
	int64_t least;
	int64_t greatest;
	PfsStatus status;

	*has_nulls = pfs_stream_range(decoder, block, &least, &greatest) && greatest != 0;
	if (!*has_nulls)
		return PFS_OK;
	status = pfs_stream_block(decoder, block, NULL, values, error);
	if (status != PFS_OK)
	{
		error->stream = column->null_stream;
		return status;
	}
	for (uint32_t row = 0; row < pfs_block_rows(reader->row_count, block); row++)
		nulls[row] = values[row] != 0;
	return PFS_OK;
}

/* The block's groups; none where rows are not grouped. */
static PfsStatus
read_block_groups(PfsSegmentReader *reader, uint32_t block, PfsBlockGroups *groups, uint32_t *first,
				  PfsError *error)
{
	PfsStatus status;

	if (reader->groups == NULL)
		return fail(error, PFS_CORRUPT, "block rests on groups that the segment lacks", 0);
	status = pfs_groups_block(reader->groups, block, groups, first, error);
	if (status != PFS_OK)
		error->stream = reader->groups_stream;
	return status;
}

/* How many values differ from the one before. */
PFS_CLONES static uint64_t
count_changes(const int64_t *values, uint32_t count)
{
	uint64_t changes = 0;

	for (uint32_t i = 1; i < count; i++)
		changes += values[i] != values[i - 1];
	return changes;
}

static void
fill(int64_t *values, int64_t value, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		values[i] = value;
}

/* Spreads values that neighbouring groups mostly share, as series are; the lengths add up. */
static void
spread_few(const int64_t *group_values, const PfsBlockGroups *groups, int64_t *values)
{
	uint32_t row = 0;
	uint32_t start = 0;

	for (uint32_t group = 0; group < groups->count; group++)
	{
		row += (uint32_t) groups->lengths[group] + 1;
		if (group + 1 < groups->count && group_values[group + 1] == group_values[group])
			continue;
		fill(values + start, group_values[group], row - start);
		start = row;
	}
}

/* Decodes a block of a grouped column: the values of its groups, spread over their rows. */
static PfsStatus
read_grouped(PfsSegmentReader *reader, PfsStreamDecoder *decoder, uint32_t block, int64_t *values,
			 PfsError *error)
{
	int64_t group_values[PFS_BLOCK_ROWS];
	PfsBlockGroups groups;
	uint32_t first;
	uint64_t changes;
	PfsStatus status = read_block_groups(reader, block, &groups, &first, error);

	if (status == PFS_OK)
		status = pfs_stream_values(decoder, NULL, first, groups.count, group_values, error);
	if (status != PFS_OK)
		return status;
	changes = count_changes(group_values, groups.count);
	/* most blocks have one series; that the lengths add up has been checked */
	if (changes == 0)
		fill(values, group_values[0], pfs_block_rows(reader->row_count, block));
	else if (changes <= groups.count / MIN_GROUPS_PER_CHANGE)
		spread_few(group_values, &groups, values);
	else
		pfs_spread_runs(group_values, (const uint64_t *) groups.lengths, groups.count,
						pfs_block_rows(reader->row_count, block), values);
	return PFS_OK;
}

/* Decodes what a column has from the base: the values of groups, or their rows. */
static PfsStatus
read_base(PfsSegmentReader *reader, const Column *column, uint32_t block, int64_t *values,
		  PfsError *error)
{
	PfsSegmentReader *base = reader->base;
	uint32_t first = block * PFS_BLOCK_ROWS;
	uint32_t count = pfs_block_rows(reader->row_count, block);
	int source;

	if (base == NULL || base->group_count != reader->row_count)
		return fail(error, PFS_CORRUPT, "column is shared with rows that have other groups", 0);
	source = column->is_shared ? pfs_reader_find_column(base, column->attnum) : -1;
	if (source >= 0)
		return pfs_reader_group_values(base, source, first, count, values, error);
	return pfs_reader_group_rows(base, first, count, values, error);
}

/* Decodes a column that another is told above. */
static PfsStatus
read_measured(PfsSegmentReader *reader, const Column *column, uint32_t block, int64_t *values,
			  PfsError *error)
{
	PfsStreamDecoder *decoder = reader->streams[column->value_stream].decoder;

	error->stream = column->value_stream;
	if (decoder != NULL)
		return pfs_stream_block(decoder, block, NULL, values, error);
	if (reader->streams[column->value_stream].length > 0)
		return fail(error, PFS_CORRUPT, "segment lacks the rows that others are told above", 0);
	fill(values, column->least, pfs_block_rows(reader->row_count, block));
	return PFS_OK;
}

/* Decodes a block of values, and adds the units to them. */
static PfsStatus
read_above(PfsSegmentReader *reader, const Column *column, uint32_t block, int64_t *values,
		   PfsError *error)
{
	PfsStreamDecoder *decoder = reader->streams[column->value_stream].decoder;
	int64_t rows[PFS_BLOCK_ROWS];
	PfsStatus status =
		column->measure < 0
			? read_base(reader, column, block, rows, error)
			: read_measured(reader, &reader->columns[column->measure], block, rows, error);

	if (status != PFS_OK)
		return status;
	error->stream = column->value_stream;
	status = pfs_stream_block(decoder, block, NULL, values, error);
	for (uint32_t i = 0; status == PFS_OK && i < pfs_block_rows(reader->row_count, block); i++)
		values[i] = (int64_t) ((uint64_t) values[i] + column->unit * (uint64_t) rows[i]);
	return status;
}

/* Decodes the sums of up to PFS_BLOCK_ROWS groups, in units above the least value. */
static PfsStatus
read_sums(PfsSegmentReader *reader, const Column *column, uint32_t first, uint32_t count,
		  int64_t *sums, PfsError *error)
{
	PfsStreamDecoder *decoder = reader->streams[column->sums_stream].decoder;

	if (reader->groups == NULL || decoder == NULL)
		return fail(error, PFS_CORRUPT, "segment lacks the groups", 0);
	error->stream = column->sums_stream;
	return pfs_stream_values(decoder, pfs_groups_lengths_stream(reader->groups), first, count, sums,
							 error);
}

/* Decodes a block that rests on groups, and perhaps on their sums. */
static PfsStatus
read_beside_groups(PfsSegmentReader *reader, const Column *column, uint32_t block, int64_t *values,
				   PfsError *error)
{
	int64_t sums[PFS_BLOCK_ROWS];
	PfsBlockGroups groups;
	uint32_t first;
	PfsStatus status = read_block_groups(reader, block, &groups, &first, error);

	if (status == PFS_OK && column->is_parted)
	{
		status = read_sums(reader, column, first, groups.count, sums, error);
		groups.sums = sums;
	}
	if (status != PFS_OK)
		return status;
	error->stream = column->value_stream;
	return pfs_stream_block(reader->streams[column->value_stream].decoder, block, &groups, values,
							error);
}

/* Decodes a block of a column's value stream, of whatever kind. */
static PfsStatus
read_values(PfsSegmentReader *reader, const Column *column, uint32_t block, int64_t *values,
			PfsError *error)
{
	PfsStreamDecoder *decoder = reader->streams[column->value_stream].decoder;

	error->stream = column->value_stream;
	if (column->is_grouped)
		return read_grouped(reader, decoder, block, values, error);
	if (column->is_above || column->measure >= 0)
		return read_above(reader, column, block, values, error);
	if (pfs_stream_block_needs_groups(decoder, block))
		return read_beside_groups(reader, column, block, values, error);
	return pfs_stream_block(decoder, block, NULL, values, error);
}

PfsStatus
pfs_reader_block(PfsSegmentReader *reader, int column, uint32_t block, int64_t *values, bool *nulls,
				 bool *has_nulls, PfsError *error)
{
	const Column *source = &reader->columns[column];
	uint32_t rows = pfs_block_rows(reader->row_count, block);
	PfsStatus status = PFS_OK;

	*has_nulls = !source->has_values;
	if (!source->has_values)
		memset(nulls, true, rows);
	if (source->null_stream >= 0)
		status = read_nulls(reader, source, block, values, nulls, has_nulls, error);
	if (status != PFS_OK)
		return status;
	if (source->is_shared)
		return read_base(reader, source, block, values, error);
	if (reader->streams[source->value_stream].length > 0)
		return read_values(reader, source, block, values, error);
	fill(values, source->least, rows);
	return PFS_OK;
}

/* Whether groups first .. first+count-1 are there. */
static bool
has_groups(const PfsSegmentReader *reader, uint32_t first, uint32_t count)
{
	return first <= reader->group_count && count <= reader->group_count - first;
}

PfsStatus
pfs_reader_group_rows(PfsSegmentReader *reader, uint32_t first, uint32_t count, int64_t *rows,
					  PfsError *error)
{
	uint64_t most = 0;
	PfsStatus status;

	if (reader->groups == NULL || !has_groups(reader, first, count))
		return fail(error, PFS_CORRUPT, "segment lacks the groups", 0);
	error->stream = reader->groups_stream;
	status = pfs_groups_lengths(reader->groups, first, count, rows, error);
	if (status != PFS_OK)
		return status;
	for (uint32_t i = 0; i < count; i++)
	{
		most |= (uint64_t) rows[i];
		rows[i] = (int64_t) ((uint64_t) rows[i] + 1);
	}
	if (most < PFS_BLOCK_ROWS)
		return PFS_OK;
	error->message = "number of rows of a group is out of range";
	error->offset = 0;
	return PFS_CORRUPT;
}

/* Puts the sums of groups together: rows times the least value, and what they have above. */
static PfsStatus
add_up_groups(PfsSegmentReader *reader, const Column *column, uint32_t first, uint32_t count,
			  int64_t *values, PfsError *error)
{
	int64_t rows[PFS_BLOCK_ROWS];
	PfsStatus status = pfs_reader_group_rows(reader, first, count, rows, error);

	if (status == PFS_OK)
		status = read_sums(reader, column, first, count, values, error);
	for (uint32_t i = 0; status == PFS_OK && i < count; i++)
		values[i] = (int64_t) ((uint64_t) column->least * (uint64_t) rows[i] +
							   column->unit * (uint64_t) values[i]);
	return status;
}

PfsStatus
pfs_reader_group_values(PfsSegmentReader *reader, int column, uint32_t first, uint32_t count,
						int64_t *values, PfsError *error)
{
	const Column *source = &reader->columns[column];
	const Stream *stream = &reader->streams[source->value_stream];

	if (!has_groups(reader, first, count))
		return fail(error, PFS_CORRUPT, "segment lacks the groups", 0);
	error->stream = source->value_stream;
	if (source->is_grouped && stream->decoder != NULL)
		return pfs_stream_values(stream->decoder, NULL, first, count, values, error);
	if (source->is_parted)
		return add_up_groups(reader, source, first, count, values, error);
	if (!source->has_values || stream->length > 0)
		return fail(error, PFS_CORRUPT, "column has no values of groups", 0);
	fill(values, source->least, count);
	return PFS_OK;
}
