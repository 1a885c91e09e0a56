/*
 * segment_block.c
 *		Decodes blocks of a column, and groups.
 */
#include "codec/segment_reader.h"

#include <string.h>

#include "codec/clones.h"

/* if values change at most once in this many groups, join equal groups before spreading */
#define MIN_GROUPS_PER_CHANGE 16

/* Decodes a block of a null stream into flags; values[] is scratch. */
static PfsStatus
read_nulls(PfsSegmentReader *reader, const PfsReaderColumn *column, uint32_t block, int64_t *values,
		   bool *nulls, bool *has_nulls, PfsError *error)
{
	PfsStreamDecoder *decoder = reader->streams[column->null_stream].decoder;
	int64_t least;
	int64_t greatest;
	PfsStatus status;

	/* The entry's range says whether any flag is 1, so most blocks need no decoding. */
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

/* Reads the groups of a block; fails if rows are not grouped. */
static PfsStatus
read_block_groups(PfsSegmentReader *reader, uint32_t block, PfsBlockGroups *groups, uint32_t *first,
				  PfsError *error)
{
	PfsStatus status;

	*groups = (PfsBlockGroups){ 0 };
	if (reader->groups == NULL)
		return pfs_reader_fail(error, PFS_CORRUPT, "block needs groups that the segment lacks", 0);
	status = pfs_groups_block(reader->groups, block, groups, first, error);
	if (status != PFS_OK)
		error->stream = reader->groups_stream;
	return status;
}

/* Returns the number of values that differ from the value before. */
PFS_CLONES static uint64_t
count_changes(const int64_t *values, uint32_t count)
{
	uint64_t changes = 0;

	for (uint32_t i = 1; i < count; i++)
		changes += values[i] != values[i - 1];
	return changes;
}

static void
values_fill(int64_t *values, int64_t value, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		values[i] = value;
}

/*
 * Spreads the values of groups over their rows, if neighbouring groups mostly have the same value,
 * as in column series_id. The rows of the groups are known to add up.
 */
static void
spread_few(const int64_t *group_values, const PfsBlockGroups *groups, int64_t *values)
{
	uint32_t row = 0;
	uint32_t start = 0;

	for (uint32_t group = 0; group < groups->count; group++)
	{
		/*
		 * row is the end of this group; start is the first row of the run of groups with equal
		 * values.
		 */
		row += (uint32_t) groups->lengths[group] + 1;
		if (group + 1 < groups->count && group_values[group + 1] == group_values[group])
			continue;
		values_fill(values + start, group_values[group], row - start);
		start = row;
	}
}

/*
 * Decodes a block of a column that has one value per group: spreads each value over the rows of its
 * group.
 */
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
		/* groups.count is at most PFS_BLOCK_ROWS, because every group has a row in this block. */
		status = pfs_stream_values(decoder, NULL, first, groups.count, group_values, error);
	if (status != PFS_OK)
		return status;
	changes = count_changes(group_values, groups.count);
	/* most blocks have one series; pfs_groups_block() has checked that the rows add up */
	if (changes == 0)
		values_fill(values, group_values[0], pfs_block_rows(reader->row_count, block));
	else if (changes <= groups.count / MIN_GROUPS_PER_CHANGE)
		spread_few(group_values, &groups, values);
	else
		pfs_spread_runs(group_values, (const uint64_t *) groups.lengths, groups.count,
						pfs_block_rows(reader->row_count, block), values);
	return PFS_OK;
}

/* Decodes a column that is stored in the base: the values, sums or row counts of its groups. */
static PfsStatus
read_base(PfsSegmentReader *reader, const PfsReaderColumn *column, uint32_t block, int64_t *values,
		  PfsError *error)
{
	PfsSegmentReader *base = reader->base;
	uint32_t first = block * PFS_BLOCK_ROWS;
	uint32_t count = pfs_block_rows(reader->row_count, block);
	int source;

	/* Row i of this segment is group i of the base, so both must have as many. */
	if (base == NULL || base->group_count != reader->row_count)
		return pfs_reader_fail(error, PFS_CORRUPT,
							   "column is shared with rows that have other groups", 0);
	source = column->is_shared ? pfs_reader_find_column(base, column->attnum) : -1;
	/* A shared column that the base lacks is the number of rows of each group. */
	if (source >= 0)
		return pfs_reader_group_values(base, source, first, count, values, error);
	return pfs_reader_group_rows(base, first, count, values, error);
}

/* Decodes a block of the column from whose values this column stores its differences. */
static PfsStatus
read_measured(PfsSegmentReader *reader, const PfsReaderColumn *column, uint32_t block,
			  int64_t *values, PfsError *error)
{
	PfsStreamDecoder *decoder = reader->streams[column->value_stream].decoder;

	/*
	 * read_measure() of the header has made sure that this column is plain, so it needs neither
	 * groups nor base.
	 */
	error->stream = column->value_stream;
	if (decoder != NULL)
		return pfs_stream_block(decoder, block, NULL, values, error);
	if (reader->streams[column->value_stream].length > 0)
		return pfs_reader_fail(error, PFS_CORRUPT,
							   "segment lacks the numbers of rows that other columns refer to", 0);
	/* A stream without bytes: all values are equal, and stand in the header. */
	values_fill(values, column->least, pfs_block_rows(reader->row_count, block));
	return PFS_OK;
}

