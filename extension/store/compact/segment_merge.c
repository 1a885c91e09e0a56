/*
 * segment_merge.c
 *		k-way merge of sorted segments: a heap of inputs, and a buffer of rows that becomes the
 *		output.
 *
 * An input is opened when its first row is needed and closed after its last: a table without an
 * order has one open at a time. Before rows are written they are sorted again. That only checks
 * their order, unless a column was renamed or added after the inputs were written, so that their
 * order is another.
 *
 * 1. Every input decodes one block at a time, with all of the table's columns; missing ones are
 *    filled in.
 * 2. The first input of the heap gives its row and moves on, until the buffer has the rows of an
 *    output. Outputs have about equal size.
 * 3. The rows are written as one segment, or as one for each bucket of time.
 */
#include "store/compact/segment_merge.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "base/arrays.h"
#include "base/progress.h"
#include "codec/segment.h"
#include "store/segment/codec_server.h"
#include "store/segment/row_buffer.h"
#include "store/segment/row_order.h"
#include "store/segment/segment_input.h"
#include "store/segment/segment_write.h"
#include "store/segment/storage.h"

/*
 * Measured memory of a stream's decoder, before and after it has unpacked its first stripe of
 * planes.
 */
#define DECODER_BYTES		 (38 * 1024)
#define DECODER_PLANES_BYTES (330 * 1024)
#define DECODER_BLOCK_BYTES	 96
#define INPUT_BYTES			 (8 * 1024)

#define KEY_PARTS 3

/* A column of the table, in the form that it has for all inputs. */
typedef struct MergeColumn
{
	AttrNumber attnum;
	PfsValueKind kind;
	bool missing_is_null; /* the value is null in inputs that lack the column */
	int64 missing_value;
} MergeColumn;

typedef struct InputColumn
{
	int position; /* position of the column in the segment; -1 if the segment lacks it */
	int64 *values;
	bool *nulls; /* always filled in; the value of a null is 0 */
	bool has_nulls;
} InputColumn;

typedef struct MergeInput
{
	uint32 number;
	const PfsSegmentRow *row;
	MemoryContext context; /* NULL: not open */
	PfsSegmentInput *segment;
	InputColumn *columns;
	uint32 block; /* number of the decoded block */
	uint32 block_rows;
	uint32 at; /* current row within the block */
	int64 key[KEY_PARTS];
} MergeInput;

typedef struct Merge
{
	Relation relation;
	int64 storage_id;
	PfsDirectoryWriter *writer;
	const PfsMergeSpec *spec;
	PfsRowKey row_key;
	uint32 column_count;
	MergeColumn *columns;
	int key_columns[KEY_PARTS]; /* positions in columns */
	bool is_ordered;
	uint32 heap_count;
	MergeInput **heap; /* the least input first; no child is less than its parent */
	PfsRowBuffer rows;
	uint32 output_rows;
	uint32 written_count;
} Merge;

int64
pfs_time_bucket(int64 time, int64 width)
{
	int64 bucket = time / width;

	/* C rounds towards zero, but buckets of negative times must be rounded down, too. */
	return time % width < 0 ? bucket - 1 : bucket;
}

Size
pfs_merge_input_bytes(const PfsSegmentRow *row, uint32 column_count)
{
	Size rows = (Size) row->row_count;
	Size column = Min(rows, PFS_BLOCK_ROWS) * (sizeof(int64) + sizeof(bool));

	/* Segments without bytes have constant columns only, whose streams have no decoder. */
	if (row->byte_count > 0)
		column += DECODER_BYTES + rows / PFS_BLOCK_ROWS * DECODER_BLOCK_BYTES;
	/* larger segments are encoded with planes, whose decoder needs a stripe */
	if (rows > (row->level == 1 ? PFS_QUICK_MAX_ROWS : PFS_SMALL_MAX_ROWS))
		column += DECODER_PLANES_BYTES;
	return INPUT_BYTES + (Size) row->byte_count + column * column_count;
}

