/*
 * stack_ids.c
 *		Keeps stacks by id in a table. The stream that requests stacks has one column, and is
 *		written byte by byte.
 */
#include "arrow/stack_ids.h"

#include <stdlib.h>
#include <sys/param.h>

#include "arrow/stacks.h"
#include "arrow/stream.h"
#include "base/hash.h"

typedef struct StackId
{
	Span id;
	uint32_t stack;
} StackId;

void
stack_ids_init(StackIds *ids, Budget *budget)
{
	table_init(&ids->table, budget, sizeof(StackId));
}

void
stack_ids_fini(StackIds *ids)
{
	table_fini(&ids->table);
}

static bool
id_equals(const void *item, const void *key)
{
	const StackId *known = item;
	const Span *id = key;

	return known->id.length == id->length && memcmp(known->id.bytes, id->bytes, id->length) == 0;
}

static uint64_t
id_hash(const StackIds *ids, Span id)
{
	return hash_bytes(ids->table.seed, id.bytes, id.length);
}

bool
stack_ids_find(const StackIds *ids, Span id, uint32_t *stack)
{
	uint32_t position;

	if (!table_find(&ids->table, id_hash(ids, id), id_equals, &id, &position))
		return false;
	*stack = ((const StackId *) table_item(&ids->table, position))->stack;
	return true;
}

bool
stack_ids_add(StackIds *ids, ArrowWork *work, Span id, uint32_t stack)
{
	uint32_t known;
	StackId *item;

	if (id.length > ARROW_ID_MAX)
		return work_fail(work, "the id of a stack is too long");
	/* the first stack of an id counts */
	if (stack_ids_find(ids, id, &known))
		return true;
	if (table_reserve(&ids->table) != 0)
		return work_too_large(work);
	item = table_append(&ids->table, id_hash(ids, id));
	*item = (StackId){ id, stack };
	return true;
}

/* --- stacks that came --- */

/* Adds the stacks of a record batch with the columns stacktrace_id and locations. */
static bool
read_batch(StackIds *ids, ArrowWork *work, ArrowStream *stream)
{
	ArrowArray *names = arrow_column(stream, "stacktrace_id");
	ArrowArray *stacks = arrow_column(stream, "locations");
	StackReader reader = { .work = work };
	bool good;

	if (names == NULL || !arrow_is_text(names) || stacks == NULL)
		return work_fail(work, "stacks lack column stacktrace_id or the column of locations");
	good = stack_reader_open(&reader, work, stacks);
	for (uint32_t row = 0; good && row < stream->rows; row++)
	{
		uint32_t first;
		uint32_t count;
		uint32_t stack;
		Span id;

		good = work_pay(work, 16) && work_bytes(work, names, row, &id) &&
			   stack_reader_range(&reader, row, &first, &count) &&
			   stack_reader_add(&reader, first, count, &stack) &&
			   stack_ids_add(ids, work, id, stack);
	}
	stack_reader_close(&reader);
	return good;
}

bool
stack_ids_read(StackIds *ids, ArrowWork *work, Span bytes)
{
	ArrowStream stream;

	arrow_stream_open(&stream, bytes, work->arena);
	while (arrow_stream_next(&stream))
		if (!read_batch(ids, work, &stream))
			return false;
	if (stream.is_out_of_memory)
		return work_too_large(work);
	return stream.error == NULL || work_fail(work, stream.error);
}

/* --- the stream that asks --- */

#define PREFIX_BYTES	 8
#define SCHEMA_BYTES	 192
#define RECORDS_BYTES	 152
#define HEADER_SCHEMA	 1
#define HEADER_RECORDS	 3
#define METADATA_VERSION 4 /* V5 */
#define TYPE_BINARY		 4

/* Writes values of a FlatBuffer at given positions. */
typedef struct FlatWriter
{
	uint8_t *bytes;
} FlatWriter;

static void
flat_put(FlatWriter writer, size_t at, unsigned width, uint64_t value)
{
	uint64_t little = htole64(value);

	memcpy(writer.bytes + at, &little, width);
}

/* Writes, at position at, the offset of the value at position to. */
static void
put_offset(FlatWriter writer, size_t at, size_t to)
{
	flat_put(writer, at, 4, to - at);
}

/* Writes a vtable, and the reference from the table after it. */
static void
put_vtable(FlatWriter writer, size_t at, size_t table, uint16_t table_bytes, const uint16_t *fields,
		   uint16_t count)
{
	flat_put(writer, at, 2, 4 + 2 * (uint64_t) count);
	flat_put(writer, at + 2, 2, table_bytes);
	for (uint16_t i = 0; i < count; i++)
		flat_put(writer, at + 4 + 2 * (size_t) i, 2, fields[i]);
	flat_put(writer, table, 4, table - at);
}

static void
stack_ids_put_text(FlatWriter writer, size_t at, const char *text)
{
	flat_put(writer, at, 4, strlen(text));
	memcpy(writer.bytes + at + 4, text, strlen(text) + 1);
}

/*
 * Writes the prefix of a message (0xFFFFFFFF and the number of bytes), the root, and the table
 * Message.
 */
