/*
 * groups.c
 *		Finds groups; encodes and decodes the groups stream.
 *
 *   1. Neighbouring rows of a block with equal keys make a group. If there are hardly fewer groups
 *      than rows, the segment has none.
 *   2. Key columns are folded to one value per group. Other columns may be summed by group.
 *   3. The groups stream has two streams inside: the groups of each block, the rows of each group.
 */
#include "codec/groups.h"

#include <string.h>

/*
 * least mean number of rows of a group, in quarters: the lengths of smaller groups cost more bytes
 * than they save
 */
#define MIN_MEAN_QUARTERS 5

/*
 * Returns true if a row begins a group: at a block's start, or if a key differs from the row
 * before.
 */
static bool
begins_group(const PfsColumn *columns, uint32_t column_count, uint32_t row)
{
	if (row % PFS_BLOCK_ROWS == 0)
		return true;
	for (uint32_t i = 0; i < column_count; i++)
		if (columns[i].is_key && columns[i].values[row] != columns[i].values[row - 1])
			return true;
	return false;
}

static bool
keys_can_group(const PfsColumn *columns, uint32_t column_count)
{
	bool any = false;

	for (uint32_t i = 0; i < column_count; i++)
	{
		/* The value of a null row is unspecified, so equal values would not mean equal keys. */
		if (columns[i].is_key && columns[i].nulls != NULL)
			return false;
		any |= columns[i].is_key;
	}
	return any;
}

static uint32_t
count_groups(const PfsColumn *columns, uint32_t column_count, uint32_t row_count)
{
	uint32_t count = 0;

	for (uint32_t row = 0; row < row_count; row++)
		count += begins_group(columns, column_count, row);
	return count;
}

bool
pfs_groups_find(const PfsColumn *columns, uint32_t column_count, uint32_t row_count,
				PfsAllocator allocator, PfsGroups *groups)
{
	uint32_t group = 0;

	memset(groups, 0, sizeof(*groups));
	if (!keys_can_group(columns, column_count))
		return true;
	groups->count = count_groups(columns, column_count, row_count);
	/* The condition is rows / groups < 5 / 4, multiplied out. */
	if ((uint64_t) groups->count * MIN_MEAN_QUARTERS > (uint64_t) row_count * 4)
	{
		groups->count = 0;
		return true;
	}
	groups->row_count = row_count;
	groups->lengths =
		allocator.realloc(allocator.context, NULL, groups->count * sizeof(*groups->lengths));
	groups->blocks = allocator.realloc(allocator.context, NULL,
									   pfs_block_count(row_count) * sizeof(*groups->blocks));
	if (groups->lengths == NULL || groups->blocks == NULL)
	{
		pfs_groups_free(groups, allocator);
		return false;
	}
	for (uint32_t row = 0; row < row_count; row++)
	{
		if (row % PFS_BLOCK_ROWS == 0)
			groups->blocks[row / PFS_BLOCK_ROWS] =
				(PfsBlockGroups){ .lengths = groups->lengths + group };
		if (begins_group(columns, column_count, row))
		{
			/* A length of 0 stands for one row: lengths are stored minus 1. */
			groups->lengths[group++] = 0;
			groups->blocks[row / PFS_BLOCK_ROWS].count++;
		}
		else
			groups->lengths[group - 1]++;
	}
	return true;
}

void
pfs_groups_free(PfsGroups *groups, PfsAllocator allocator)
{
	if (groups->lengths != NULL)
		allocator.realloc(allocator.context, groups->lengths, 0);
	if (groups->blocks != NULL)
		allocator.realloc(allocator.context, groups->blocks, 0);
	memset(groups, 0, sizeof(*groups));
}

int64_t *
pfs_groups_fold(const PfsGroups *groups, const int64_t *values, PfsAllocator allocator)
{
	int64_t *folded = allocator.realloc(allocator.context, NULL, groups->count * sizeof(*folded));

	for (uint32_t group = 0; folded != NULL && group < groups->count; group++)
	{
		/* All rows of the group agree, so the first one stands for them. */
		folded[group] = *values;
		values += groups->lengths[group] + 1;
	}
	return folded;
}

