/*
 * segment_io.c
 *		Placing a segment's bytes in TOAST values, and fetching them again.
 */
#include "store/segment/segment_io.h"

#include "access/detoast.h"
#include "access/toast_internals.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "base/progress.h"

/*
 * The headers of sums, in the directory row: for each table its part, the length of its header, and
 * the header.
 */
#define SUMMARY_PREFIX_BYTES (1 + sizeof(uint32))

/* Rows, or a table of sums. */
typedef struct InputPart
{
	PfsSegmentReader *reader; /* NULL: the segment lacks it */
	uint32 first_stream;
	bool *loaded;		 /* per stream of its own */
	const uint8 *packed; /* all its streams, once fetched; NULL where each has a value of its own */
} InputPart;

struct PfsSegmentInput
{
	Relation relation;
	const PfsSegmentRow *row;
	InputPart parts[PFS_PART_COUNT];
	bool has_summary; /* parts other than the rows are open, if there */
};

static void *
palloc_realloc(void *context, void *pointer, size_t bytes)
{
	if (bytes == 0)
	{
		if (pointer != NULL)
			pfree(pointer);
		return NULL;
	}
	if (pointer == NULL)
		return MemoryContextAllocExtended(context, bytes, MCXT_ALLOC_HUGE);
	return repalloc_huge(pointer, bytes);
}

PfsAllocator
pfs_palloc_allocator(MemoryContext context)
{
	PfsAllocator allocator = { palloc_realloc, context };

	return allocator;
}

/* Roll-ups are made again, so nothing needs to be restored. */
pg_noreturn static void
rollup_error(Relation relation, PfsStatus status, const PfsError *error)
{
	ereport(ERROR, (errcode(status == PFS_UNSUPPORTED ? ERRCODE_FEATURE_NOT_SUPPORTED
													  : ERRCODE_DATA_CORRUPTED),
					errmsg("cannot read a roll-up of table \"%s\": %s",
						   RelationGetRelationName(relation), error->message),
					errdetail("Stream %d, offset %zu.", error->stream, error->offset),
					errhint("Delete the rows of profstore.rollups: they are made again.")));
}

void
pfs_segment_error(Relation relation, int64 segment_no, PfsStatus status, const PfsError *error)
{
	const char *table = RelationGetRelationName(relation);

	if (segment_no == PFS_NO_SEGMENT && status != PFS_NO_MEMORY)
		rollup_error(relation, status, error);
	switch (status)
	{
		case PFS_UNSUPPORTED:
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("cannot read a segment of table \"%s\": %s", table, error->message),
					 errdetail("Segment %lld, stream %d.", (long long) segment_no, error->stream),
					 errhint("Install the version of profstore that wrote it, or a later one.")));
			break;
		case PFS_NO_MEMORY:
			ereport(ERROR,
					(errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory"),
					 errdetail("Segment %lld of table \"%s\".", (long long) segment_no, table)));
			break;
		case PFS_CORRUPT:
		case PFS_OK:
			break;
	}
	ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED),
					errmsg("a segment of table \"%s\" is damaged: %s", table, error->message),
					errdetail("Segment %lld, stream %d, offset %zu.", (long long) segment_no,
							  error->stream, error->offset),
					errhint("Restore the table from a backup or a standby.")));
}

static struct varlena *
new_value(size_t length)
{
	struct varlena *value = palloc(VARHDRSZ + length);

	SET_VARSIZE(value, VARHDRSZ + length);
	return value;
}

static struct varlena *
value_of(const PfsBytes *bytes)
{
	struct varlena *value = new_value(bytes->length);

	memcpy(VARDATA(value), bytes->data, bytes->length);
	return value;
}

static struct varlena *
pack_streams(const PfsBytes *streams, uint32 count, size_t byte_count)
{
	struct varlena *value = new_value(byte_count);
	char *end = VARDATA(value);

	for (uint32 i = 0; i < count; i++)
	{
		if (streams[i].length > 0)
			memcpy(end, streams[i].data, streams[i].length);
		end += streams[i].length;
	}
	return value;
}

/*
 * Saves every stream in the table's TOAST relation; returns the values' ids, InvalidOid for an
 * empty stream.
 */