/* Decodes a block of a column of kind 10 or 12: adds unit times the row count of each group. */
static PfsStatus
read_above(PfsSegmentReader *reader, const PfsReaderColumn *column, uint32_t block, int64_t *values,
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
read_sums(PfsSegmentReader *reader, const PfsReaderColumn *column, uint32_t first, uint32_t count,
		  int64_t *sums, PfsError *error)
{
	PfsStreamDecoder *decoder = reader->streams[column->sums_stream].decoder;

	if (reader->groups == NULL || decoder == NULL)
		return pfs_reader_fail(error, PFS_CORRUPT, "segment lacks the groups", 0);
	error->stream = column->sums_stream;
	return pfs_stream_values(decoder, pfs_groups_lengths_stream(reader->groups), first, count, sums,
							 error);
}

/*
 * Reads the groups that a block needs and, if the column stores sums, the sums of these groups into
 * sums[].
 */
static PfsStatus
read_needed_groups(PfsSegmentReader *reader, const PfsReaderColumn *column, uint32_t block,
				   const bool *wanted, int64_t *sums, PfsBlockGroups *groups, PfsError *error)
{
	uint32_t first;
	PfsStatus status = read_block_groups(reader, block, groups, &first, error);

	/* Other columns may have RISING or BANDED blocks, which need the rows of the groups only. */
	if (status == PFS_OK && column->is_parted)
	{
		status = read_sums(reader, column, first, groups->count, sums, error);
		groups->sums = sums;
	}
	groups->wanted = wanted;
	if (status == PFS_OK)
		error->stream = column->value_stream;
	return status;
}

/* Decodes a block that needs its groups, and perhaps their sums. */
static PfsStatus
read_beside_groups(PfsSegmentReader *reader, const PfsReaderColumn *column, uint32_t block,
				   const bool *wanted, int64_t *values, PfsError *error)
{
	int64_t sums[PFS_BLOCK_ROWS];
	PfsBlockGroups groups;
	PfsStatus status = read_needed_groups(reader, column, block, wanted, sums, &groups, error);

	if (status != PFS_OK)
		return status;
	return pfs_stream_block(reader->streams[column->value_stream].decoder, block, &groups, values,
							error);
}

/* Decodes a block of a column's value stream, of any kind except shared. */
static PfsStatus
reader_read_values(PfsSegmentReader *reader, const PfsReaderColumn *column, uint32_t block,
				   const bool *wanted, int64_t *values, PfsError *error)
{
	PfsStreamDecoder *decoder = reader->streams[column->value_stream].decoder;

	error->stream = column->value_stream;
	/* wanted[] is of use only to blocks with group bits, which a grouped column cannot have. */
	if (column->is_grouped)
		return read_grouped(reader, decoder, block, values, error);
	if (column->is_above || column->measure >= 0)
		return read_above(reader, column, block, values, error);
	/*
	 * Even in a column of kind 6 a block may be stored without its groups, if that took fewer
	 * bytes.
	 */
	if (pfs_stream_block_needs_groups(decoder, block))
		return read_beside_groups(reader, column, block, wanted, values, error);
	return pfs_stream_block(decoder, block, NULL, values, error);
}

PfsStatus
pfs_reader_block(PfsSegmentReader *reader, int column, uint32_t block, int64_t *values, bool *nulls,
				 bool *has_nulls, PfsError *error)
{
	return pfs_reader_block_of_groups(reader, column, block, NULL, values, nulls, has_nulls, error);
}

PfsStatus
pfs_reader_block_of_groups(PfsSegmentReader *reader, int column, uint32_t block, const bool *wanted,
						   int64_t *values, bool *nulls, bool *has_nulls, PfsError *error)
{
	const PfsReaderColumn *source = &reader->columns[column];
	uint32_t rows = pfs_block_rows(reader->row_count, block);
	PfsStatus status = PFS_OK;

	/* a column without values is all null */
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
		return reader_read_values(reader, source, block, wanted, values, error);
	values_fill(values, source->least, rows);
	return PFS_OK;
}

PfsStatus
pfs_reader_block_units(PfsSegmentReader *reader, int column, uint32_t block, const bool *wanted,
					   PfsUnits *units, bool *are_kept, PfsError *error)
{
	const PfsReaderColumn *source = &reader->columns[column];
	PfsStreamDecoder *decoder = reader->streams[source->value_stream].decoder;
	bool needs_groups;
	int64_t sums[PFS_BLOCK_ROWS];
	PfsBlockGroups groups;
	PfsStatus status = PFS_OK;

	/* a constant column has units without bytes: all are 0 */
	*units = (PfsUnits){ NULL, source->least, 1, 0 };
	*are_kept = source->has_values && !source->has_nulls && source->least == source->greatest;
	if (*are_kept || !source->has_values || source->has_nulls || source->is_grouped ||
		source->is_shared || source->is_above || source->measure >= 0 || decoder == NULL ||
		!pfs_stream_block_has_units(decoder, block))
		return PFS_OK;
	/* Only kinds 0 and 6 get here: their stream holds the values themselves. */
	*are_kept = true;
	error->stream = source->value_stream;
	needs_groups = pfs_stream_block_needs_groups(decoder, block);
	if (needs_groups)
		status = read_needed_groups(reader, source, block, wanted, sums, &groups, error);
	if (status != PFS_OK)
		return status;
	return pfs_stream_block_units(decoder, block, needs_groups ? &groups : NULL, units, error);
}

bool
pfs_reader_is_by_group(const PfsSegmentReader *reader, int column)
{
	const PfsReaderColumn *source = &reader->columns[column];

	return source->is_grouped ||
		   (source->has_values && source->null_stream < 0 && source->least == source->greatest);
}

PfsStatus
pfs_reader_block_groups(PfsSegmentReader *reader, uint32_t block, uint32_t *first, uint32_t *count,
						const int64_t **lengths, PfsError *error)
{
	PfsBlockGroups groups;
	PfsStatus status = read_block_groups(reader, block, &groups, first, error);

	*count = groups.count;
	*lengths = groups.lengths;
	return status;
}

/* Returns true if groups first .. first + count - 1 exist. */
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
		return pfs_reader_fail(error, PFS_CORRUPT, "segment lacks the groups", 0);
	error->stream = reader->groups_stream;
	status = pfs_groups_lengths(reader->groups, first, count, rows, error);
	if (status != PFS_OK)
		return status;
	/* lengths are stored minus 1; add it, and find any that is out of range */
	for (uint32_t i = 0; i < count; i++)
	{
		/* The bits of all lengths together reach PFS_BLOCK_ROWS only if one of them does. */
		most |= (uint64_t) rows[i];
		rows[i] = (int64_t) ((uint64_t) rows[i] + 1);
	}
	if (most < PFS_BLOCK_ROWS)
		return PFS_OK;
	error->message = "number of rows of a group is out of range";
	error->offset = 0;
	return PFS_CORRUPT;
}

