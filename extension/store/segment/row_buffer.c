/*
 * row_buffer.c
 *		Adds, removes and copies rows in the arrays of a transaction's inserted rows.
 */
#include "store/segment/row_buffer.h"

#include "utils/memutils.h"
#include "utils/rel.h"

#include "base/arrays.h"

void
pfs_row_buffer_init(PfsRowBuffer *buffer, Relation relation, MemoryContext parent)
{
	TupleDesc desc = RelationGetDescr(relation);

	pfs_value_check_columns(RelationGetRelationName(relation), desc);
	memset(buffer, 0, sizeof(*buffer));
	buffer->context =
		AllocSetContextCreate(parent, "profstore row buffer", ALLOCSET_START_SMALL_SIZES);
	buffer->columns =
		MemoryContextAllocZero(buffer->context, sizeof(PfsBufferColumn) * (Size) desc->natts);
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(desc, i);

		if (attribute->attisdropped)
			continue;
		buffer->columns[buffer->column_count].attnum = attribute->attnum;
		buffer->columns[buffer->column_count].kind = pfs_value_kind(attribute->atttypid);
		buffer->column_count++;
	}
	if (buffer->column_count == 0)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("cannot store rows in table \"%s\", which has no column",
							   RelationGetRelationName(relation)),
						errhint("Add a column first.")));
}

void
pfs_row_buffer_fini(PfsRowBuffer *buffer)
{
	MemoryContextDelete(buffer->context);
}

Size
pfs_row_buffer_bytes(const PfsRowBuffer *buffer)
{
	Size bytes = sizeof(PfsRun) * buffer->run_capacity;

	for (uint32 i = 0; i < buffer->column_count; i++)
		bytes += (sizeof(int64) + (buffer->columns[i].nulls != NULL)) * (Size) buffer->row_capacity;
	return bytes;
}

void
pfs_row_buffer_reserve(PfsRowBuffer *buffer, uint32 row_count)
{
	uint32 capacity;

	if (row_count <= buffer->row_capacity)
		return;
	capacity = pfs_grown_capacity(buffer->row_capacity, row_count);
	for (uint32 i = 0; i < buffer->column_count; i++)
	{
		PfsBufferColumn *column = &buffer->columns[i];

		column->values =
			pfs_array_resize(buffer->context, column->values, sizeof(int64) * (Size) capacity);
		/* Most columns never have a null, and so no array of flags. */
		if (column->nulls != NULL)
			column->nulls = repalloc_huge(column->nulls, sizeof(bool) * (Size) capacity);
	}
	buffer->row_capacity = capacity;
}

/* Marks a null. The first null of a column allocates its array of flags. */
void
pfs_row_buffer_set_null(PfsRowBuffer *buffer, PfsBufferColumn *column, uint32 row)
{
	if (column->nulls == NULL)
	{
		column->nulls =
			MemoryContextAllocHuge(buffer->context, sizeof(bool) * (Size) buffer->row_capacity);
		/* Rows before this one have values; each later row sets its own flag. */
		memset(column->nulls, 0, sizeof(bool) * (Size) row);
	}
	column->nulls[row] = true;
	/* Sorting and encoding read the value of a null, so it must be defined. */
	column->values[row] = 0;
}

static void
append_column(PfsRowBuffer *buffer, PfsBufferColumn *column, TupleTableSlot **slots, uint32 count)
{
	int attribute = column->attnum - 1;
	PfsValueKind kind = column->kind;

	for (uint32 i = 0; i < count; i++)
	{
		uint32 row = buffer->row_count + i;

		if (slots[i]->tts_isnull[attribute])
			pfs_row_buffer_set_null(buffer, column, row);
		else
		{
			column->values[row] = pfs_value_of_datum(kind, slots[i]->tts_values[attribute]);
			if (column->nulls != NULL)
				column->nulls[row] = false;
		}
	}
}

void
pfs_row_buffer_append(PfsRowBuffer *buffer, TupleTableSlot **slots, uint32 count,
					  CommandId command_id, SubTransactionId subxact)
{
	PfsRun *last;

	for (uint32 i = 0; i < count; i++)
		/*
		 * Reserve and deform before anything is changed: an error must leave the buffer as it was.
		 */
		slot_getallattrs(slots[i]);

	pfs_row_buffer_reserve(buffer, buffer->row_count + count);
	PFS_RESERVE_IN(buffer->context, buffer->runs, buffer->run_capacity, buffer->run_count + 1);
	/* Reserving may move the runs, so the pointer is taken afterwards. */
	last = buffer->run_count > 0 ? &buffer->runs[buffer->run_count - 1] : NULL;
	for (uint32 i = 0; i < buffer->column_count; i++)
		append_column(buffer, &buffer->columns[i], slots, count);

	/* A new run begins with each change of command or subtransaction. */
	if (last == NULL || last->command_id != command_id || last->subxact != subxact)
	{
		PfsRun *run = &buffer->runs[buffer->run_count++];

		run->first_row = buffer->row_count;
		run->group_row =
			/*
			 * Runs of one subtransaction are neighbours, because a child's runs join its parent's
			 * when it ends.
			 */
			last != NULL && last->subxact == subxact ? last->group_row : run->first_row;
		run->command_id = command_id;
		run->subxact = subxact;
	}
	buffer->row_count += count;
}