static Oid *
save_streams(Relation relation, const PfsBytes *streams, uint32 count)
{
	Oid *ids = palloc(sizeof(Oid) * count);

	for (uint32 i = 0; i < count; i++)
	{
		struct varlena *value;
		struct varatt_external pointer;
		Datum saved;

		ids[i] = InvalidOid;
		if (streams[i].length == 0)
			continue;
		value = value_of(&streams[i]);
		saved = toast_save_datum(relation, PointerGetDatum(value), NULL, 0);
		VARATT_EXTERNAL_GET_POINTER(pointer, (struct varlena *) DatumGetPointer(saved));
		ids[i] = pointer.va_valueid;
		pfree(DatumGetPointer(saved));
		pfree(value);
	}
	return ids;
}

/* All parts of a segment, encoded. */
typedef struct EncodedParts
{
	uint32 stream_count;
	PfsBytes *streams;
	size_t byte_count;
	bytea *headers[PFS_PART_COUNT]; /* NULL: it has no such part */
} EncodedParts;

/* Encodes rows or sums; returns the bytes of their streams. */
static int64
encode_part(Relation relation, const PfsRows *rows, PfsEffort effort, PfsSegmentPart part,
			EncodedParts *encoded)
{
	size_t before = encoded->byte_count;
	PfsSegment segment;
	PfsError error;
	PfsStatus status =
		pfs_segment_encode(rows->columns, rows->column_count, rows->row_count, effort,
						   pfs_palloc_allocator(CurrentMemoryContext), &segment, &error);

	if (status != PFS_OK)
		pfs_segment_error(relation, PFS_NO_SEGMENT, status, &error);
	if (encoded->streams == NULL)
		encoded->streams = palloc(sizeof(PfsBytes) * Max(segment.stream_count, 1));
	else
		encoded->streams =
			repalloc(encoded->streams,
					 sizeof(PfsBytes) * Max(encoded->stream_count + segment.stream_count, 1));
	for (uint32 i = 0; i < segment.stream_count; i++)
	{
		encoded->streams[encoded->stream_count++] = segment.streams[i];
		encoded->byte_count += segment.streams[i].length;
	}
	encoded->headers[part] = (bytea *) value_of(&segment.header);
	return (int64) (encoded->byte_count - before);
}

/* A reader of a header that was just made; it must outlive the reader. */
static PfsSegmentReader *
open_encoded(Relation relation, const bytea *header)
{
	PfsSegmentReader *reader;
	PfsError error;
	PfsStatus status = pfs_reader_open((const uint8 *) VARDATA(header), VARSIZE(header) - VARHDRSZ,
									   pfs_palloc_allocator(CurrentMemoryContext), &reader, &error);

	if (status != PFS_OK)
		pfs_segment_error(relation, PFS_NO_SEGMENT, status, &error);
	return reader;
}

/* The headers of sums as one value, NULL where there are none. */
static bytea *
join_headers(bytea *const *headers)
{
	Size length = 0;
	bytea *joined;
	char *end;

	for (int part = PFS_PART_ROWS + 1; part < PFS_PART_COUNT; part++)
		if (headers[part] != NULL)
			length += SUMMARY_PREFIX_BYTES + VARSIZE(headers[part]) - VARHDRSZ;
	if (length == 0)
		return NULL;
	joined = (bytea *) new_value(length);
	end = VARDATA(joined);
	for (int part = PFS_PART_ROWS + 1; part < PFS_PART_COUNT; part++)
	{
		uint32 header_length;

		if (headers[part] == NULL)
			continue;
		header_length = VARSIZE(headers[part]) - VARHDRSZ;
		*end++ = (char) part;
		memcpy(end, &header_length, sizeof(header_length));
		memcpy(end + sizeof(header_length), VARDATA(headers[part]), header_length);
		end += sizeof(header_length) + header_length;
	}
	return joined;
}

/* Encodes the tables of sums; where rows are fetched with them, they share what is the same. */
static void
encode_summary(Relation relation, const PfsRows *rows, bool is_shared, PfsEffort effort,
			   PfsSegmentRow *row, EncodedParts *encoded)
{
	PfsSegmentReader *reader = open_encoded(relation, encoded->headers[PFS_PART_ROWS]);

	for (PfsSegmentPart part = PFS_PART_ROWS + 1; part < PFS_PART_COUNT; part++)
	{
		PfsRows sums;

		if (pfs_summary_make(relation, rows, part, pfs_summary_limit(part, rows->row_count),
							 is_shared ? reader : NULL, &sums))
			row->summary_byte_count += encode_part(relation, &sums, effort, part, encoded);
	}
	pfs_reader_close(reader);
	row->summary = join_headers(encoded->headers);
}

