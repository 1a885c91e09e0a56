/*
 * segment_write.c
 *		Encodes a segment, and places its bytes in TOAST values.
 */
#include "store/segment/segment_write.h"

#include "access/detoast.h"
#include "access/toast_internals.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "base/arrays.h"
#include "base/progress.h"
#include "store/segment/codec_server.h"
#include "store/segment/summary.h"

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

/* Saves a value in the table's TOAST relation. Returns its id. */
static Oid
save_value(Relation relation, struct varlena *value)
{
	/* Streams are compressed by the codec, so toast_compress_datum() is not called before. */
	Datum saved = toast_save_datum(relation, PointerGetDatum(value), NULL, 0);
	struct varatt_external pointer;

	VARATT_EXTERNAL_GET_POINTER(pointer, (struct varlena *) DatumGetPointer(saved));
	pfree(DatumGetPointer(saved));
	return pointer.va_valueid;
}

/* Saves every stream as a value of its own. InvalidOid stands for an empty stream. */
static Oid *
save_streams(Relation relation, const PfsBytes *streams, uint32 count)
{
	Oid *ids = palloc0(sizeof(Oid) * count);

	for (uint32 i = 0; i < count; i++)
	{
		struct varlena *value;

		/* A constant column without nulls has an empty stream: its value stands in the header. */
		if (streams[i].length == 0)
			continue;
		value = value_of(&streams[i]);
		ids[i] = save_value(relation, value);
		pfree(value);
	}
	return ids;
}

Oid
pfs_segment_move_stream(Relation relation, PfsSegmentInput *input, uint32 stream)
{
	struct varlena *pointer = pfs_segment_stream_pointer(input, stream);
	struct varlena *value = detoast_external_attr(pointer);
	Oid id = save_value(relation, value);

	toast_delete_datum(relation, PointerGetDatum(pointer), false);
	pfree(value);
	pfree(pointer);
	return id;
}

/* All encoded parts of a segment. */
typedef struct EncodedParts
{
	uint32 stream_count;
	uint32 stream_capacity;
	PfsBytes *streams;
	size_t byte_count;
	bytea *headers[PFS_PART_COUNT]; /* NULL: the segment has no such part */
} EncodedParts;

/* Encodes rows or a table of sums. Returns the bytes of its streams. */
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
	PFS_RESERVE(encoded->streams, encoded->stream_capacity,
				encoded->stream_count + segment.stream_count);
	for (uint32 i = 0; i < segment.stream_count; i++)
	{
		/*
		 * The streams belong to the memory context of the segment write, so pfs_segment_free() is
		 * not called.
		 */
		encoded->streams[encoded->stream_count++] = segment.streams[i];
		encoded->byte_count += segment.streams[i].length;
	}
	encoded->headers[part] = (bytea *) value_of(&segment.header);
	return (int64) (encoded->byte_count - before);
}

/* Opens a reader of a header that was just encoded. The header must outlive the reader. */
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

/* Joins the headers of the tables of sums into one value; NULL if there are none. */
static bytea *
join_headers(bytea *const *headers)
{
	Size length = 0;
	bytea *joined;
	char *end;

	for (int part = PFS_PART_ROWS + 1; part < PFS_PART_COUNT; part++)
		if (headers[part] != NULL)
			length += PFS_SUMMARY_PREFIX_BYTES + VARSIZE(headers[part]) - VARHDRSZ;
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
		/* Each header has a prefix: a byte with its part, and its length in four bytes. */
		*end++ = (char) part;
		memcpy(end, &header_length, sizeof(header_length));
		memcpy(end + sizeof(header_length), VARDATA(headers[part]), header_length);
		end += sizeof(header_length) + header_length;
	}
	return joined;
}

/*
 * Encodes the tables of sums. If is_shared is true, values that the rows already have are not
 * stored again.
 */
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

/* Returns the rows with wants_sums set on the columns whose group sums will be read. */
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

/* The effort of the encoder, and whether all streams of the segment are one value. */
typedef struct Manner
{
	int16 level;
	PfsEffort effort;
	bool packed;
} Manner;

/*
 * Encodes rows and sums, saves their streams, and inserts the directory row. Works in a memory
 * context of its own, because a writer may write many segments.
 */
static void
write_segment(Relation relation, int64 storage_id, PfsDirectoryWriter *writer, const PfsRows *rows,
			  CommandId command_id, Manner manner)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "profstore segment write",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext outer = MemoryContextSwitchTo(context);
	EncodedParts encoded = { 0 };
	bool has_summary = manner.level > 0;
	PfsSegmentRow row = { 0 };
	PfsRows marked = *rows;
	/* A table that had no TOAST relation before SET ACCESS METHOD does not get one. */
	bool packed = manner.packed || !OidIsValid(relation->rd_rel->reltoastrelid);
	/* a part that is fetched alone must be readable without the others */
	bool is_shared = !packed || rows->row_count > PFS_FETCHED_WHOLE_ROWS;

	/*
	 * A shared table of pairs takes its sums from the rows' stream of sums, so the rows must store
	 * it.
	 */
	if (has_summary && is_shared)
		marked = mark_summed(relation, rows);
	row.byte_count = encode_part(relation, &marked, manner.effort, PFS_PART_ROWS, &encoded);
	if (has_summary)
		encode_summary(relation, rows, is_shared, manner.effort, &row, &encoded);
	row.row_count = (int32) rows->row_count;
	row.level = manner.level;
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
	int16 level = rows->row_count <= PFS_SMALL_MAX_ROWS ? 0 : 1;

	/* compaction will encode all rows again, so the writer's time is worth more than bytes */
	write_segment(relation, storage_id, writer, rows, command_id,
				  (Manner){ level, PFS_EFFORT_FAST, true });
}

void
pfs_segment_write_merged(Relation relation, int64 storage_id, PfsDirectoryWriter *writer,
						 const PfsRows *rows, CommandId command_id, int16 level)
{
	/*
	 * Large segments of level 1 stay for a while and are encoded densely; otherwise they would
	 * dominate the size on disk.
	 */
	bool dense = level >= 2 || rows->row_count > PFS_QUICK_MAX_ROWS;

	write_segment(relation, storage_id, writer, rows, command_id,
				  (Manner){ level, dense ? PFS_EFFORT_DENSE : PFS_EFFORT_FAST, level < 2 });
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