void
pfs_row_buffer_truncate(PfsRowBuffer *buffer, uint32 row_count)
{
	/* Rows are cut at the start of a subtransaction, which is always the start of a run. */
	while (buffer->run_count > 0 && buffer->runs[buffer->run_count - 1].first_row >= row_count)
		buffer->run_count--;
	buffer->row_count = row_count;
}

uint32
pfs_row_buffer_first_row(const PfsRowBuffer *buffer, SubTransactionId subxact)
{
	const PfsRun *last = buffer->run_count > 0 ? &buffer->runs[buffer->run_count - 1] : NULL;

	return last != NULL && last->subxact == subxact ? last->group_row : buffer->row_count;
}

void
pfs_row_buffer_reparent(PfsRowBuffer *buffer, SubTransactionId child, SubTransactionId parent)
{
	uint32 first = buffer->run_count;
	uint32 group_row;

	/* The child's runs are the last ones, because only the current subtransaction appends. */
	while (first > 0 && buffer->runs[first - 1].subxact == child)
		first--;
	if (first == buffer->run_count)
		return;

	/* The child's runs join the parent's adjacent runs, so that both can be cut off together. */
	if (first > 0 && buffer->runs[first - 1].subxact == parent)
		group_row = buffer->runs[first - 1].group_row;
	else
		group_row = buffer->runs[first].group_row;
	for (uint32 i = first; i < buffer->run_count; i++)
	{
		buffer->runs[i].subxact = parent;
		buffer->runs[i].group_row = group_row;
	}
}

/*
 * Layout of an image: the struct, runs, attribute numbers, values, null flags. Runs, attribute
 * numbers and the whole are MAXALIGNed.
 */
static Size
runs_offset(void)
{
	return MAXALIGN(sizeof(PfsRowImage));
}

static Size
attnums_offset(uint32 run_count)
{
	return runs_offset() + MAXALIGN(sizeof(PfsRun) * (Size) run_count);
}

static Size
values_offset(uint32 run_count, uint32 column_count)
{
	return attnums_offset(run_count) + MAXALIGN(sizeof(AttrNumber) * (Size) column_count);
}

static Size
nulls_offset(uint32 run_count, uint32 column_count, uint32 row_count)
{
	return values_offset(run_count, column_count) + sizeof(int64) * (Size) column_count * row_count;
}

Size
pfs_row_image_bytes(const PfsRowBuffer *buffer)
{
	return MAXALIGN(nulls_offset(buffer->run_count, buffer->column_count, buffer->row_count) +
					sizeof(bool) * (Size) buffer->column_count * buffer->row_count);
}

void
pfs_row_image_make(const PfsRowBuffer *buffer, PfsRowImage *image)
{
	char *base = (char *) image;
	AttrNumber *attnums = (AttrNumber *) (base + attnums_offset(buffer->run_count));
	int64 *values = (int64 *) (base + values_offset(buffer->run_count, buffer->column_count));
	bool *nulls =
		(bool *) (base + nulls_offset(buffer->run_count, buffer->column_count, buffer->row_count));

	image->bytes = pfs_row_image_bytes(buffer);
	image->row_count = buffer->row_count;
	image->column_count = buffer->column_count;
	image->run_count = buffer->run_count;
	memcpy(base + runs_offset(), buffer->runs, sizeof(PfsRun) * (Size) buffer->run_count);
	for (uint32 i = 0; i < buffer->column_count; i++)
	{
		const PfsBufferColumn *column = &buffer->columns[i];
		Size offset = (Size) i * buffer->row_count;

		attnums[i] = column->attnum;
		memcpy(values + offset, column->values, sizeof(int64) * (Size) buffer->row_count);
		/*
		 * Each image has null flags for all columns, so that a reader can compute their position.
		 */
		if (column->nulls != NULL)
			memcpy(nulls + offset, column->nulls, sizeof(bool) * (Size) buffer->row_count);
		else
			memset(nulls + offset, 0, sizeof(bool) * (Size) buffer->row_count);
	}
}

const PfsRun *
pfs_row_image_runs(const PfsRowImage *image)
{
	return (const PfsRun *) ((const char *) image + runs_offset());
}

int
pfs_row_image_find_column(const PfsRowImage *image, AttrNumber attnum)
{
	const AttrNumber *attnums =
		(const AttrNumber *) ((const char *) image + attnums_offset(image->run_count));

	for (uint32 i = 0; i < image->column_count; i++)
		if (attnums[i] == attnum)
			return (int) i;
	return -1;
}

const int64 *
pfs_row_image_values(const PfsRowImage *image, int column)
{
	const char *base = (const char *) image + values_offset(image->run_count, image->column_count);

	return (const int64 *) base + (Size) column * image->row_count;
}

const bool *
pfs_row_image_nulls(const PfsRowImage *image, int column)
{
	const char *base = (const char *) image +
					   nulls_offset(image->run_count, image->column_count, image->row_count);

	return (const bool *) base + (Size) column * image->row_count;
}