bool
pfs_groups_add_up(const PfsGroups *groups, const int64_t *values, int64_t least, uint64_t unit,
				  PfsAllocator allocator, PfsGroupSums *sums)
{
	uint32_t block_count = pfs_block_count(groups->row_count);
	uint32_t value_block_count = pfs_block_count(groups->count);
	uint32_t group = 0;

	sums->sums = allocator.realloc(allocator.context, NULL, groups->count * sizeof(*sums->sums));
	sums->blocks = allocator.realloc(allocator.context, NULL, block_count * sizeof(*sums->blocks));
	sums->values =
		allocator.realloc(allocator.context, NULL, value_block_count * sizeof(*sums->values));
	if (sums->sums == NULL || sums->blocks == NULL || sums->values == NULL)
	{
		pfs_group_sums_free(sums, allocator);
		return false;
	}
	for (uint32_t block = 0; block < block_count; block++)
	{
		/* The copy of the block's groups shares their lengths, and gets the sums of this column. */
		sums->blocks[block] = groups->blocks[block];
		sums->blocks[block].sums = sums->sums + group;
		sums->blocks[block].least = least;
		sums->blocks[block].unit = unit;
		for (uint32_t end = group + groups->blocks[block].count; group < end; group++)
		{
			uint64_t sum = 0;

			for (int64_t row = 0; row <= groups->lengths[group]; row++)
				/*
				 * At most PFS_BLOCK_ROWS values of PFS_SUM_MAX_UNITS units, so the sum fits in an
				 * int64.
				 */
				sum += ((uint64_t) *values++ - (uint64_t) least) / unit;
			sums->sums[group] = (int64_t) sum;
		}
	}
	for (uint32_t block = 0; block < value_block_count; block++)
		/*
		 * The sums stream has one value per group and is cut every PFS_BLOCK_ROWS groups, so its
		 * block b begins at group b * PFS_BLOCK_ROWS.
		 */
		sums->values[block] =
			(PfsBlockGroups){ .count = pfs_block_rows(groups->count, block),
							  .lengths = groups->lengths + (size_t) block * PFS_BLOCK_ROWS,
							  .has_value_each = true };
	return true;
}

void
pfs_group_sums_free(PfsGroupSums *sums, PfsAllocator allocator)
{
	if (sums->sums != NULL)
		allocator.realloc(allocator.context, sums->sums, 0);
	if (sums->blocks != NULL)
		allocator.realloc(allocator.context, sums->blocks, 0);
	if (sums->values != NULL)
		allocator.realloc(allocator.context, sums->values, 0);
	*sums = (PfsGroupSums){ 0 };
}

bool
pfs_groups_encode(const PfsGroups *groups, PfsEffort effort, PfsAllocator allocator,
				  PfsBytes *bytes)
{
	uint32_t block_count = pfs_block_count(groups->row_count);
	int64_t *counts = allocator.realloc(allocator.context, NULL, block_count * sizeof(*counts));
	PfsBytes counts_stream = { 0 };
	PfsBytes lengths_stream = { 0 };
	PfsBuffer buffer;
	bool done = counts != NULL;

	pfs_buffer_init(&buffer, allocator);
	for (uint32_t block = 0; done && block < block_count; block++)
		counts[block] = (int64_t) groups->blocks[block].count - 1;
	done = done &&
		   pfs_stream_encode(counts, NULL, block_count, NULL, effort, allocator, &counts_stream) &&
		   pfs_stream_encode(groups->lengths, NULL, groups->count, NULL, effort, allocator,
							 &lengths_stream);
	if (done)
	{
		pfs_buffer_put_varint(&buffer, counts_stream.length);
		pfs_buffer_put(&buffer, counts_stream.data, counts_stream.length);
		pfs_buffer_put(&buffer, lengths_stream.data, lengths_stream.length);
		done = !buffer.failed;
	}
	if (done)
		*bytes = pfs_buffer_take(&buffer);
	pfs_buffer_fini(&buffer);
	if (counts != NULL)
		allocator.realloc(allocator.context, counts, 0);
	if (counts_stream.data != NULL)
		allocator.realloc(allocator.context, counts_stream.data, 0);
	if (lengths_stream.data != NULL)
		allocator.realloc(allocator.context, lengths_stream.data, 0);
	return done;
}

