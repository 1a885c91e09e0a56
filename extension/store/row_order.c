/*
 * row_order.c
 *		Sorting rows by (series_id, stack_id, time).
 */
#include "store/row_order.h"

#include "miscadmin.h"
#include "utils/rel.h"

/* What a row sorts by, drawn together so that a comparison touches one cache line. */
typedef struct SortItem
{
	int64 series;
	int64 stack;
	int64 time;
	uint32 row;
} SortItem;

static inline int
compare_items(const SortItem *a, const SortItem *b)
{
	if (a->series != b->series)
		return a->series < b->series ? -1 : 1;
	if (a->stack != b->stack)
		return a->stack < b->stack ? -1 : 1;
	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return 0;
}

#define ST_SORT			 sort_items
#define ST_ELEMENT_TYPE	 SortItem
#define ST_COMPARE(a, b) compare_items(a, b)
#define ST_SCOPE		 static
#define ST_CHECK_FOR_INTERRUPTS
#define ST_DECLARE
#define ST_DEFINE
#include "lib/sort_template.h"

PfsRowKey
pfs_row_key(Relation relation)
{
	TupleDesc desc = RelationGetDescr(relation);
	PfsRowKey key = { InvalidAttrNumber, InvalidAttrNumber, InvalidAttrNumber };

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(desc, i);

		if (attribute->attisdropped || !pfs_lane_is_ordered(pfs_lane_kind(attribute->atttypid)))
			continue;
		if (strcmp(NameStr(attribute->attname), "time") == 0)
			key.time = attribute->attnum;
		else if (strcmp(NameStr(attribute->attname), "series_id") == 0)
			key.series = attribute->attnum;
		else if (strcmp(NameStr(attribute->attname), "stack_id") == 0)
			key.stack = attribute->attnum;
	}
	return key;
}

static const PfsBufferColumn *
find_column(const PfsRowBuffer *buffer, AttrNumber attnum)
{
	for (uint32 i = 0; i < buffer->column_count; i++)
		if (attnum != InvalidAttrNumber && buffer->columns[i].attnum == attnum)
			return &buffer->columns[i];
	return NULL;
}

static PfsRange
column_range(const PfsBufferColumn *column, uint32 first, uint32 count)
{
	PfsRange range = { false, 0, 0 };

	if (column == NULL)
		return range;
	for (uint32 row = first; row < first + count; row++)
	{
		int64 value = column->values[row];

		if (column->nulls != NULL && column->nulls[row])
			continue;
		if (!range.known)
			range = (PfsRange){ true, value, value };
		range.min = Min(range.min, value);
		range.max = Max(range.max, value);
	}
	return range;
}

static bool
in_order(const int64 *series, const int64 *stack, const int64 *time, uint32 count)
{
	for (uint32 i = 1; i < count; i++)
	{
		SortItem before = { series[i - 1], stack[i - 1], time[i - 1], 0 };
		SortItem item = { series[i], stack[i], time[i], 0 };

		if (compare_items(&before, &item) > 0)
			return false;
	}
	return true;
}

/* The sorted order as row numbers, or NULL where the rows are in order already. */
static SortItem *
sorted_items(const PfsRowBuffer *buffer, const PfsRowKey *key, uint32 first, uint32 count)
{
	const PfsBufferColumn *series = find_column(buffer, key->series);
	const PfsBufferColumn *stack = find_column(buffer, key->stack);
	const PfsBufferColumn *time = find_column(buffer, key->time);
	SortItem *items;

	if (series == NULL || stack == NULL || time == NULL ||
		in_order(series->values + first, stack->values + first, time->values + first, count))
		return NULL;

	items = palloc_extended(sizeof(SortItem) * (Size) count, MCXT_ALLOC_HUGE);
	for (uint32 i = 0; i < count; i++)
	{
		uint32 row = first + i;

		items[i] = (SortItem){ series->values[row], stack->values[row], time->values[row], row };
	}
	sort_items(items, count);
	return items;
}

static int64 *
gather_values(const int64 *values, const SortItem *items, uint32 count)
{
	int64 *gathered = palloc_extended(sizeof(int64) * (Size) count, MCXT_ALLOC_HUGE);

	for (uint32 i = 0; i < count; i++)
		gathered[i] = values[items[i].row];
	return gathered;
}

static bool *
gather_nulls(const bool *nulls, const SortItem *items, uint32 count)
{
	bool *gathered = palloc_extended(sizeof(bool) * (Size) count, MCXT_ALLOC_HUGE);

	for (uint32 i = 0; i < count; i++)
		gathered[i] = nulls[items[i].row];
	return gathered;
}

static bool
any_null(const bool *nulls, uint32 first, uint32 count)
{
	return nulls != NULL && memchr(nulls + first, true, count) != NULL;
}

void
pfs_rows_order(const PfsRowBuffer *buffer, const PfsRowKey *key, uint32 first, uint32 count,
			   PfsRows *rows)
{
	SortItem *items = sorted_items(buffer, key, first, count);
	PfsColumn *columns = palloc0(sizeof(PfsColumn) * Max(buffer->column_count, 1));

	for (uint32 i = 0; i < buffer->column_count; i++)
	{
		const PfsBufferColumn *source = &buffer->columns[i];
		bool has_nulls = any_null(source->nulls, first, count);

		columns[i].attnum = source->attnum;
		columns[i].width = pfs_lane_width(source->kind);
		columns[i].is_key = source->attnum == key->series || source->attnum == key->stack;
		if (items == NULL)
		{
			columns[i].values = source->values + first;
			columns[i].nulls = has_nulls ? source->nulls + first : NULL;
		}
		else
		{
			columns[i].values = gather_values(source->values, items, count);
			columns[i].nulls = has_nulls ? gather_nulls(source->nulls, items, count) : NULL;
		}
	}
	if (items != NULL)
		pfree(items);

	rows->columns = columns;
	rows->column_count = buffer->column_count;
	rows->row_count = count;
	rows->time = column_range(find_column(buffer, key->time), first, count);
	rows->key = column_range(find_column(buffer, key->series), first, count);
}
