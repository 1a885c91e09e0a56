/*
 * shard_wire.c
 *		Bytes of requests to the nodes of a distributed table, and of their answers.
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

/* Each id takes a byte at least, which bounds the array. */
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
		uint64 last = 0;

		if (!(block->columns & (1 << column)))
			continue;
		for (uint32 row = 0; row < block->row_count; row++)
		{
			uint64 value = (uint64) block->values[column][row];

			/* differences wrap around, as pfs_shard_block_decode() adds them */
			pfs_append_signed(&bytes, (int64) (value - last));
			if (column != PFS_COLUMN_VALUE)
				last = value;
		}
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
		uint64 last = 0;

		if (!(block->columns & (1 << column)))
			continue;
		for (uint32 row = 0; row < block->row_count; row++)
		{
			uint64 value = last + (uint64) pfs_unzigzag(pfs_cursor_varint(&cursor));

			block->values[column][row] = (int64) value;
			if (column != PFS_COLUMN_VALUE)
				last = value;
		}
	}
	if (cursor.failed || cursor.offset != cursor.length ||
		(block->kind == PFS_SHARD_ENDS && block->row_count != 1))
		wire_fail("block");
}