/* Computes the sums of groups: rows times the least value, plus unit times the stored sum. */
static PfsStatus
add_up_groups(PfsSegmentReader *reader, const PfsReaderColumn *column, uint32_t first,
			  uint32_t count, int64_t *values, PfsError *error)
{
	int64_t rows[PFS_BLOCK_ROWS];
	PfsStatus status = pfs_reader_group_rows(reader, first, count, rows, error);

	if (status == PFS_OK)
		status = read_sums(reader, column, first, count, values, error);
	for (uint32_t i = 0; status == PFS_OK && i < count; i++)
		/*
		 * Each value is least + unit * q, so the sum of k values is k * least + unit * the sum of
		 * q.
		 */
		values[i] = (int64_t) ((uint64_t) column->least * (uint64_t) rows[i] +
							   column->unit * (uint64_t) values[i]);
	return status;
}

PfsStatus
pfs_reader_group_values(PfsSegmentReader *reader, int column, uint32_t first, uint32_t count,
						int64_t *values, PfsError *error)
{
	const PfsReaderColumn *source = &reader->columns[column];
	const PfsReaderStream *stream = &reader->streams[source->value_stream];

	if (!has_groups(reader, first, count))
		return pfs_reader_fail(error, PFS_CORRUPT, "segment lacks the groups", 0);
	error->stream = source->value_stream;
	if (source->is_grouped && stream->decoder != NULL)
		return pfs_stream_values(stream->decoder, NULL, first, count, values, error);
	if (source->is_parted)
		return add_up_groups(reader, source, first, count, values, error);
	/* A column that is neither grouped nor parted has values of groups only if it is constant. */
	if (!source->has_values || stream->length > 0)
		return pfs_reader_fail(error, PFS_CORRUPT, "column has no values of groups", 0);
	values_fill(values, source->least, count);
	return PFS_OK;
}

uint32_t
pfs_reader_distinct_count(const PfsSegmentReader *reader, int column)
{
	const PfsReaderColumn *source = &reader->columns[column];
	const PfsStreamDecoder *decoder =
		source->is_grouped ? reader->streams[source->value_stream].decoder : NULL;

	return decoder == NULL ? 0 : pfs_stream_distinct_count(decoder);
}

PfsStatus
pfs_reader_group_ranks(PfsSegmentReader *reader, int column, uint32_t first, uint32_t count,
					   int64_t *ranks, PfsError *error)
{
	int stream = reader->columns[column].value_stream;

	if (!has_groups(reader, first, count))
		return pfs_reader_fail(error, PFS_CORRUPT, "segment lacks the groups", 0);
	error->stream = stream;
	return pfs_stream_ranks(reader->streams[stream].decoder, first, count, ranks, error);
}

PfsStatus
pfs_reader_look_up(PfsSegmentReader *reader, int column, uint32_t count, int64_t *values,
				   PfsError *error)
{
	int stream = reader->columns[column].value_stream;

	error->stream = stream;
	return pfs_stream_look_up(reader->streams[stream].decoder, count, values, error);
}