struct PfsGroupsDecoder
{
	PfsAllocator allocator;
	uint32_t row_count;
	uint32_t block;	  /* the block whose rows are in block_lengths; UINT32_MAX: none */
	uint32_t *firsts; /* first group of each block of rows, and at the end the number of groups */
	PfsStreamDecoder *lengths;
	int64_t block_lengths[PFS_BLOCK_ROWS];
};

static PfsStatus
groups_fail(PfsError *error, PfsStatus status, const char *message, size_t offset)
{
	error->message = message;
	error->offset = offset;
	return status;
}

/* Reads the number of groups of each block into firsts[], as running sums. */
static PfsStatus
read_firsts(PfsGroupsDecoder *decoder, PfsStreamDecoder *counts, uint32_t group_count,
			PfsError *error)
{
	uint32_t block_count = pfs_block_count(decoder->row_count);
	uint32_t first = 0;
	uint32_t block = 0;

	/* block_lengths serves as scratch here; no block of groups has been read yet */
	for (uint32_t chunk = 0; chunk < pfs_block_count(block_count); chunk++)
	{
		PfsStatus status = pfs_stream_block(counts, chunk, NULL, decoder->block_lengths, error);

		if (status != PFS_OK)
			return status;
		for (uint32_t i = 0; i < pfs_block_rows(block_count, chunk); i++)
		{
			uint32_t rows = pfs_block_rows(decoder->row_count, block);
			/*
			 * A stored -1 becomes 0 here, and other negative numbers become larger than any block.
			 */
			uint64_t count = (uint64_t) decoder->block_lengths[i] + 1;

			if (count == 0 || count > rows)
				return groups_fail(error, PFS_CORRUPT, "number of groups is out of range", 0);
			decoder->firsts[block++] = first;
			first += (uint32_t) count;
		}
	}
	decoder->firsts[block] = first;
	/* first cannot wrap: it is at most the number of rows of the segment. */
	if (first != group_count)
		return groups_fail(error, PFS_CORRUPT, "blocks do not have as many groups as the segment",
						   0);
	return PFS_OK;
}

/* Opens both streams, and reads the first. */
static PfsStatus
parse_groups(PfsGroupsDecoder *decoder, const uint8_t *bytes, size_t length, uint32_t group_count,
			 PfsError *error)
{
	uint32_t block_count = pfs_block_count(decoder->row_count);
	PfsCursor cursor = pfs_cursor(bytes, length);
	uint64_t counts_length = pfs_cursor_varint(&cursor);
	size_t start = cursor.offset;
	const uint8_t *place =
		/*
		 * The comparison comes before the cast, because size_t may be narrower than the stored
		 * number.
		 */
		counts_length > length ? NULL : pfs_cursor_take(&cursor, (size_t) counts_length);
	PfsStreamDecoder *counts = NULL;
	PfsStatus status;

	if (place == NULL)
		return groups_fail(error, PFS_CORRUPT, "groups exceed their stream", start);
	status = pfs_stream_open(place, (size_t) counts_length, block_count, decoder->allocator,
							 &counts, error);
	/* A block that needs groups would need this very stream to be decoded. */
	if (status == PFS_OK && pfs_stream_needs_groups(counts))
		status = groups_fail(error, PFS_CORRUPT, "groups refer to groups", 0);
	if (status == PFS_OK)
	{
		decoder->firsts = decoder->allocator.realloc(decoder->allocator.context, NULL,
													 (block_count + 1) * sizeof(*decoder->firsts));
		status = decoder->firsts == NULL ? groups_fail(error, PFS_NO_MEMORY, "out of memory", 0)
										 : read_firsts(decoder, counts, group_count, error);
	}
	pfs_stream_close(counts);
	if (status != PFS_OK)
	{
		/* The offset so far counts from the start of the inner stream. */
		error->offset += start;
		return status;
	}
	start = cursor.offset;
	status = pfs_stream_open(bytes + start, length - start, group_count, decoder->allocator,
							 &decoder->lengths, error);
	if (status == PFS_OK && pfs_stream_needs_groups(decoder->lengths))
		status = groups_fail(error, PFS_CORRUPT, "groups refer to groups", 0);
	if (status != PFS_OK)
		error->offset += start;
	return status;
}

