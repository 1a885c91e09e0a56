/*
 * segment_input.c
 *		Fetches a segment's bytes from TOAST values when they are needed.
 *
 * 1. pfs_segment_open() reads the header of the rows from the directory row, and checks that the
 *    two agree. Tables of sums have headers of their own, which are read when the first part other
 *    than the rows is used.
 * 2. A column's streams are fetched with the column: from values of their own, or from slices of
 *    the one value that holds all streams.
 * 3. Fetched bytes stay as long as the input, because readers do not copy them.
 */
#include "store/segment/segment_input.h"

#include "access/detoast.h"
#include "access/toast_internals.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "store/segment/codec_server.h"

/* A part of the segment: the rows, or a table of sums. */
typedef struct InputPart
{
	PfsSegmentReader *reader; /* NULL if the segment lacks the part */
	uint32 first_stream;
	bool *loaded;		 /* for each stream of this part */
	const uint8 *packed; /* all streams of this part, once they have been fetched together */
} InputPart;

struct PfsSegmentInput
{
	Relation relation;
	const PfsSegmentRow *row;
	InputPart parts[PFS_PART_COUNT];
	bool has_summary; /* the parts other than the rows have been opened, if they exist */
};

/* Raises the error for a damaged directory row, found before any stream was read. */
static void
row_error(PfsSegmentInput *input, const char *message)
{
	PfsError error = { message, -1, 0 };

	pfs_segment_error(input->relation, input->row->segment_no, PFS_CORRUPT, &error);
}

/* Opens the reader of a part from its header. Returns its number of streams. */
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
	/* Streams are numbered through all parts of the segment, beginning with those of the rows. */
	stream_count = open_part(input, &input->parts[PFS_PART_ROWS], 0, VARDATA(row->header),
							 VARSIZE(row->header) - VARHDRSZ);
	if (pfs_reader_row_count(input->parts[PFS_PART_ROWS].reader) != (uint32) row->row_count)
		row_error(input, "directory and header disagree on the number of rows");
	/* With sums, the total is known only after their headers have been opened (open_summary()). */
	if (row->stream_ids != NULL && (row->summary == NULL ? row->stream_count != stream_count
														 : row->stream_count < stream_count))
		row_error(input, "directory and header disagree on the number of streams");
	if ((row->stream_ids == NULL) == (row->payload == NULL))
		row_error(input, "the directory must name either a payload or streams");
	return input;
}

/* Opens the tables of sums, unless they are open already. */
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

		/* The part's number has been read already: the loop condition leaves at least one byte. */
		if ((size_t) (end - next) < PFS_SUMMARY_PREFIX_BYTES)
			row_error(input, "the headers of sums are cut off");
		memcpy(&length, next + 1, sizeof(length));
		next += PFS_SUMMARY_PREFIX_BYTES;
		if (length > (size_t) (end - next))
			row_error(input, "the headers of sums are cut off");
		if (part <= PFS_PART_ROWS || part >= PFS_PART_COUNT || input->parts[part].reader != NULL)
			row_error(input, "a table of sums is of an unknown kind, or occurs twice");
		stream_count += open_part(input, &input->parts[part], stream_count, next, length);
		/* Sums may share their keys and sums with the groups of the rows. */
		pfs_reader_set_base(input->parts[part].reader, input->parts[PFS_PART_ROWS].reader);
		next += length;
	}
	/* the exact number of streams is known only now that all parts are open */
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
input_part_length(const InputPart *part)
{
	size_t length = 0;

	for (uint32 i = 0; part->reader != NULL && i < pfs_reader_stream_count(part->reader); i++)
		length += pfs_reader_stream_length(part->reader, i);
	return length;
}

/* Returns the offset of a part in the value of all streams, and checks the length of that value. */
static size_t
packed_offset(PfsSegmentInput *input, const InputPart *part)
{
	size_t offset = 0;
	size_t total = 0;

	open_summary(input);
	for (int i = 0; i < PFS_PART_COUNT; i++)
	{
		const InputPart *other = &input->parts[i];

		total += input_part_length(other);
		/* Parts lie in the value in the order of their first streams. */
		if (other->reader != NULL && other->first_stream < part->first_stream)
			offset += input_part_length(other);
	}
	if (total > MaxAllocSize ||
		toast_raw_datum_size(PointerGetDatum(input->row->payload)) - VARHDRSZ != total)
		row_error(input, "the payload has another length than its header says");
	return offset;
}