/* The rows, marked where sums of their groups are asked for later. */
static PfsRows
mark_summed(Relation relation, const PfsRows *rows)
{
	PfsRows marked = *rows;
	PfsColumn *columns = palloc(sizeof(PfsColumn) * Max(rows->column_count, 1));

	for (uint32 i = 0; i < rows->column_count; i++)
	{
		columns[i] = rows->columns[i];
		columns[i].wants_sums = pfs_summary_adds_up(relation, &columns[i]);
	}
	marked.columns = columns;
	return marked;
}

static void
write_segment(Relation relation, int64 storage_id, PfsDirectoryWriter *writer, const PfsRows *rows,
			  CommandId command_id, int16 level, PfsEffort effort, bool packed)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "profstore segment write",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext outer = MemoryContextSwitchTo(context);
	EncodedParts encoded = { 0 };
	bool has_summary = level > 0;
	PfsSegmentRow row = { 0 };
	PfsRows marked = *rows;

	packed |= !OidIsValid(relation->rd_rel->reltoastrelid);
	/* what lies in one value is fetched by parts, so they share nothing there */
	if (has_summary && !packed)
		marked = mark_summed(relation, rows);
	row.byte_count = encode_part(relation, &marked, effort, PFS_PART_ROWS, &encoded);
	if (has_summary)
		encode_summary(relation, rows, !packed, effort, &row, &encoded);
	row.row_count = (int32) rows->row_count;
	row.level = level;
	row.time = rows->time;
	row.key = rows->key;
	row.header = encoded.headers[PFS_PART_ROWS];
	row.stream_count = encoded.stream_count;
	if (packed)
		row.payload = pack_streams(encoded.streams, encoded.stream_count, encoded.byte_count);
	else
		row.stream_ids = save_streams(relation, encoded.streams, encoded.stream_count);
	pfs_directory_insert(writer, storage_id, &row, command_id);
	pfs_progress_add(PFS_PROGRESS_BYTES_WRITTEN, row.byte_count);

	MemoryContextSwitchTo(outer);
	MemoryContextDelete(context);
}

void
pfs_segment_write(Relation relation, int64 storage_id, PfsDirectoryWriter *writer,
				  const PfsRows *rows, CommandId command_id)
{
	bool small = rows->row_count <= PFS_PACKED_MAX_ROWS;

	/* compaction encodes all rows once more: here the writer's time counts */
	write_segment(relation, storage_id, writer, rows, command_id, small ? 0 : 1, PFS_EFFORT_FAST,
				  small);
}

void
pfs_segment_write_merged(Relation relation, int64 storage_id, PfsDirectoryWriter *writer,
						 const PfsRows *rows, CommandId command_id, int16 level)
{
	bool final = level >= 2;

	write_segment(relation, storage_id, writer, rows, command_id, level,
				  final ? PFS_EFFORT_DENSE : PFS_EFFORT_FAST, !final);
}

void
pfs_segment_encode_apart(Relation relation, const PfsRows *rows, bytea **header,
						 struct varlena **payload)
{
	size_t byte_count = 0;
	PfsSegment segment;
	PfsError error;
	PfsStatus status =
		pfs_segment_encode(rows->columns, rows->column_count, rows->row_count, PFS_EFFORT_DENSE,
						   pfs_palloc_allocator(CurrentMemoryContext), &segment, &error);

	if (status != PFS_OK)
		pfs_segment_error(relation, PFS_NO_SEGMENT, status, &error);
	for (uint32 i = 0; i < segment.stream_count; i++)
		byte_count += segment.streams[i].length;
	*header = (bytea *) value_of(&segment.header);
	*payload = pack_streams(segment.streams, segment.stream_count, byte_count);
}

/* A damaged directory row, found before any stream was read. */
static void
row_error(PfsSegmentInput *input, const char *message)
{
	PfsError error = { message, -1, 0 };

	pfs_segment_error(input->relation, input->row->segment_no, PFS_CORRUPT, &error);
}

/* Opens the reader of a part whose header this is; returns its number of streams. */
static uint32
open_part(PfsSegmentInput *input, InputPart *part, uint32 first_stream, const char *header,
		  size_t length)
{
	PfsError error;
	PfsStatus status;
	uint32 stream_count;

	status =
		pfs_reader_open((const uint8 *) header, length,
						pfs_palloc_allocator(GetMemoryChunkContext(input)), &part->reader, &error);
	if (status != PFS_OK)
		pfs_segment_error(input->relation, input->row->segment_no, status, &error);
	stream_count = pfs_reader_stream_count(part->reader);
	part->first_stream = first_stream;
	part->loaded =
		MemoryContextAllocZero(GetMemoryChunkContext(input), sizeof(bool) * Max(stream_count, 1));
	return stream_count;
}

