/*
 * segment_encode.c
 *		Encodes columns of rows as a header and streams.
 *
 * 1. Groups are found over the key columns.
 * 2. Each column gets a draft (range, kind, unit); then its streams are encoded.
 * 3. The header stores kinds, ranges, lengths and checksums, and ends with its own checksum.
 */
#include "codec/segment.h"

#include <string.h>

#include "codec/crc32c.h"
#include "codec/groups.h"
#include "codec/stream.h"

/* the sums of smaller groups cost more than they save */
#define MIN_ROWS_PER_SUM 2

/* A segment that is being encoded. */
typedef struct Encoding
{
	uint32_t row_count;
	const PfsGroups *groups;
	PfsEffort effort;
	PfsAllocator allocator;
	PfsBuffer *header;
	PfsSegment *segment;
} Encoding;

/* Returns the place of the next stream. */
static PfsBytes *
add_stream(const Encoding *encoding)
{
	return &encoding->segment->streams[encoding->segment->stream_count++];
}

static int64_t *
encoder_new_values(const Encoding *encoding)
{
	return encoding->allocator.realloc(encoding->allocator.context, NULL,
									   encoding->row_count * sizeof(int64_t));
}

/*
 * Encodes values without groups, and frees values. Returns false if out of memory, or values is
 * NULL.
 */
static bool
encode_and_free(const Encoding *encoding, int64_t *values, uint32_t count, PfsBytes *bytes)
{
	bool done;

	if (values == NULL)
		return false;
	done =
		pfs_stream_encode(values, NULL, count, NULL, encoding->effort, encoding->allocator, bytes);
	encoding->allocator.realloc(encoding->allocator.context, values, 0);
	return done;
}

/* Finds the range of a column's non-null values. Returns false if there are none. */
static bool
column_find_range(const PfsColumn *column, uint32_t row_count, int64_t *least, int64_t *greatest,
				  bool *has_nulls)
{
	bool found = false;

	/*
	 * A caller may pass flags that are all false; such a column is stored like one without nulls.
	 */
	*has_nulls = column->nulls != NULL && memchr(column->nulls, 1, row_count) != NULL;
	if (!*has_nulls)
	{
		pfs_value_range(column->values, row_count, least, greatest);
		return true;
	}
	for (uint32_t row = 0; row < row_count; row++)
	{
		int64_t value = column->values[row];

		if (column->nulls[row])
			continue;
		/* *least and *greatest are not set before the first value that is not null. */
		*least = !found || value < *least ? value : *least;
		*greatest = !found || value > *greatest ? value : *greatest;
		found = true;
	}
	return found;
}

/* Encodes the null flags as values 0 and 1. */
static bool
encode_nulls(const Encoding *encoding, const bool *nulls)
{
	int64_t *values = encoder_new_values(encoding);

	for (uint32_t row = 0; row < encoding->row_count && values != NULL; row++)
		/* Long runs of one flag fold well, so the flags need no encoding of their own. */
		values[row] = nulls[row];
	/* encode_and_free() reports an allocation that failed. */
	return encode_and_free(encoding, values, encoding->row_count, add_stream(encoding));
}

static void
put_stream(PfsBuffer *header, const PfsBytes *stream)
{
	pfs_buffer_put_varint(header, stream->length);
	pfs_buffer_put32(header, pfs_crc32c(stream->data, stream->length));
}

/*
 * Returns the greatest common divisor of value - least over all values; 0 if all are equal to
 * least.
 */
static uint64_t
common_unit(const PfsColumn *column, uint32_t row_count, int64_t least)
{
	uint64_t unit = 0;

	for (uint32_t row = 0; row < row_count && unit != 1; row++)
		unit = pfs_common_divisor(unit, (uint64_t) column->values[row] - (uint64_t) least);
	return unit;
}

/* Encodes the difference of each value from unit times the rows of its group. */
static bool
encode_above(const Encoding *encoding, const PfsColumn *column, uint64_t unit, PfsBytes *bytes)
{
	int64_t *values = encoder_new_values(encoding);

	for (uint32_t row = 0; row < encoding->row_count && values != NULL; row++)
		values[row] =
			(int64_t) ((uint64_t) column->values[row] - unit * (uint64_t) column->row_counts[row]);
	return encode_and_free(encoding, values, encoding->row_count, bytes);
}

/* Encodes the non-null values: one per group if the column is a key and rows are grouped. */
static bool
encode_plain(const Encoding *encoding, const PfsColumn *column, bool has_nulls, PfsBytes *bytes)
{
	const PfsGroups *groups = encoding->groups;

	/* pfs_groups_find() finds no groups if a key has nulls, so a grouped column has none. */
	if (groups->count > 0 && column->is_key)
		return encode_and_free(encoding,
							   pfs_groups_fold(groups, column->values, encoding->allocator),
							   groups->count, bytes);
	return pfs_stream_encode(column->values, has_nulls ? column->nulls : NULL, encoding->row_count,
							 groups->blocks, encoding->effort, encoding->allocator, bytes);
}

