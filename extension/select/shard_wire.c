/*
 * shard_wire.c
 *		Encodes and decodes requests to the nodes of a distributed table, and their answers.
 */
#include "select/shard_wire.h"

#include "lib/stringinfo.h"

#include "base/varints.h"

/* Bits of a request's flags. */
#define FLAG_DELTA	1
#define FLAG_STACKS 2
#define FLAGS_ALL	(FLAG_DELTA | FLAG_STACKS)

#define COLUMNS_ALL ((1 << PFS_COLUMN_COUNT) - 1)

static void
wire_begin(StringInfo bytes)
{
	initStringInfo(bytes);
	appendStringInfoSpaces(bytes, VARHDRSZ);
}

static bytea *
wire_finish(StringInfo bytes)
{
	SET_VARSIZE(bytes->data, bytes->len);
	return (bytea *) bytes->data;
}

static PfsCursor
wire_cursor(const bytea *bytes)
{
	return pfs_cursor((const uint8_t *) VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes));
}

pg_noreturn static void
wire_fail(const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION), errmsg("invalid %s of shards", what)));
}

static void
append_ids(StringInfo bytes, PfsNumbers ids)
{
	pfs_append_varint(bytes, ids.count);
	for (uint32 i = 0; i < ids.count; i++)
	{
		if (i == 0)
			pfs_append_signed(bytes, ids.numbers[0]);
		else
			pfs_append_varint(bytes, (uint64) ids.numbers[i] - (uint64) ids.numbers[i - 1]);
	}
}

/* each id has at least one byte, which bounds the array by the bytes that are left */
static PfsNumbers
read_ids(PfsCursor *cursor)
{
	uint64 count = pfs_cursor_varint(cursor);
	int64 *ids;

	if (cursor->failed || count > cursor->length - cursor->offset)
		wire_fail("request");
	ids = PFS_ARRAY(int64, count);
	for (uint64 i = 0; i < count; i++)
	{
		uint64 step = pfs_cursor_varint(cursor);

		if (i == 0)
			ids[0] = pfs_unzigzag(step);
		else if (step == 0 || step > (uint64) PG_INT64_MAX - (uint64) ids[i - 1])
			wire_fail("request");
		else
			ids[i] = (int64) ((uint64) ids[i - 1] + step);
	}
	return (PfsNumbers){ (uint32) count, ids };
}

bytea *
pfs_shard_request_encode(const PfsShardRequest *request)
{
	StringInfoData bytes;

	wire_begin(&bytes);
	appendStringInfoChar(&bytes, PFS_SHARD_PROTOCOL);
	appendStringInfoChar(&bytes, (char) request->columns);
	appendStringInfoChar(&bytes, (char) request->part);
	appendStringInfoChar(&bytes, (char) ((request->delta ? FLAG_DELTA : 0) |
										 (request->has_stacks ? FLAG_STACKS : 0)));
	pfs_append_signed(&bytes, request->from);
	pfs_append_signed(&bytes, request->to);
	append_ids(&bytes, request->series);
	if (request->has_stacks)
		append_ids(&bytes, request->stacks);
	return wire_finish(&bytes);
}

PfsShardRequest
pfs_shard_request_decode(const bytea *bytes)
{
	PfsCursor cursor = wire_cursor(bytes);
	uint8 protocol = pfs_cursor_byte(&cursor);
	PfsShardRequest request = { 0 };
	uint8 part;
	uint8 flags;

	if (!cursor.failed && protocol != PFS_SHARD_PROTOCOL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the coordinator asks for samples by protocol %d, this node answers by %d",
						protocol, PFS_SHARD_PROTOCOL),
				 errhint("Install one build of profstore on all nodes, then run ALTER EXTENSION "
						 "profstore UPDATE on the coordinator.")));
	request.columns = pfs_cursor_byte(&cursor);
	part = pfs_cursor_byte(&cursor);
	flags = pfs_cursor_byte(&cursor);
	request.from = pfs_unzigzag(pfs_cursor_varint(&cursor));
	request.to = pfs_unzigzag(pfs_cursor_varint(&cursor));
	if (cursor.failed || request.columns > COLUMNS_ALL || part >= PFS_PART_COUNT ||
		flags > FLAGS_ALL)
		wire_fail("request");
	request.part = (PfsSegmentPart) part;
	request.delta = (flags & FLAG_DELTA) != 0;
	request.has_stacks = (flags & FLAG_STACKS) != 0;
	request.series = read_ids(&cursor);
	if (request.has_stacks)
		request.stacks = read_ids(&cursor);
	if (cursor.failed || cursor.offset != cursor.length)
		wire_fail("request");
	return request;
}