PfsSegmentInput *
pfs_segment_open(Relation relation, const PfsSegmentRow *row)
{
	PfsSegmentInput *input = palloc0(sizeof(PfsSegmentInput));
	uint32 stream_count;

	input->relation = relation;
	input->row = row;
	stream_count = open_part(input, &input->parts[PFS_PART_ROWS], 0, VARDATA(row->header),
							 VARSIZE(row->header) - VARHDRSZ);
	if (pfs_reader_row_count(input->parts[PFS_PART_ROWS].reader) != (uint32) row->row_count)
		row_error(input, "directory and header disagree on the number of rows");
	if (row->stream_ids != NULL && (row->summary == NULL ? row->stream_count != stream_count
														 : row->stream_count < stream_count))
		row_error(input, "directory and header disagree on the number of streams");
	if ((row->stream_ids == NULL) == (row->payload == NULL))
		row_error(input, "the directory must name either a payload or streams");
	return input;
}

/* Opens the tables of sums, once. */
static void
open_summary(PfsSegmentInput *input)
{
	const bytea *summary = input->row->summary;
	uint32 stream_count = pfs_reader_stream_count(input->parts[PFS_PART_ROWS].reader);
	const char *next;
	const char *end;

	if (input->has_summary)
		return;
	input->has_summary = true;
	if (summary == NULL)
		return;
	next = VARDATA(summary);
	end = (const char *) summary + VARSIZE(summary);
	while (next < end)
	{
		int part = (unsigned char) *next;
		uint32 length;

		if ((size_t) (end - next) < SUMMARY_PREFIX_BYTES)
			row_error(input, "the headers of sums are cut off");
		memcpy(&length, next + 1, sizeof(length));
		next += SUMMARY_PREFIX_BYTES;
		if (length > (size_t) (end - next))
			row_error(input, "the headers of sums are cut off");
		if (part <= PFS_PART_ROWS || part >= PFS_PART_COUNT || input->parts[part].reader != NULL)
			row_error(input, "a table of sums is of no known kind, or there twice");
		stream_count += open_part(input, &input->parts[part], stream_count, next, length);
		pfs_reader_set_base(input->parts[part].reader, input->parts[PFS_PART_ROWS].reader);
		next += length;
	}
	if (input->row->stream_ids != NULL && input->row->stream_count != stream_count)
		row_error(input, "directory and headers disagree on the number of streams");
}

PfsSegmentReader *
pfs_segment_part_reader(PfsSegmentInput *input, PfsSegmentPart part)
{
	if (part != PFS_PART_ROWS)
		open_summary(input);
	return input->parts[part].reader;
}

PfsSegmentReader *
pfs_segment_reader(PfsSegmentInput *input)
{
	return pfs_segment_part_reader(input, PFS_PART_ROWS);
}

uint32
pfs_segment_first_stream(PfsSegmentInput *input, PfsSegmentPart part)
{
	return pfs_segment_part_reader(input, part) == NULL ? 0 : input->parts[part].first_stream;
}

static size_t
part_length(const InputPart *part)
{
	size_t length = 0;

	for (uint32 i = 0; part->reader != NULL && i < pfs_reader_stream_count(part->reader); i++)
		length += pfs_reader_stream_length(part->reader, i);
	return length;
}

/* Brings in the bytes of one part alone: rows and sums are seldom read together. */
static void
fetch_packed(PfsSegmentInput *input, InputPart *part)
{
	size_t offset = 0;
	size_t total = 0;
	size_t length = part_length(part);
	struct varlena *value;

	open_summary(input);
	for (int i = 0; i < PFS_PART_COUNT; i++)
	{
		const InputPart *other = &input->parts[i];

		total += part_length(other);
		if (other->reader != NULL && other->first_stream < part->first_stream)
			offset += part_length(other);
	}
	if (total > MaxAllocSize ||
		toast_raw_datum_size(PointerGetDatum(input->row->payload)) - VARHDRSZ != total)
		row_error(input, "the payload has another length than its header says");
	value = detoast_attr_slice(input->row->payload, (int32) offset, (int32) length);
	part->packed = (const uint8 *) VARDATA_ANY(value);
	if (VARSIZE_ANY_EXHDR(value) != length)
		row_error(input, "the payload has another length than its header says");
}

