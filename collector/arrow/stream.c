/*
 * stream.c
 *		Reads the messages of a stream.
 */
#include "arrow/stream.h"

#define CONTINUATION		UINT32_C(0xFFFFFFFF)
#define PREFIX_BYTES		8
#define MESSAGE_HEADER_TYPE 1
#define MESSAGE_HEADER		2
#define MESSAGE_BODY_LENGTH 3
#define HEADER_SCHEMA		1
#define HEADER_DICTIONARY	2
#define HEADER_RECORDS		3
#define DICTIONARY_ID		0
#define DICTIONARY_DATA		1
#define DICTIONARY_IS_DELTA 2
#define RECORDS_LENGTH		0
#define RECORDS_NODES		1
#define RECORDS_BUFFERS		2
#define RECORDS_COMPRESSION 3
#define RECORDS_VARIADIC	4
#define COMPRESSION_CODEC	0
#define COMPRESSION_METHOD	1
#define PAIR_BYTES			16 /* size of a node or a buffer: two 64-bit numbers */

typedef struct IpcMessage
{
	unsigned type;
	FlatTable header;
	Span body;
} IpcMessage;

static bool
stream_fail(ArrowStream *stream, const char *error)
{
	stream->error = error;
	return false;
}

static bool
stream_out_of_memory(ArrowStream *stream)
{
	stream->is_out_of_memory = true;
	return false;
}

void
arrow_stream_open(ArrowStream *stream, Span bytes, Arena *arena)
{
	*stream = (ArrowStream){ .bytes = bytes, .arena = arena };
}

/* Reads the next message. Returns false at the end of the stream and on errors. */
static bool
next_message(ArrowStream *stream, IpcMessage *message)
{
	Span rest = { stream->bytes.bytes + stream->at, stream->bytes.length - stream->at };
	FlatTable root;
	Span metadata;
	uint64_t body;

	if (rest.length == 0)
		return false;
	/* Streams of Arrow before 0.15 have no continuation marker; agents send newer ones. */
	if (rest.length < PREFIX_BYTES || little_endian(rest.bytes, 4) != CONTINUATION)
		return stream_fail(stream, "the bytes are not an Arrow stream");
	metadata = (Span){ rest.bytes + PREFIX_BYTES, little_endian(rest.bytes + 4, 4) };
	/* the marker of the end; bytes after it are ignored */
	if (metadata.length == 0)
		return false;
	if (metadata.length > rest.length - PREFIX_BYTES)
		return stream_fail(stream, "the stream ends within a message");
	rest.bytes += PREFIX_BYTES + metadata.length;
	rest.length -= PREFIX_BYTES + metadata.length;
	if (!flat_root(metadata, &root) || !flat_table(&root, MESSAGE_HEADER, &message->header))
		return stream_fail(stream, "a message has no header that can be read");
	body = flat_number(&root, MESSAGE_BODY_LENGTH, 8);
	if (body > rest.length)
		return stream_fail(stream, "the stream ends within the body of a message");
	message->type = (unsigned) flat_number(&root, MESSAGE_HEADER_TYPE, 1);
	message->body = (Span){ rest.bytes, body };
	/* Bodies are padded to 8 bytes by their writer, and their size includes the padding. */
	stream->at = (size_t) (rest.bytes - stream->bytes.bytes) + body;
	return true;
}

/* --- batches --- */

/* Finds the lists of arrays and buffers in a message's table. */
static bool
open_batch(ArrowStream *stream, const FlatTable *table, Span body, ArrowBatch *batch)
{
	FlatTable compression;

	*batch = (ArrowBatch){
		.schema = &stream->schema, .arena = stream->arena, .body = body, .codec = ARROW_PLAIN
	};
	/*
	 * An absent vector is empty; loading a column then reports that arrays or buffers are missing.
	 */
	flat_vector(table, RECORDS_NODES, PAIR_BYTES, &batch->nodes);
	flat_vector(table, RECORDS_BUFFERS, PAIR_BYTES, &batch->buffers);
	flat_vector(table, RECORDS_VARIADIC, sizeof(int64_t), &batch->variadic);
	if (!flat_table(table, RECORDS_COMPRESSION, &compression))
		return true;
	batch->codec = (int) flat_number(&compression, COMPRESSION_CODEC, 1);
	/* method 0 compresses each buffer, the only method that Arrow defines */
	if (batch->codec > ARROW_ZSTD || flat_number(&compression, COMPRESSION_METHOD, 1) != 0)
		return stream_fail(stream, "the compression of buffers is not supported");
	return true;
}