static FlatWriter
begin_message(uint8_t *at, uint32_t bytes, unsigned type, size_t header, uint64_t body)
{
	static const uint16_t fields[] = { 16, 18, 4, 8 }; /* version, type, header, size of the body */
	FlatWriter prefix = { at };
	/* positions below are relative to the FlatBuffer, which follows the prefix */
	FlatWriter writer = { at + PREFIX_BYTES };

	flat_put(prefix, 0, 4, UINT32_MAX);
	flat_put(prefix, 4, 4, bytes);
	/*
	 * The root offset leads to the table at 16; its vtable is before it, at 4. version is at 16 +
	 * 16, type at 16 + 18, the header's offset at 16 + 4, the body's size at 16 + 8.
	 */
	put_offset(writer, 0, 16);
	put_vtable(writer, 4, 16, 20, fields, 4);
	put_offset(writer, 20, header);
	flat_put(writer, 24, 8, body);
	flat_put(writer, 32, 2, METADATA_VERSION);
	flat_put(writer, 34, 1, type);
	return writer;
}

/* Writes Schema: fields and metadata; one Field: name and type Binary; one KeyValue. */
static void
put_schema(uint8_t *at)
{
	static const uint16_t schema[] = { 0, 4, 8 };
	static const uint16_t field[] = { 4, 0, 12, 8 };
	static const uint16_t pair[] = { 4, 8 };
	FlatWriter writer = begin_message(at, SCHEMA_BYTES, HEADER_SCHEMA, 48, 0);

	/*
	 * Schema at 48: field 0, the endianness, is absent (little-endian); fields at 60, metadata at
	 * 68.
	 */
	put_vtable(writer, 36, 48, 12, schema, 3);
	put_offset(writer, 52, 60);
	put_offset(writer, 56, 68);
	flat_put(writer, 60, 4, 1); /* one field */
	put_offset(writer, 64, 88);
	flat_put(writer, 68, 4, 1); /* one pair of key and value */
	put_offset(writer, 72, 140);
	/* Field at 88: name at 112, not nullable, type Binary, whose table at 108 is empty. */
	put_vtable(writer, 76, 88, 16, field, 4);
	put_offset(writer, 92, 112);
	put_offset(writer, 96, 108);
	flat_put(writer, 100, 1, TYPE_BINARY);
	put_vtable(writer, 104, 108, 4, NULL, 0);
	stack_ids_put_text(writer, 112, "stacktrace_id");
	/* KeyValue at 140: key at 152, value at 184. The pair states the version of the schema. */
	put_vtable(writer, 132, 140, 12, pair, 2);
	put_offset(writer, 144, 152);
	put_offset(writer, 148, 184);
	stack_ids_put_text(writer, 152, "parca_write_schema_version");
	stack_ids_put_text(writer, 184, "v1");
}

static size_t
padded(size_t bytes)
{
	return (bytes + 7) / 8 * 8;
}

/*
 * Writes RecordBatch: its length; one node (length, nulls); three buffers: validity (none),
 * offsets, bytes.
 */
static void
put_records(uint8_t *at, uint32_t count, size_t text_bytes)
{
	static const uint16_t records[] = { 4, 12, 16 };
	size_t offset_bytes = ((size_t) count + 1) * sizeof(uint32_t);
	FlatWriter writer = begin_message(at, RECORDS_BYTES, HEADER_RECORDS, 52,
									  padded(offset_bytes) + padded(text_bytes));

	/* RecordBatch at 52: length, nodes at 76, buffers at 100 */
	put_vtable(writer, 36, 52, 20, records, 3);
	flat_put(writer, 56, 8, count);
	put_offset(writer, 64, 76);
	put_offset(writer, 68, 100);
	flat_put(writer, 76, 4, 1);
	flat_put(writer, 80, 8, count);
	/*
	 * Three buffers of 16 bytes (offset, length) from 104 on. The validity bitmap is empty, and
	 * calloc() has zeroed it.
	 */
	flat_put(writer, 100, 4, 3);
	flat_put(writer, 128, 8, offset_bytes);
	flat_put(writer, 136, 8, padded(offset_bytes));
	flat_put(writer, 144, 8, text_bytes);
}

uint8_t *
stack_ids_stream(const StackIds *ids, size_t *length)
{
	uint32_t count = ids->table.count;
	size_t offset_bytes = padded(((size_t) count + 1) * sizeof(uint32_t));
	size_t body_at = PREFIX_BYTES + SCHEMA_BYTES + PREFIX_BYTES + RECORDS_BYTES;
	size_t text_bytes = 0;
	uint32_t text_at = 0;
	FlatWriter offsets;
	uint8_t *bytes;

	/* 1. Determine the size, which all offsets depend on. */
	for (uint32_t i = 0; i < count; i++)
		text_bytes += ((const StackId *) table_item(&ids->table, i))->id.length;
	*length = body_at + offset_bytes + padded(text_bytes) + PREFIX_BYTES;
	bytes = calloc(1, *length);
	if (bytes == NULL)
		return NULL;
	/*
	 * 2. Write schema and record batch, then its body: offsets, the first of which is 0, and texts.
	 */
	put_schema(bytes);
	put_records(bytes + PREFIX_BYTES + SCHEMA_BYTES, count, text_bytes);
	offsets = (FlatWriter){ bytes + body_at };
	for (uint32_t i = 0; i < count; i++)
	{
		const StackId *item = table_item(&ids->table, i);

		memcpy(offsets.bytes + offset_bytes + text_at, item->id.bytes, item->id.length);
		/* the budget of the table keeps the sum far below 4 GB */
		text_at += (uint32_t) item->id.length;
		flat_put(offsets, ((size_t) i + 1) * sizeof(uint32_t), sizeof(uint32_t), text_at);
	}
	flat_put(offsets, offset_bytes + padded(text_bytes), 4, UINT32_MAX); /* the end of the stream */
	return bytes;
}