/*
 * Finds the columns of the result, and those of the sort key, without all of which rows are not
 * ordered.
 */
static void
merge_init_columns(Merge *merge)
{
	AttrNumber key[KEY_PARTS] = { merge->row_key.series, merge->row_key.stack,
								  merge->row_key.time };

	merge->columns = palloc0(sizeof(MergeColumn) * merge->rows.column_count);
	merge->column_count = merge->rows.column_count;
	merge->is_ordered = true;
	/* A table that lacks a key column keeps the order of insertion. */
	for (int part = 0; part < KEY_PARTS; part++)
		merge->is_ordered &= key[part] != InvalidAttrNumber;
	for (uint32 i = 0; i < merge->column_count; i++)
	{
		MergeColumn *column = &merge->columns[i];

		column->attnum = merge->rows.columns[i].attnum;
		column->kind = merge->rows.columns[i].kind;
		column->missing_is_null =
			!pfs_storage_missing_value(merge->relation, column->attnum, &column->missing_value);
		for (int part = 0; part < KEY_PARTS; part++)
			if (key[part] == column->attnum)
				merge->key_columns[part] = (int) i;
	}
}

/*
 * Decodes a column of the input's current block. A column that was added after the segment was
 * written gets its missing value.
 */
static void
merge_decode_column(const Merge *merge, MergeInput *input, uint32 number)
{
	const MergeColumn *column = &merge->columns[number];
	InputColumn *source = &input->columns[number];
	PfsError error;
	PfsStatus status;

	if (source->position < 0)
	{
		for (uint32 i = 0; i < input->block_rows; i++)
			source->values[i] =
				/* 0 for nulls, so that equal rows sort alike whatever input they come from. */
				column->missing_is_null ? 0 : pfs_value_native(column->kind, column->missing_value);
		memset(source->nulls, column->missing_is_null, input->block_rows);
		source->has_nulls = column->missing_is_null;
		return;
	}
	status = pfs_reader_block(pfs_segment_reader(input->segment), source->position, input->block,
							  source->values, source->nulls, &source->has_nulls, &error);
	if (status != PFS_OK)
		pfs_segment_error(merge->relation, input->row->segment_no, status, &error);
	/* The codec leaves the values of nulls unspecified; the key must not depend on them. */
	for (uint32 i = 0; i < input->block_rows && source->has_nulls; i++)
		if (source->nulls[i])
			source->values[i] = 0;
	/*
	 * ALTER TABLE may have changed the column's type without a rewrite, which leaves values in
	 * another form
	 */
	for (uint32 i = 0; i < input->block_rows && pfs_value_width(column->kind) == 4; i++)
		source->values[i] = pfs_value_native(column->kind, source->values[i]);
}

static void
set_key(const Merge *merge, MergeInput *input)
{
	for (int part = 0; part < KEY_PARTS && merge->is_ordered; part++)
		input->key[part] = input->columns[merge->key_columns[part]].values[input->at];
}

static void
merge_decode_block(const Merge *merge, MergeInput *input)
{
	uint32 first = input->block * PFS_BLOCK_ROWS;

	CHECK_FOR_INTERRUPTS();
	input->block_rows = Min(PFS_BLOCK_ROWS, (uint32) input->row->row_count - first);
	input->at = 0;
	for (uint32 i = 0; i < merge->column_count; i++)
		merge_decode_column(merge, input, i);
	set_key(merge, input);
}