static const uint8 *
fetch_slice(PfsSegmentInput *input, size_t offset, size_t length)
{
	struct varlena *value = detoast_attr_slice(input->row->payload, (int32) offset, (int32) length);

	/* detoast_attr_slice() returns fewer bytes without an error if the value is shorter. */
	if (VARSIZE_ANY_EXHDR(value) != length)
		row_error(input, "the payload has another length than its header says");
	return (const uint8 *) VARDATA_ANY(value);
}

/*
 * Returns a stream of a packed segment. Of a small segment all streams of the part are fetched at
 * once; those of other parts are not, because rows and sums are seldom read together.
 */
static const uint8 *
packed_stream(PfsSegmentInput *input, InputPart *part, uint32 stream)
{
	size_t offset = 0;

	/* Streams of a part lie one after the other, so an offset is the sum of the lengths before. */
	for (uint32 i = 0; i < stream; i++)
		offset += pfs_reader_stream_length(part->reader, i);
	if (input->row->row_count > PFS_FETCHED_WHOLE_ROWS)
		return fetch_slice(input, packed_offset(input, part) + offset,
						   pfs_reader_stream_length(part->reader, stream));
	/* One fetch reads the TOAST index once, which for small streams costs more than their bytes. */
	if (part->packed == NULL)
		part->packed = fetch_slice(input, packed_offset(input, part), input_part_length(part));
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

/*
 * Builds a TOAST pointer to a value in the table's TOAST relation, of which only the id is stored:
 * values are saved whole and uncompressed. raw_bytes includes the length word.
 */
static struct varlena *
toast_reference(Relation relation, Oid value_id, size_t raw_bytes)
{
	struct varatt_external pointer = { .va_rawsize = (int32) raw_bytes,
									   .va_extinfo = (uint32) (raw_bytes - VARHDRSZ),
									   .va_valueid = value_id,
									   .va_toastrelid = relation->rd_rel->reltoastrelid };
	struct varlena *reference = palloc(TOAST_POINTER_SIZE);

	SET_VARTAG_EXTERNAL(reference, VARTAG_ONDISK);
	memcpy(VARDATA_EXTERNAL(reference), &pointer, sizeof(pointer));
	return reference;
}

struct varlena *
pfs_segment_stream_pointer(PfsSegmentInput *input, uint32 stream)
{
	size_t length = stream_length(input, stream);

	/* The length comes from the stored header. */
	if (length > MaxAllocSize - VARHDRSZ)
		row_error(input, "a stream is longer than a value can be");
	if (!OidIsValid(input->relation->rd_rel->reltoastrelid))
		row_error(input, "the table has lost its TOAST relation");
	return toast_reference(input->relation, input->row->stream_ids[stream], length + VARHDRSZ);
}

static const uint8 *
fetch_stream(PfsSegmentInput *input, uint32 stream)
{
	struct varlena *value = detoast_external_attr(pfs_segment_stream_pointer(input, stream));

	return (const uint8 *) VARDATA_ANY(value);
}

/*
 * Fetches a stream, from the directory row or from the TOAST relation. Returns its bytes; 0 if it
 * was loaded before.
 */
static uint64
load_stream(PfsSegmentInput *input, InputPart *part, int stream)
{
	PfsError error;
	PfsStatus status;
	const uint8 *bytes;
	size_t length;

	/* -1 stands for a stream that the column does not have. */
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
		/* report the number among the streams of all parts */
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

	/*
	 * Sums may be stored in the rows' streams, or relative to them, so those are loaded, too. Each
	 * stream counts when it is loaded first, so the result is the number of bytes that this call
	 * has fetched.
	 */
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

/* Deletes streams by value id alone, because the lengths in the header may be damaged. */
void
pfs_segment_delete_streams(Relation relation, const PfsSegmentRow *row)
{
	if (row->stream_ids == NULL || !OidIsValid(relation->rd_rel->reltoastrelid))
		return;
	for (uint32 i = 0; i < row->stream_count; i++)
		if (OidIsValid(row->stream_ids[i]))
			toast_delete_datum(relation,
							   PointerGetDatum(
								   toast_reference(relation, row->stream_ids[i], VARHDRSZ)),
							   false);
}