/* Encodes the sums of the groups, and the values beside them. */
static bool
encode_parted(const Encoding *encoding, const PfsColumn *column, int64_t least, uint64_t unit,
			  PfsBytes *values)
{
	/* The reader numbers the streams of a column in this order: values, sums, null flags. */
	PfsBytes *sums_bytes = add_stream(encoding);
	PfsAllocator allocator = encoding->allocator;
	PfsGroupSums sums;
	bool done;

	if (!pfs_groups_add_up(encoding->groups, column->values, least, unit, allocator, &sums))
		return false;
	done = pfs_stream_encode(column->values, NULL, encoding->row_count, sums.blocks,
							 encoding->effort, allocator, values) &&
		   pfs_stream_encode(sums.sums, NULL, encoding->groups->count, sums.values,
							 encoding->effort, allocator, sums_bytes);
	pfs_group_sums_free(&sums, allocator);
	return done;
}

/* Decides whether a column without nulls stores the sums of its groups. */
static bool
keeps_sums(const PfsColumn *column, const PfsGroups *groups, int64_t least, int64_t greatest,
		   uint64_t unit)
{
	return !column->is_key && groups->count > 0 &&
		   (uint64_t) groups->count * MIN_ROWS_PER_SUM <= groups->row_count &&
		   ((uint64_t) greatest - (uint64_t) least) / unit <= PFS_SUM_MAX_UNITS;
}

/* Returns the column's kind, shifted to its bits in the header's column entry. */
static uint8_t
column_kind(const PfsColumn *column, bool has_values, bool has_nulls, bool is_constant,
			const PfsGroups *groups)
{
	if (!has_values)
		return PFS_COLUMN_ALL_NULL;
	if (has_nulls)
		return PFS_COLUMN_HAS_NULLS;
	/*
	 * The header stores a single value in fewer bytes than a reference, so a constant column is
	 * plain even if the base has it.
	 */
	if (is_constant)
		return 0;
	if (column->is_shared)
		return PFS_COLUMN_SHARED;
	if (column->row_counts != NULL)
		return column->measure > 0 ? PFS_COLUMN_MEASURED : PFS_COLUMN_ABOVE;
	return groups->count > 0 && column->is_key ? PFS_COLUMN_GROUPED : 0;
}

/* A column that is being encoded. */
typedef struct ColumnDraft
{
	uint8_t kind;
	bool has_values;
	bool has_nulls;
	int64_t least;
	int64_t greatest;
	uint64_t unit; /* unit of kinds PARTED, MEASURED and ABOVE; otherwise 0 */
} ColumnDraft;

/* Determines range, kind and unit of a column. */
static ColumnDraft
draft_column(const PfsColumn *column, uint32_t row_count, const PfsGroups *groups)
{
	ColumnDraft draft = { 0 };

	draft.has_values =
		column_find_range(column, row_count, &draft.least, &draft.greatest, &draft.has_nulls);
	draft.kind = column_kind(column, draft.has_values, draft.has_nulls,
							 draft.least == draft.greatest, groups);
	if (draft.kind == PFS_COLUMN_ABOVE || draft.kind == PFS_COLUMN_MEASURED)
		/*
		 * Differences from a multiple of this unit stay multiples of it, so the blocks' divisors
		 * remain.
		 */
		draft.unit = common_unit(column, row_count, 0);
	/* Two different values have a unit other than 0, by which keeps_sums() may divide. */
	if (draft.kind == 0 && draft.least != draft.greatest && column->wants_sums)
	{
		uint64_t unit = common_unit(column, row_count, draft.least);

		if (keeps_sums(column, groups, draft.least, draft.greatest, unit))
		{
			draft.kind = PFS_COLUMN_PARTED;
			draft.unit = unit;
		}
	}
	return draft;
}

/* Encodes the value stream, and the stream of sums if the kind has one. */
static bool
column_encode_values(const Encoding *encoding, const PfsColumn *column, const ColumnDraft *draft)
{
	PfsBytes *values = add_stream(encoding);

	switch (draft->kind)
	{
		case PFS_COLUMN_SHARED:
			return true;
		case PFS_COLUMN_ABOVE:
		case PFS_COLUMN_MEASURED:
			return encode_above(encoding, column, draft->unit, values);
		case PFS_COLUMN_PARTED:
			return encode_parted(encoding, column, draft->least, draft->unit, values);
		default:
			/* a constant column without nulls has no stream; the header has its value */
			return (!draft->has_nulls && draft->least == draft->greatest) ||
				   encode_plain(encoding, column, draft->has_nulls, values);
	}
}