/* Opens a segment as input of the merge, loads its columns and decodes the first block. */
static void
open_input(const Merge *merge, MergeInput *input)
{
	Size room = Min((Size) input->row->row_count, PFS_BLOCK_ROWS);
	MemoryContext outer;

	input->context =
		AllocSetContextCreate(CurrentMemoryContext, "profstore merge input", ALLOCSET_SMALL_SIZES);
	/* All that the input allocates is freed when its last row has been taken. */
	outer = MemoryContextSwitchTo(input->context);
	input->segment = pfs_segment_open(merge->relation, input->row);
	input->columns = palloc0(sizeof(InputColumn) * merge->column_count);
	for (uint32 i = 0; i < merge->column_count; i++)
	{
		InputColumn *source = &input->columns[i];

		source->values = palloc(sizeof(int64) * room);
		source->nulls = palloc0(sizeof(bool) * room);
		source->position =
			pfs_reader_find_column(pfs_segment_reader(input->segment), merge->columns[i].attnum);
		if (source->position >= 0)
			/* Streams are loaded whole: a merge reads every block of every column. */
			pfs_segment_load_column(input->segment, source->position);
	}
	input->block = 0;
	merge_decode_block(merge, input);
	MemoryContextSwitchTo(outer);
}

/* Moves on to the next row. After the last one, closes the input and returns false. */
static bool
advance_input(const Merge *merge, MergeInput *input)
{
	if (++input->at < input->block_rows)
	{
		set_key(merge, input);
		return true;
	}
	if ((input->block + 1) * PFS_BLOCK_ROWS < (uint32) input->row->row_count)
	{
		/* Decoders allocate their buffers with the first block that needs them. */
		MemoryContext outer = MemoryContextSwitchTo(input->context);

		input->block++;
		merge_decode_block(merge, input);
		MemoryContextSwitchTo(outer);
		return true;
	}
	MemoryContextDelete(input->context);
	input->context = NULL;
	return false;
}

static inline bool
is_before(const MergeInput *a, const MergeInput *b)
{
	for (int part = 0; part < KEY_PARTS; part++)
		if (a->key[part] != b->key[part])
			return a->key[part] < b->key[part];
	/* equal keys keep the order of the inputs */
	return a->number < b->number;
}

/*
 * Restores the heap below parent. Hand-written, because it runs once per row: lib/binaryheap.h
 * would cost a compaction 4 % more.
 */
static void
sift_down(Merge *merge, uint32 parent)
{
	MergeInput *moved = merge->heap[parent];

	for (;;)
	{
		uint32 child = 2 * parent + 1;

		if (child >= merge->heap_count)
			break;
		/* The lesser child moves up, so that it is not greater than its new sibling. */
		if (child + 1 < merge->heap_count && is_before(merge->heap[child + 1], merge->heap[child]))
			child++;
		if (!is_before(merge->heap[child], moved))
			break;
		merge->heap[parent] = merge->heap[child];
		parent = child;
	}
	merge->heap[parent] = moved;
}

/* Makes a heap of the inputs. Inputs of an ordered merge must show their first row at once. */
static void
init_heap(Merge *merge)
{
	uint32 count = merge->spec->input_count;
	MergeInput *inputs = palloc0(sizeof(MergeInput) * (Size) count);

	merge->heap = palloc(sizeof(MergeInput *) * (Size) count);
	merge->heap_count = count;
	for (uint32 i = 0; i < count; i++)
	{
		inputs[i].number = i;
		inputs[i].row = &merge->spec->inputs[i];
		/*
		 * Without an order, inputs are read one after the other and are opened when their turn
		 * comes.
		 */
		if (merge->is_ordered)
			open_input(merge, &inputs[i]);
		merge->heap[i] = &inputs[i];
	}
	/* Floyd's construction: positions from count / 2 on have no children. */
	for (uint32 i = count / 2; i > 0; i--)
		sift_down(merge, i - 1);
}

/* Copies the input's current row to the buffer. */
static void
append_row(Merge *merge, const MergeInput *input)
{
	PfsRowBuffer *rows = &merge->rows;
	/* pfs_merge_segments() has reserved room for output_rows. */
	uint32 row = rows->row_count++;

	for (uint32 i = 0; i < merge->column_count; i++)
	{
		const InputColumn *source = &input->columns[i];
		PfsBufferColumn *column = &rows->columns[i];

		column->values[row] = source->values[input->at];
		if (source->has_nulls && source->nulls[input->at])
			pfs_row_buffer_set_null(rows, column, row);
		else if (column->nulls != NULL)
			column->nulls[row] = false;
	}
}