static const uint8 *
packed_stream(PfsSegmentInput *input, InputPart *part, uint32 stream)
{
	size_t offset = 0;

	if (part->packed == NULL)
		fetch_packed(input, part);
	for (uint32 i = 0; i < stream; i++)
		offset += pfs_reader_stream_length(part->reader, i);
	return part->packed + offset;
}

static size_t
stream_length(PfsSegmentInput *input, uint32 stream)
{
	open_summary(input);
	for (int i = 0; i < PFS_PART_COUNT; i++)
	{
		const InputPart *part = &input->parts[i];

		if (part->reader != NULL && stream >= part->first_stream &&
			stream - part->first_stream < pfs_reader_stream_count(part->reader))
			return pfs_reader_stream_length(part->reader, stream - part->first_stream);
	}
	elog(ERROR, "segment %lld has no stream %u", (long long) input->row->segment_no, stream);
}

/* A pointer made here, as only the id is stored: values are saved whole and uncompressed. */
struct varlena *
pfs_segment_stream_pointer(PfsSegmentInput *input, uint32 stream)
{
	size_t length = stream_length(input, stream);
	struct varatt_external pointer;
	struct varlena *reference = palloc(TOAST_POINTER_SIZE);

	if (length > MaxAllocSize - VARHDRSZ)
		row_error(input, "a stream is longer than a value can be");
	pointer.va_rawsize = (int32) (length + VARHDRSZ);
	pointer.va_extinfo = (uint32) length;
	pointer.va_valueid = input->row->stream_ids[stream];
	pointer.va_toastrelid = input->relation->rd_rel->reltoastrelid;
	if (!OidIsValid(pointer.va_toastrelid))
		row_error(input, "the table has lost its TOAST relation");
	SET_VARTAG_EXTERNAL(reference, VARTAG_ONDISK);
	memcpy(VARDATA_EXTERNAL(reference), &pointer, sizeof(pointer));
	return reference;
}

static const uint8 *
fetch_stream(PfsSegmentInput *input, uint32 stream)
{
	struct varlena *value = detoast_external_attr(pfs_segment_stream_pointer(input, stream));

	return (const uint8 *) VARDATA_ANY(value);
}

static uint64
load_stream(PfsSegmentInput *input, InputPart *part, int stream)
{
	PfsError error;
	PfsStatus status;
	const uint8 *bytes;
	size_t length;

	if (stream < 0 || part->loaded[stream])
		return 0;
	length = pfs_reader_stream_length(part->reader, (uint32) stream);
	if (length == 0)
		bytes = (const uint8 *) "";
	else if (input->row->stream_ids == NULL)
		bytes = packed_stream(input, part, (uint32) stream);
	else
		bytes = fetch_stream(input, part->first_stream + (uint32) stream);
	status = pfs_reader_load_stream(part->reader, (uint32) stream, bytes, length, &error);
	if (status != PFS_OK)
	{
		error.stream += (int) part->first_stream;
		pfs_segment_error(input->relation, input->row->segment_no, status, &error);
	}
	part->loaded[stream] = true;
	return length;
}

uint64
pfs_segment_load_part_column(PfsSegmentInput *input, PfsSegmentPart part, int column)
{
	InputPart *loaded = &input->parts[part];
	InputPart *base = &input->parts[PFS_PART_ROWS];
	int values;
	int nulls;
	int base_values;
	int base_groups;

	pfs_reader_column_streams(loaded->reader, column, &values, &nulls);
	pfs_reader_base_streams(loaded->reader, column, &base_values, &base_groups);
	return load_stream(input, loaded, values) + load_stream(input, loaded, nulls) +
		   load_stream(input, loaded, pfs_reader_sums_stream(loaded->reader, column)) +
		   load_stream(input, loaded, pfs_reader_measure_stream(loaded->reader, column)) +
		   load_stream(input, loaded, pfs_reader_groups_stream(loaded->reader)) +
		   load_stream(input, base, base_values) + load_stream(input, base, base_groups);
}

uint64
pfs_segment_load_column(PfsSegmentInput *input, int column)
{
	return pfs_segment_load_part_column(input, PFS_PART_ROWS, column);
}

void
pfs_segment_delete_streams(Relation relation, const PfsSegmentRow *row)
{
	PfsSegmentInput *input;

	if (row->stream_ids == NULL)
		return;
	input = pfs_segment_open(relation, row);
	for (uint32 i = 0; i < row->stream_count; i++)
		if (OidIsValid(row->stream_ids[i]))
			toast_delete_datum(relation, PointerGetDatum(pfs_segment_stream_pointer(input, i)),
							   false);
}