/* Writes a column's entry in the header, and encodes its streams. */
static bool
encode_column(const Encoding *encoding, const PfsColumn *column)
{
	ColumnDraft draft = draft_column(column, encoding->row_count, encoding->groups);
	PfsBuffer *header = encoding->header;
	PfsSegment *segment = encoding->segment;
	uint32_t first = segment->stream_count;

	pfs_buffer_put16(header, (uint16_t) column->attnum);
	pfs_buffer_put_byte(header, column->width | draft.kind);
	if (!draft.has_values)
	{
		/*
		 * Every column has a value stream, even if it is empty, because readers number the streams
		 * by the column entries.
		 */
		segment->stream_count++;
		return true;
	}
	pfs_buffer_put_varint(header, pfs_zigzag(draft.least));
	pfs_buffer_put_varint(header, (uint64_t) draft.greatest - (uint64_t) draft.least);
	/* The kinds that have this field are never constant, so their unit is at least 1. */
	if (draft.unit > 0)
		pfs_buffer_put_varint(header, draft.unit);
	if (draft.kind == PFS_COLUMN_MEASURED)
		pfs_buffer_put_varint(header, column->measure);
	if (!column_encode_values(encoding, column, &draft))
		return false;
	if (draft.has_nulls && !encode_nulls(encoding, column->nulls))
		return false;
	/* the entry ends with length and CRC of each stream that has bytes */
	for (; first < segment->stream_count; first++)
		if (segment->streams[first].length > 0)
			put_stream(header, &segment->streams[first]);
	return true;
}

/* Writes the groups' entry in the header, and encodes their stream. */
static bool
encode_groups(const Encoding *encoding)
{
	const PfsGroups *groups = encoding->groups;
	PfsSegment *segment = encoding->segment;
	/* The groups stream comes after those of all columns. */
	PfsBytes *stream = &segment->streams[segment->stream_count];

	if (groups->count == 0)
		return true;
	if (!pfs_groups_encode(groups, encoding->effort, encoding->allocator, stream))
		return false;
	segment->stream_count++;
	segment->group_count = groups->count;
	pfs_buffer_put_varint(encoding->header, groups->count);
	put_stream(encoding->header, stream);
	return true;
}

/* Encodes all streams, and writes the header along with them. */
static bool
encode_parts(const Encoding *encoding, const PfsColumn *columns, uint32_t column_count)
{
	PfsBuffer *header = encoding->header;

	pfs_buffer_put32(header, PFS_SEGMENT_MAGIC);
	pfs_buffer_put_byte(header, PFS_FORMAT_VERSION);
	pfs_buffer_put_byte(header, encoding->groups->count > 0 ? PFS_HEADER_GROUPED : 0);
	pfs_buffer_put16(header, (uint16_t) column_count);
	pfs_buffer_put32(header, encoding->row_count);
	for (uint32_t i = 0; i < column_count; i++)
		if (!encode_column(encoding, &columns[i]))
			return false;
	/*
	 * A failed buffer may have no data, so the failure is checked before the checksum is computed.
	 */
	if (!encode_groups(encoding) || header->failed)
		return false;
	pfs_buffer_put32(header, pfs_crc32c(header->data, header->length));
	return !header->failed;
}

PfsStatus
pfs_segment_encode(const PfsColumn *columns, uint32_t column_count, uint32_t row_count,
				   PfsEffort effort, PfsAllocator allocator, PfsSegment *segment, PfsError *error)
{
	/* at most two streams per column, and one for the groups */
	size_t streams_bytes = (2 * (size_t) column_count + 1) * sizeof(PfsBytes);
	PfsGroups groups;
	PfsBuffer header;
	Encoding encoding = { row_count, &groups, effort, allocator, &header, segment };
	bool done;

	memset(segment, 0, sizeof(*segment));
	pfs_buffer_init(&header, allocator);
	done = pfs_groups_find(columns, column_count, row_count, allocator, &groups);
	if (done)
		segment->streams = allocator.realloc(allocator.context, NULL, streams_bytes);
	done = segment->streams != NULL;
	if (done)
	{
		/*
		 * pfs_segment_free() frees every stream that is counted, also after a failure in the
		 * middle.
		 */
		memset(segment->streams, 0, streams_bytes);
		done = encode_parts(&encoding, columns, column_count);
	}
	pfs_groups_free(&groups, allocator);
	if (done)
	{
		segment->header = pfs_buffer_take(&header);
		return PFS_OK;
	}
	pfs_buffer_fini(&header);
	pfs_segment_free(segment, allocator);
	*error = (PfsError){ "out of memory", -1, 0 };
	return PFS_NO_MEMORY;
}

void
pfs_segment_free(PfsSegment *segment, PfsAllocator allocator)
{
	if (segment->streams != NULL)
	{
		for (uint32_t i = 0; i < segment->stream_count; i++)
			if (segment->streams[i].data != NULL)
				allocator.realloc(allocator.context, segment->streams[i].data, 0);
		allocator.realloc(allocator.context, segment->streams, 0);
	}
	if (segment->header.data != NULL)
		allocator.realloc(allocator.context, segment->header.data, 0);
	memset(segment, 0, sizeof(*segment));
}