static void
merge_write_rows(Merge *merge, const PfsRowBuffer *buffer)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "profstore merge output",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext outer = MemoryContextSwitchTo(context);
	PfsRows rows;

	/* If the inputs were in this order, pfs_rows_order() only checks it and copies nothing. */
	pfs_rows_order(buffer, &merge->row_key, 0, buffer->row_count, &rows);
	pfs_segment_write_merged(merge->relation, merge->storage_id, merge->writer, &rows,
							 GetCurrentCommandId(true), merge->spec->output_level);
	merge->written_count++;
	MemoryContextSwitchTo(outer);
	MemoryContextDelete(context);
}

/* Returns the distinct buckets of the rows, ascending. */
static uint32
list_buckets(const PfsBufferColumn *time, uint32 row_count, int64 width, int64 *buckets)
{
	uint32 count = 0;

	for (uint32 row = 0; row < row_count; row++)
		buckets[row] = pfs_time_bucket(time->values[row], width);
	qsort(buckets, row_count, sizeof(int64), pfs_compare_int64);
	for (uint32 i = 0; i < row_count; i++)
		if (count == 0 || buckets[i] != buckets[count - 1])
			buckets[count++] = buckets[i];
	return count;
}

/* The rows of the buffer, divided by buckets. */
typedef struct BucketedRows
{
	int64 *buckets; /* distinct, ascending */
	uint32 count;
	/* for each bucket, the end of its rows in order[], where those of the next bucket begin */
	uint32 *ends;
	uint32 *order; /* rows by bucket, otherwise in their order in the buffer */
} BucketedRows;

/* Divides the rows in two passes, whatever the number of buckets. */
static void
divide_rows(BucketedRows *divided, const PfsBufferColumn *time, uint32 row_count, int64 width)
{
	uint32 *bucket_of = palloc_extended(sizeof(uint32) * (Size) row_count, MCXT_ALLOC_HUGE);
	uint32 end = 0;

	divided->buckets = palloc_extended(sizeof(int64) * (Size) row_count, MCXT_ALLOC_HUGE);
	divided->count = list_buckets(time, row_count, width, divided->buckets);
	divided->ends = palloc0(sizeof(uint32) * (Size) divided->count);
	divided->order = palloc_extended(sizeof(uint32) * (Size) row_count, MCXT_ALLOC_HUGE);
	for (uint32 row = 0; row < row_count; row++)
	{
		int64 bucket = pfs_time_bucket(time->values[row], width);
		const int64 *found =
			bsearch(&bucket, divided->buckets, divided->count, sizeof(int64), pfs_compare_int64);

		bucket_of[row] = (uint32) (found - divided->buckets);
		divided->ends[bucket_of[row]]++;
	}
	/* turn the numbers of rows into beginnings, which the next loop moves to the ends */
	for (uint32 i = 0; i < divided->count; i++)
	{
		uint32 rows = divided->ends[i];

		divided->ends[i] = end;
		end += rows;
	}
	for (uint32 row = 0; row < row_count; row++)
		divided->order[divided->ends[bucket_of[row]]++] = row;
	pfree(bucket_of);
}

/* Writes these rows of the buffer as a segment. */
static void
write_bucket(Merge *merge, const uint32 *order, uint32 count)
{
	const PfsRowBuffer *rows = &merge->rows;
	PfsRowBuffer part;

	pfs_row_buffer_init(&part, merge->relation, CurrentMemoryContext);
	pfs_row_buffer_reserve(&part, count);
	for (; part.row_count < count; part.row_count++)
	{
		uint32 row = order[part.row_count];

		for (uint32 i = 0; i < rows->column_count; i++)
		{
			const PfsBufferColumn *source = &rows->columns[i];

			part.columns[i].values[part.row_count] = source->values[row];
			if (source->nulls != NULL && source->nulls[row])
				pfs_row_buffer_set_null(&part, &part.columns[i], part.row_count);
			else if (part.columns[i].nulls != NULL)
				part.columns[i].nulls[part.row_count] = false;
		}
	}
	merge_write_rows(merge, &part);
	pfs_row_buffer_fini(&part);
}