static bool
load_array(ArrowStream *stream, ArrowBatch *batch, const ArrowField *field, bool is_values,
		   ArrowArray *array)
{
	if (arrow_array_load(batch, field, is_values, array))
		return true;
	/* a failure without an error text means out of memory */
	return batch->error != NULL ? stream_fail(stream, batch->error) : stream_out_of_memory(stream);
}

/* Reads the values of a dictionary. */
static bool
arrow_dictionary_read(ArrowStream *stream, const IpcMessage *message)
{
	int64_t id = (int64_t) flat_number(&message->header, DICTIONARY_ID, 8);
	ArrowDictionary *dictionary = arrow_schema_dictionary(&stream->schema, id);
	FlatTable data;
	ArrowBatch batch;
	ArrowArray *values;

	if (dictionary == NULL || !flat_table(&message->header, DICTIONARY_DATA, &data))
		return stream_fail(stream, "a dictionary is not in the schema, or has no values");
	if (flat_number(&message->header, DICTIONARY_IS_DELTA, 1) != 0)
		return stream_fail(stream, "delta dictionaries are not supported");
	values = arena_alloc(stream->arena, sizeof(ArrowArray));
	if (values == NULL)
		return stream_out_of_memory(stream);
	if (!open_batch(stream, &data, message->body, &batch) ||
		!load_array(stream, &batch, dictionary->field, true, values))
		return false;
	/* replaces the values of an earlier message with this id, as the format demands */
	dictionary->values = values;
	return true;
}

/*
 * Drops the reader's results for items, which are valid only for one record batch and its
 * dictionaries.
 */
static void
forget_memos(ArrowArray *array)
{
	/*
	 * A location with a memo must have an entry in StackReader.origins, which ends with its record
	 * batch.
	 */
	array->memo = NULL;
	for (uint32_t i = 0; array->children != NULL && i < array->field->child_count; i++)
		forget_memos(&array->children[i]);
}

static void
forget_old_memos(const ArrowSchema *schema)
{
	for (uint32_t i = 0; i < schema->dictionary_count; i++)
		if (schema->dictionaries[i].values != NULL)
			forget_memos(schema->dictionaries[i].values);
}

/* Loads the columns of a record batch. */
static bool
read_records(ArrowStream *stream, const IpcMessage *message)
{
	const ArrowSchema *schema = &stream->schema;
	uint64_t rows = flat_number(&message->header, RECORDS_LENGTH, 8);
	ArrowBatch batch;

	if (rows > ARROW_LENGTH_MAX)
		return stream_fail(stream, "a record batch has too many rows");
	/* columns are new arrays without memos; dictionaries stay from one record batch to the next */
	forget_old_memos(schema);
	stream->rows = (uint32_t) rows;
	stream->columns = arena_alloc(stream->arena, (schema->column_count + 1) * sizeof(ArrowArray));
	if (stream->columns == NULL)
		return stream_out_of_memory(stream);
	if (!open_batch(stream, &message->header, message->body, &batch))
		return false;
	for (uint32_t i = 0; i < schema->column_count; i++)
	{
		if (!load_array(stream, &batch, &schema->columns[i], false, &stream->columns[i]))
			return false;
		/* readers use row numbers as items of every column */
		if (stream->columns[i].length != rows)
			return stream_fail(stream, "a column has more or fewer items than rows");
	}
	return true;
}

static bool
read_schema(ArrowStream *stream, const IpcMessage *message)
{
	const char *error;

	if (stream->has_schema)
		return stream_fail(stream, "the stream has a second schema");
	error = arrow_schema_read(&message->header, stream->arena, &stream->schema);
	stream->has_schema = true;
	return error == NULL || stream_fail(stream, error);
}

bool
arrow_stream_next(ArrowStream *stream)
{
	IpcMessage message;

	/*
	 * Schema and dictionaries only change the stream; the loop ends at the next record batch, the
	 * end, or an error.
	 */
	while (stream->error == NULL && !stream->is_out_of_memory && next_message(stream, &message))
	{
		if (message.type == HEADER_SCHEMA)
			read_schema(stream, &message);
		else if (!stream->has_schema)
			stream_fail(stream, "the stream does not begin with a schema");
		else if (message.type == HEADER_DICTIONARY)
			arrow_dictionary_read(stream, &message);
		else if (message.type == HEADER_RECORDS)
			return read_records(stream, &message);
		else
			stream_fail(stream, "a message is neither schema nor dictionary nor records");
	}
	return false;
}

ArrowArray *
arrow_column(const ArrowStream *stream, const char *name)
{
	for (uint32_t i = 0; i < stream->schema.column_count; i++)
		if (arrow_field_is(&stream->schema.columns[i], name))
			return &stream->columns[i];
	return NULL;
}
