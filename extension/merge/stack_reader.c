/*
 * stack_reader.c
 *		Merges two sorted lists, of which a few stacks at a time are in memory.
 */
#include "merge/stack_reader.h"

#include "dictionary/cache/doubts.h"

/* Stacks of a side that are in memory. */
#define SIDE_STACKS 64

typedef struct Side
{
	PfsStackTable *table; /* NULL: there is none, or it was read to its end */
	PfsScale scale;
	uint32 count;
	uint32 next;
	PfsStackSum sums[SIDE_STACKS];
} Side;

struct PfsStackReader
{
	Size count;
	Side values;
	Side *bases; /* NULL: there are none */
};

static int64
scale_value(int64 value, PfsScale scale)
{
	int128 product = (int128) value * scale.numerator;
	int128 half = scale.denominator / 2;

	return pfs_clip((product + (product < 0 ? -half : half)) / scale.denominator);
}

/* Like pfs_stack_table_read(), for the side's table, and scales the values. */
static uint32
read_scaled(Side *side, PfsStackSum *sums, uint32 room)
{
	uint32 count = pfs_stack_table_read(side->table, sums, room);

	/* an empty range has no values */
	if (side->scale.numerator != side->scale.denominator && side->scale.denominator != 0)
		for (uint32 i = 0; i < count; i++)
			sums[i].sides.value = scale_value(sums[i].sides.value, side->scale);
	return count;
}

static Size
begin_side(Side *side, PfsStackTable *table, PfsScale scale)
{
	*side = (Side){ .table = table, .scale = scale };
	return pfs_stack_table_finish(table);
}

static void
end_side(Side *side)
{
	if (side->table != NULL)
		pfs_stack_table_end(side->table);
	side->table = NULL;
}

PfsStackReader *
pfs_stack_reader_begin(PfsStackTable *values, PfsScale scale)
{
	PfsStackReader *reader = palloc0(sizeof(PfsStackReader));

	reader->count = begin_side(&reader->values, values, scale);
	return reader;
}

void
pfs_stack_reader_add_base(PfsStackReader *reader, PfsStackTable *bases, PfsScale scale)
{
	Size count;

	reader->bases = palloc(sizeof(Side));
	count = begin_side(reader->bases, bases, scale);
	reader->count = count == PFS_COUNT_UNKNOWN || reader->count == PFS_COUNT_UNKNOWN
						? PFS_COUNT_UNKNOWN
						: reader->count + count;
}

Size
pfs_stack_reader_count(const PfsStackReader *reader)
{
	return reader->count;
}

/* Returns the next stack of a side; NULL at its end. */
static const PfsStackSum *
run_peek(Side *side)
{
	if (side->next < side->count)
		return &side->sums[side->next];
	if (side->table == NULL)
		return NULL;
	side->next = 0;
	side->count = read_scaled(side, side->sums, SIDE_STACKS);
	if (side->count < SIDE_STACKS)
		end_side(side);
	return side->count > 0 ? side->sums : NULL;
}

static bool
next_pair(PfsStackReader *reader, PfsStackSum *pair)
{
	const PfsStackSum *value = run_peek(&reader->values);
	const PfsStackSum *base = run_peek(reader->bases);

	if (value == NULL && base == NULL)
		return false;
	*pair = pfs_stack_sum_pair(&value, &base);
	reader->values.next += value != NULL;
	reader->bases->next += base != NULL;
	return true;
}

uint32
pfs_stack_reader_next(PfsStackReader *reader, PfsStackSum *sums, uint32 room)
{
	uint32 count = 0;

	if (reader->bases == NULL)
		return read_scaled(&reader->values, sums, room);
	while (count < room && next_pair(reader, &sums[count]))
		count++;
	return count;
}

void
pfs_stack_reader_end(PfsStackReader *reader)
{
	end_side(&reader->values);
	if (reader->bases != NULL)
	{
		end_side(reader->bases);
		pfree(reader->bases);
	}
	pfree(reader);
}
