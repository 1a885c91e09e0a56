/*
 * segment_io.c
 *		Placing a segment's bytes in TOAST values, and fetching them again.
 */
#include "store/segment_io.h"

#include "access/detoast.h"
#include "access/toast_internals.h"
#include "utils/memutils.h"
#include "utils/rel.h"

struct PfsSegmentInput
{
	Relation relation;
	const PfsSegmentRow *row;
	PfsSegmentReader *reader;
	bool *loaded;		  /* per stream */
	const uint8 *packed;  /* all streams, once fetched; NULL where each has a value of its own */
	size_t packed_length; /* bytes of packed */
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

void
pfs_segment_error(Relation relation, int64 segment_no, PfsStatus status, const PfsError *error)
{
	const char *table = RelationGetRelationName(relation);

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
pack_streams(const PfsSegment *segment, size_t byte_count)
{
	struct varlena *value = new_value(byte_count);
	char *end = VARDATA(value);

	for (uint32 i = 0; i < segment->stream_count; i++)
	{
		if (segment->streams[i].length > 0)
			memcpy(end, segment->streams[i].data, segment->streams[i].length);
		end += segment->streams[i].length;
	}
	return value;
}

/*
 * Saves every stream in the table's TOAST relation; returns the values' ids, InvalidOid for an
 * empty stream.
 */
static Oid *
save_streams(Relation relation, const PfsSegment *segment)
{
	Oid *ids = palloc(sizeof(Oid) * segment->stream_count);

	for (uint32 i = 0; i < segment->stream_count; i++)
	{
		struct varlena *value;
		struct varatt_external pointer;
		Datum saved;

		ids[i] = InvalidOid;
		if (segment->streams[i].length == 0)
			continue;
		value = value_of(&segment->streams[i]);
		saved = toast_save_datum(relation, PointerGetDatum(value), NULL, 0);
		VARATT_EXTERNAL_GET_POINTER(pointer, (struct varlena *) DatumGetPointer(saved));
		ids[i] = pointer.va_valueid;
		pfree(DatumGetPointer(saved));
		pfree(value);
	}
	return ids;
}

static void
write_segment(Relation relation, int64 storage_id, PfsDirectoryWriter *writer, const PfsRows *rows,
			  CommandId command_id, int16 level, PfsEffort effort, bool packed)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "profstore segment write",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext outer = MemoryContextSwitchTo(context);
	PfsSegment segment;
	PfsError error;
	PfsStatus status;
	PfsSegmentRow row = { 0 };

	status = pfs_segment_encode(rows->columns, rows->column_count, rows->row_count, effort,
								pfs_palloc_allocator(context), &segment, &error);
	if (status != PFS_OK)
		pfs_segment_error(relation, 0, status, &error);

	for (uint32 i = 0; i < segment.stream_count; i++)
		row.byte_count += (int64) segment.streams[i].length;
	row.row_count = (int32) rows->row_count;
	row.level = level;
	row.time = rows->time;
	row.key = rows->key;
	row.header = (bytea *) value_of(&segment.header);
	row.stream_count = segment.stream_count;
	if (packed || !OidIsValid(relation->rd_rel->reltoastrelid))
		row.payload = pack_streams(&segment, (size_t) row.byte_count);
	else
		row.stream_ids = save_streams(relation, &segment);
	pfs_directory_insert(writer, storage_id, &row, command_id);

	MemoryContextSwitchTo(outer);
	MemoryContextDelete(context);
}

void
pfs_segment_write(Relation relation, int64 storage_id, PfsDirectoryWriter *writer,
				  const PfsRows *rows, CommandId command_id)
{
	bool small = rows->row_count <= PFS_PACKED_MAX_ROWS;

	write_segment(relation, storage_id, writer, rows, command_id, small ? 0 : 1,
				  small ? PFS_EFFORT_FAST : PFS_EFFORT_DENSE, small);
}

void
pfs_segment_write_merged(Relation relation, int64 storage_id, PfsDirectoryWriter *writer,
						 const PfsRows *rows, CommandId command_id, int16 level)
{
	bool final = level >= 2;

	write_segment(relation, storage_id, writer, rows, command_id, level,
				  final ? PFS_EFFORT_DENSE : PFS_EFFORT_FAST, !final);
}

/* A damaged directory row, found before any stream was read. */
static void
row_error(PfsSegmentInput *input, const char *message)
{
	PfsError error = { message, -1, 0 };

	pfs_segment_error(input->relation, input->row->segment_no, PFS_CORRUPT, &error);
}

PfsSegmentInput *
pfs_segment_open(Relation relation, const PfsSegmentRow *row)
{
	PfsSegmentInput *input = palloc0(sizeof(PfsSegmentInput));
	PfsError error;
	PfsStatus status;
	uint32 stream_count;

	input->relation = relation;
	input->row = row;
	status = pfs_reader_open((const uint8 *) VARDATA(row->header), VARSIZE(row->header) - VARHDRSZ,
							 pfs_palloc_allocator(CurrentMemoryContext), &input->reader, &error);
	if (status != PFS_OK)
		pfs_segment_error(relation, row->segment_no, status, &error);

	stream_count = pfs_reader_stream_count(input->reader);
	if (pfs_reader_row_count(input->reader) != (uint32) row->row_count)
		row_error(input, "directory and header disagree on the number of rows");
	if (row->stream_ids != NULL && row->stream_count != stream_count)
		row_error(input, "directory and header disagree on the number of streams");
	if ((row->stream_ids == NULL) == (row->payload == NULL))
		row_error(input, "the directory must name either a payload or streams");
	input->loaded = palloc0(sizeof(bool) * Max(stream_count, 1));
	return input;
}

PfsSegmentReader *
pfs_segment_reader(PfsSegmentInput *input)
{
	return input->reader;
}

static void
fetch_packed(PfsSegmentInput *input)
{
	struct varlena *value = detoast_attr(input->row->payload);
	size_t expected = 0;

	for (uint32 i = 0; i < pfs_reader_stream_count(input->reader); i++)
		expected += pfs_reader_stream_length(input->reader, i);
	input->packed = (const uint8 *) VARDATA_ANY(value);
	input->packed_length = VARSIZE_ANY_EXHDR(value);
	if (input->packed_length != expected)
		row_error(input, "the payload has another length than its header says");
}

static const uint8 *
packed_stream(PfsSegmentInput *input, uint32 stream)
{
	size_t offset = 0;

	if (input->packed == NULL)
		fetch_packed(input);
	for (uint32 i = 0; i < stream; i++)
		offset += pfs_reader_stream_length(input->reader, i);
	return input->packed + offset;
}

/* A pointer made here, as only the id is stored: values are saved whole and uncompressed. */
struct varlena *
pfs_segment_stream_pointer(PfsSegmentInput *input, uint32 stream)
{
	size_t length = pfs_reader_stream_length(input->reader, stream);
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
load_stream(PfsSegmentInput *input, int stream)
{
	PfsError error;
	PfsStatus status;
	const uint8 *bytes;
	size_t length;

	if (stream < 0 || input->loaded[stream])
		return 0;
	length = pfs_reader_stream_length(input->reader, (uint32) stream);
	if (length == 0)
		bytes = (const uint8 *) "";
	else if (input->row->stream_ids == NULL)
		bytes = packed_stream(input, (uint32) stream);
	else
		bytes = fetch_stream(input, (uint32) stream);
	status = pfs_reader_load_stream(input->reader, (uint32) stream, bytes, length, &error);
	if (status != PFS_OK)
		pfs_segment_error(input->relation, input->row->segment_no, status, &error);
	input->loaded[stream] = true;
	return length;
}

uint64
pfs_segment_load_column(PfsSegmentInput *input, int column)
{
	int values;
	int nulls;

	pfs_reader_column_streams(input->reader, column, &values, &nulls);
	return load_stream(input, values) + load_stream(input, nulls);
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