PfsStatus
pfs_groups_open(const uint8_t *bytes, size_t length, uint32_t row_count, uint32_t group_count,
				PfsAllocator allocator, PfsGroupsDecoder **decoder_out, PfsError *error)
{
	PfsGroupsDecoder *decoder = allocator.realloc(allocator.context, NULL, sizeof(*decoder));
	PfsStatus status;

	if (decoder == NULL)
		return groups_fail(error, PFS_NO_MEMORY, "out of memory", 0);
	decoder->allocator = allocator;
	decoder->row_count = row_count;
	decoder->block = UINT32_MAX;
	/*
	 * pfs_groups_close() frees whatever is set, so all pointers are set before the first failure.
	 */
	decoder->firsts = NULL;
	decoder->lengths = NULL;
	status = parse_groups(decoder, bytes, length, group_count, error);
	if (status == PFS_OK)
		*decoder_out = decoder;
	else
		pfs_groups_close(decoder);
	return status;
}

void
pfs_groups_close(PfsGroupsDecoder *decoder)
{
	if (decoder == NULL)
		return;
	pfs_stream_close(decoder->lengths);
	if (decoder->firsts != NULL)
		decoder->allocator.realloc(decoder->allocator.context, decoder->firsts, 0);
	decoder->allocator.realloc(decoder->allocator.context, decoder, 0);
}

void
pfs_groups_place(const PfsGroupsDecoder *decoder, uint32_t block, uint32_t *first, uint32_t *count)
{
	*first = decoder->firsts[block];
	*count = decoder->firsts[block + 1] - *first;
}

PfsStreamDecoder *
pfs_groups_lengths_stream(PfsGroupsDecoder *decoder)
{
	return decoder->lengths;
}

PfsStatus
pfs_groups_lengths(PfsGroupsDecoder *decoder, uint32_t first, uint32_t count, int64_t *lengths,
				   PfsError *error)
{
	return pfs_stream_values(decoder->lengths, NULL, first, count, lengths, error);
}

PfsStatus
pfs_groups_block(PfsGroupsDecoder *decoder, uint32_t block, PfsBlockGroups *groups, uint32_t *first,
				 PfsError *error)
{
	uint64_t rows = 0;
	uint64_t most = 0;
	PfsStatus status;

	*groups = (PfsBlockGroups){ .lengths = decoder->block_lengths };
	/*
	 * firsts[] is checked when the stream is opened, so the place is right even for a cached block.
	 */
	pfs_groups_place(decoder, block, first, &groups->count);
	if (decoder->block == block)
		return PFS_OK;
	/* block_lengths[] is overwritten from here on, and must not count as a block if that fails. */
	decoder->block = UINT32_MAX;
	status = pfs_groups_lengths(decoder, *first, groups->count, decoder->block_lengths, error);
	if (status != PFS_OK)
		return status;
	for (uint32_t i = 0; i < groups->count; i++)
	{
		rows += (uint64_t) decoder->block_lengths[i] + 1;
		most |= (uint64_t) decoder->block_lengths[i];
	}
	/* ORing finds any length of PFS_BLOCK_ROWS or more, as PFS_BLOCK_ROWS is a power of two. */
	if (most >= PFS_BLOCK_ROWS || rows != pfs_block_rows(decoder->row_count, block))
		return groups_fail(error, PFS_CORRUPT, "rows of the groups do not add up", 0);
	decoder->block = block;
	return PFS_OK;
}
