/*
 * row_order.c
 *		Sorts rows by (series_id, stack_id, time).
 */
#include "store/segment/row_order.h"

#include "miscadmin.h"
#include "utils/rel.h"

#define DIGIT_BITS	11 /* the counters of 2,048 digits fit in the L1 cache */
#define DIGIT_COUNT (1 << DIGIT_BITS)

PfsRowKey
pfs_row_key(Relation relation)
{
	TupleDesc desc = RelationGetDescr(relation);
	PfsRowKey key = { InvalidAttrNumber, InvalidAttrNumber, InvalidAttrNumber };

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(desc, i);

		/*
		 * Rows are sorted by their int64 values, whose order is that of the type only for ordered
		 * kinds.
		 */
		if (attribute->attisdropped || !pfs_value_is_ordered(pfs_value_kind(attribute->atttypid)))
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
row_order_find_column(const PfsRowBuffer *buffer, AttrNumber attnum)
{
	for (uint32 i = 0; i < buffer->column_count; i++)
		if (attnum != InvalidAttrNumber && buffer->columns[i].attnum == attnum)
			return &buffer->columns[i];
	return NULL;
}

/* Returns the range of some rows of a column, without nulls. */
static PfsRange
row_order_column_range(const PfsBufferColumn *column, uint32 first, uint32 count)
{
	PfsRange range = { false, 0, 0 };

	if (column == NULL)
		return range;
	for (uint32 row = first; row < first + count; row++)
	{
		int64 value = column->values[row];

		/* Nulls do not count for a range, so a column of nulls has none. */
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
		if (series[i - 1] != series[i] ? series[i - 1] > series[i]
			: stack[i - 1] != stack[i] ? stack[i - 1] > stack[i]
									   : time[i - 1] > time[i])
			return false;
	}
	return true;
}

/* Returns the bits in which at least two values differ. */
static uint64
varying_bits(const int64 *values, uint32 count)
{
	uint64 bits = 0;

	for (uint32 i = 1; i < count; i++)
		/* Comparing all values with the first one finds every bit that varies. */
		bits |= (uint64) values[i] ^ (uint64) values[0];
	return bits;
}

static inline uint32
digit_of(int64 value, int shift)
{
	/* with the sign bit inverted, signed integers sort by their bits */
	return (((uint64) value ^ (UINT64CONST(1) << 63)) >> shift) & (DIGIT_COUNT - 1);
}

/*
 * Does one stable pass of the radix sort: distributes the rows, in the order of "from", by one
 * digit.
 */
static void
row_order_distribute(const int64 *values, int shift, const uint32 *from, uint32 *to, uint32 count)
{
	uint32 next[DIGIT_COUNT] = { 0 };
	uint32 sum = 0;

	for (uint32 i = 0; i < count; i++)
		next[digit_of(values[i], shift)]++;
	for (uint32 digit = 0; digit < DIGIT_COUNT; digit++)
	{
		uint32 rows = next[digit];

		/* Numbers of rows become the place of each digit's first row. */
		next[digit] = sum;
		sum += rows;
	}
	for (uint32 i = 0; i < count; i++)
		to[next[digit_of(values[from[i]], shift)]++] = from[i];
}

/*
 * Returns the sorted order as row numbers, or NULL if the rows are in order already. This is a
 * radix sort that begins with the least significant digit of the last key (Knuth, The Art of
 * Computer Programming, 5.2.5), and skips digits in which all rows agree.
 */
static uint32 *
sorted_order(const PfsRowBuffer *buffer, const PfsRowKey *key, uint32 first, uint32 count)
{
	const PfsBufferColumn *series = row_order_find_column(buffer, key->series);
	const PfsBufferColumn *stack = row_order_find_column(buffer, key->stack);
	const PfsBufferColumn *time = row_order_find_column(buffer, key->time);
	/*
	 * The least significant key comes first: each pass is stable, so it keeps the order of the
	 * passes before.
	 */
	const PfsBufferColumn *keys[] = { time, stack, series };
	uint32 *order;
	uint32 *spare;

	/* If the rows arrive in order, one pass over them spares the sort and the copies. */
	if (series == NULL || stack == NULL || time == NULL ||
		in_order(series->values + first, stack->values + first, time->values + first, count))
		return NULL;

	order = palloc_extended(sizeof(uint32) * (Size) count, MCXT_ALLOC_HUGE);
	spare = palloc_extended(sizeof(uint32) * (Size) count, MCXT_ALLOC_HUGE);
	for (uint32 i = 0; i < count; i++)
		order[i] = i;
	for (int i = 0; i < (int) lengthof(keys); i++)
	{
		const int64 *values = keys[i]->values + first;
		uint64 varying = varying_bits(values, count);

		for (int shift = 0; shift < 64; shift += DIGIT_BITS)
		{
			uint32 *sorted = spare;

			/*
			 * Ids and times of one batch agree in their upper bits, so most of the six digits need
			 * no pass.
			 */
			if ((varying >> shift & (DIGIT_COUNT - 1)) == 0)
				continue;
			CHECK_FOR_INTERRUPTS();
			row_order_distribute(values, shift, order, sorted, count);
			spare = order;
			order = sorted;
		}
	}
	pfree(spare);
	return order;
}

static int64 *
row_order_gather_values(const int64 *values, const uint32 *order, uint32 count)
{
	int64 *gathered = palloc_extended(sizeof(int64) * (Size) count, MCXT_ALLOC_HUGE);

	for (uint32 i = 0; i < count; i++)
		gathered[i] = values[order[i]];
	return gathered;
}

static bool *
gather_nulls(const bool *nulls, const uint32 *order, uint32 count)
{
	bool *gathered = palloc_extended(sizeof(bool) * (Size) count, MCXT_ALLOC_HUGE);

	for (uint32 i = 0; i < count; i++)
		gathered[i] = nulls[order[i]];
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
	uint32 *order = sorted_order(buffer, key, first, count);
	PfsColumn *columns = palloc0(sizeof(PfsColumn) * Max(buffer->column_count, 1));

	for (uint32 i = 0; i < buffer->column_count; i++)
	{
		const PfsBufferColumn *source = &buffer->columns[i];
		bool has_nulls = any_null(source->nulls, first, count);

		columns[i].attnum = source->attnum;
		columns[i].width = pfs_value_width(source->kind);
		/*
		 * Time is not a key of the codec: it changes with each row, so groups of equal keys would
		 * have one row.
		 */
		columns[i].is_key = source->attnum == key->series || source->attnum == key->stack;
		/* Rows in order are encoded from the buffer itself, without a copy. */
		if (order == NULL)
		{
			columns[i].values = source->values + first;
			columns[i].nulls = has_nulls ? source->nulls + first : NULL;
		}
		else
		{
			columns[i].values = row_order_gather_values(source->values + first, order, count);
			columns[i].nulls = has_nulls ? gather_nulls(source->nulls + first, order, count) : NULL;
		}
	}
	if (order != NULL)
		pfree(order);

	rows->columns = columns;
	rows->column_count = buffer->column_count;
	rows->row_count = count;
	/* The range does not depend on the order, so it is taken from the buffer. */
	rows->time = row_order_column_range(row_order_find_column(buffer, key->time), first, count);
	rows->key = row_order_column_range(row_order_find_column(buffer, key->series), first, count);
}