/*
 * Writes the buffered rows as segments: one for each bucket of time if the merge divides rows by
 * buckets.
 */
static void
merge_flush(Merge *merge)
{
	const PfsBufferColumn *time = NULL;

	for (uint32 i = 0; i < merge->rows.column_count && merge->spec->bucket_width > 0; i++)
		/* bucket_width is above 0 only if the table has a time. */
		if (merge->rows.columns[i].attnum == merge->row_key.time)
			time = &merge->rows.columns[i];

	if (time == NULL)
		merge_write_rows(merge, &merge->rows);
	else
	{
		BucketedRows divided;

		divide_rows(&divided, time, merge->rows.row_count, merge->spec->bucket_width);
		for (uint32 i = 0; i < divided.count; i++)
		{
			uint32 begin = i == 0 ? 0 : divided.ends[i - 1];

			CHECK_FOR_INTERRUPTS();
			write_bucket(merge, divided.order + begin, divided.ends[i] - begin);
		}
		pfree(divided.buckets);
		pfree(divided.ends);
		pfree(divided.order);
	}
	pfs_progress_add(PFS_PROGRESS_ROWS_DONE, merge->rows.row_count);
	pfs_row_buffer_truncate(&merge->rows, 0);
}

/* Divides the rows evenly among the new segments, so that the last one is not tiny. */
static uint32
even_output_rows(const PfsMergeSpec *spec)
{
	uint64 total = 0;
	uint64 pieces;

	for (uint32 i = 0; i < spec->input_count; i++)
		total += (uint64) spec->inputs[i].row_count;
	/* Round up both times: as few pieces as possible, and none above output_rows. */
	pieces = (total + spec->output_rows - 1) / spec->output_rows;
	return (uint32) ((total + pieces - 1) / pieces);
}

uint32
pfs_merge_segments(Relation relation, int64 storage_id, PfsDirectoryWriter *writer,
				   const PfsMergeSpec *spec)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "profstore merge", ALLOCSET_DEFAULT_SIZES);
	MemoryContext outer = MemoryContextSwitchTo(context);
	Merge merge = { 0 };

	merge.relation = relation;
	merge.storage_id = storage_id;
	merge.writer = writer;
	merge.spec = spec;
	merge.row_key = pfs_row_key(relation);
	merge.output_rows = even_output_rows(spec);
	pfs_row_buffer_init(&merge.rows, relation, context);
	pfs_row_buffer_reserve(&merge.rows, merge.output_rows);
	merge_init_columns(&merge);
	init_heap(&merge);

	while (merge.heap_count > 0)
	{
		MergeInput *input = merge.heap[0];

		/*
		 * Inputs without an order are opened here; their keys are all 0, so their numbers decide.
		 */
		if (input->context == NULL)
			open_input(&merge, input);
		append_row(&merge, input);
		if (merge.rows.row_count == merge.output_rows)
			merge_flush(&merge);
		if (!advance_input(&merge, input))
		{
			/* The last leaf takes the place of the exhausted input, and sinks. */
			merge.heap[0] = merge.heap[--merge.heap_count];
			pfs_progress_add(PFS_PROGRESS_SEGMENTS_DONE, 1);
		}
		if (merge.heap_count > 0)
			sift_down(&merge, 0);
	}
	if (merge.rows.row_count > 0)
		merge_flush(&merge);
	MemoryContextSwitchTo(outer);
	MemoryContextDelete(context);
	return merge.written_count;
}