/* Returns the greatest number that divides all values; 1 if they are all 0. */
static uint64
values_unit(const int64 *values, uint32 count)
{
	uint64 unit = 0;

	for (uint32 i = 0; i < count && unit != 1; i++)
	{
		uint64 rest = values[i] < 0 ? 0 - (uint64) values[i] : (uint64) values[i];

		while (rest != 0)
		{
			uint64 remainder = unit % rest;

			unit = rest;
			rest = remainder;
		}
	}
	return Max(unit, 1);
}

/*
 * Sums of most profile types are multiples of one sample's value, such as the period in
 * nanoseconds, so their quotients are short.
 */
static void
append_values(StringInfo bytes, const int64 *values, uint32 count)
{
	uint64 unit = values_unit(values, count);

	pfs_append_varint(bytes, unit);
	for (uint32 i = 0; i < count; i++)
	{
		if (values[i] < 0)
			pfs_append_signed(bytes, (int64) (0 - (0 - (uint64) values[i]) / unit));
		else
			pfs_append_signed(bytes, (int64) ((uint64) values[i] / unit));
	}
}

static void
read_values(PfsCursor *cursor, int64 *values, uint32 count)
{
	uint64 unit = pfs_cursor_varint(cursor);

	for (uint32 i = 0; i < count; i++)
		values[i] = (int64) ((uint64) pfs_unzigzag(pfs_cursor_varint(cursor)) * unit);
}

/*
 * Appends differences, which wrap around modulo 2^64, as sums do in read_differences().
 */
static void
append_differences(StringInfo bytes, const int64 *ids, uint32 count)
{
	uint64 last = 0;

	for (uint32 i = 0; i < count; i++)
	{
		pfs_append_signed(bytes, (int64) ((uint64) ids[i] - last));
		last = (uint64) ids[i];
	}
}

static void
read_differences(PfsCursor *cursor, int64 *ids, uint32 count)
{
	uint64 last = 0;

	for (uint32 i = 0; i < count; i++)
	{
		last += (uint64) pfs_unzigzag(pfs_cursor_varint(cursor));
		ids[i] = (int64) last;
	}
}

bytea *
pfs_shard_block_encode(const PfsShardBlock *block)
{
	StringInfoData bytes;

	wire_begin(&bytes);
	appendStringInfoChar(&bytes, (char) block->kind);
	appendStringInfoChar(&bytes, (char) block->columns);
	pfs_append_varint(&bytes, block->row_count);
	for (int column = 0; column < PFS_COLUMN_COUNT; column++)
	{
		if (!(block->columns & (1 << column)))
			continue;
		if (column == PFS_COLUMN_VALUE)
			append_values(&bytes, block->values[column], block->row_count);
		else
			append_differences(&bytes, block->values[column], block->row_count);
	}
	return wire_finish(&bytes);
}

void
pfs_shard_block_init(PfsShardBlock *block)
{
	for (int column = 0; column < PFS_COLUMN_COUNT; column++)
		block->values[column] = palloc(PFS_SHARD_BLOCK_ROWS * sizeof(int64));
}

void
pfs_shard_block_decode(PfsShardBlock *block, const bytea *bytes)
{
	PfsCursor cursor = wire_cursor(bytes);
	uint8 kind = pfs_cursor_byte(&cursor);
	uint64 row_count;

	block->columns = pfs_cursor_byte(&cursor);
	row_count = pfs_cursor_varint(&cursor);
	if (cursor.failed || kind < PFS_SHARD_SAMPLES || kind > PFS_SHARD_ENDS ||
		block->columns > COLUMNS_ALL || row_count > PFS_SHARD_BLOCK_ROWS)
		wire_fail("block");
	block->kind = (PfsShardKind) kind;
	block->row_count = (uint32) row_count;
	for (int column = 0; column < PFS_COLUMN_COUNT; column++)
	{
		if (!(block->columns & (1 << column)))
			continue;
		if (column == PFS_COLUMN_VALUE)
			read_values(&cursor, block->values[column], block->row_count);
		else
			read_differences(&cursor, block->values[column], block->row_count);
	}
	if (cursor.failed || cursor.offset != cursor.length ||
		(block->kind == PFS_SHARD_ENDS && block->row_count != 1))
		wire_fail("block");
}
