/*
 * block_decode.c
 *		Block entries, and values from symbols.
 */
#include "codec/block.h"

#include "codec/clones.h"

#define RUN_COPY_LANES 8 /* lanes written at once while a run is spread */

void
pfs_entry_write(PfsBuffer *buffer, const PfsBlockShape *shape, PfsEntryContext *context)
{
	bool has_symbols = shape->transform >= PFS_TRANSFORM_PLAIN;
	bool new_divisor = has_symbols && shape->divisor != context->divisor;
	int kind = (int) shape->transform;

	if (shape->has_runs)
		kind |= PFS_ENTRY_RUNS;
	if (new_divisor)
		kind |= PFS_ENTRY_DIVISOR;
	pfs_buffer_put_byte(buffer, (uint8_t) kind);
	if (shape->transform == PFS_TRANSFORM_NULLS)
		return;
	pfs_buffer_put_varint(buffer, pfs_zigzag((int64_t) ((uint64_t) shape->least -
														(uint64_t) context->least)));
	context->least = shape->least;
	if (!has_symbols)
		return;
	pfs_buffer_put_varint(buffer, shape->range);
	if (new_divisor)
		pfs_buffer_put_varint(buffer, shape->divisor);
	context->divisor = shape->divisor;
	if (shape->has_runs)
	{
		pfs_buffer_put_varint(buffer, shape->symbol_count);
		pfs_buffer_put_byte(buffer, shape->length_bits);
	}
	if (shape->transform == PFS_TRANSFORM_PLAIN)
		return;
	pfs_buffer_put_varint(buffer, shape->first);
	if (shape->transform == PFS_TRANSFORM_DELTA2)
		pfs_buffer_put_varint(buffer, pfs_zigzag(shape->step));
	pfs_buffer_put_varint(buffer, pfs_zigzag(shape->least_delta));
	pfs_buffer_put_byte(buffer, shape->symbol_bits);
}

/* The part of an entry that only blocks with symbols have. */
static bool
read_symbol_fields(PfsCursor *cursor, uint8_t kind, PfsEntryContext *context, PfsBlockShape *shape)
{
	uint64_t greatest_range = (uint64_t) INT64_MAX - (uint64_t) shape->least;

	shape->range = pfs_cursor_varint(cursor);
	if (kind & PFS_ENTRY_DIVISOR)
		context->divisor = pfs_cursor_varint(cursor);
	shape->divisor = context->divisor;
	if (shape->divisor == 0 || shape->range == 0 || shape->range > greatest_range / shape->divisor)
		return false;
	shape->symbol_count = shape->row_count;
	if (kind & PFS_ENTRY_RUNS)
	{
		uint64_t run_count = pfs_cursor_varint(cursor);

		shape->has_runs = true;
		shape->length_bits = pfs_cursor_byte(cursor);
		if (run_count == 0 || run_count > shape->row_count ||
			shape->length_bits > PFS_RUN_LENGTH_MAX_BITS)
			return false;
		shape->symbol_count = (uint32_t) run_count;
	}
	if (shape->transform == PFS_TRANSFORM_PLAIN)
	{
		shape->symbol_bits = (uint8_t) pfs_bit_width(shape->range);
		return true;
	}
	shape->first = pfs_cursor_varint(cursor);
	if (shape->transform == PFS_TRANSFORM_DELTA2)
		shape->step = pfs_unzigzag(pfs_cursor_varint(cursor));
	shape->least_delta = pfs_unzigzag(pfs_cursor_varint(cursor));
	shape->symbol_bits = pfs_cursor_byte(cursor);
	return shape->symbol_bits <= 64;
}

bool
pfs_entry_read(PfsCursor *cursor, uint32_t row_count, PfsEntryContext *context,
			   PfsBlockShape *shape)
{
	uint8_t kind = pfs_cursor_byte(cursor);
	unsigned transform = kind & PFS_ENTRY_TRANSFORM_MASK;

	*shape = (PfsBlockShape){ .row_count = row_count, .divisor = 1 };
	if ((kind & ~PFS_ENTRY_KNOWN_BITS) != 0 || transform > PFS_TRANSFORM_DELTA2)
		return false;
	if ((kind & PFS_ENTRY_RUNS) && transform != PFS_TRANSFORM_PLAIN &&
		transform != PFS_TRANSFORM_DELTA)
		return false;
	if ((kind & PFS_ENTRY_DIVISOR) && transform < PFS_TRANSFORM_PLAIN)
		return false;
	shape->transform = (PfsTransform) transform;
	if (shape->transform != PFS_TRANSFORM_NULLS)
	{
		uint64_t change = (uint64_t) pfs_unzigzag(pfs_cursor_varint(cursor));

		shape->least = context->least = (int64_t) ((uint64_t) context->least + change);
		if (shape->transform != PFS_TRANSFORM_CONSTANT &&
			!read_symbol_fields(cursor, kind, context, shape))
			return false;
	}
	return !cursor->failed;
}

/* Turns symbols into q, in place. */
static void
undo_transform(const PfsBlockShape *shape, uint64_t *symbols)
{
	uint64_t least_delta = (uint64_t) shape->least_delta;
	uint64_t value = shape->first;
	uint64_t delta = (uint64_t) shape->step;

	if (shape->transform == PFS_TRANSFORM_PLAIN)
		return;
	symbols[0] = value;
	if (shape->transform == PFS_TRANSFORM_DELTA)
	{
		for (uint32_t i = 1; i < shape->symbol_count; i++)
			symbols[i] = value += symbols[i] + least_delta;
		return;
	}
	if (shape->symbol_count > 1)
		symbols[1] = value += delta;
	for (uint32_t i = 2; i < shape->symbol_count; i++)
	{
		delta += symbols[i] + least_delta;
		symbols[i] = value += delta;
	}
}

/* Turns q into values. Where both factors have 32 bits the product is one vector instruction, else several. */
PFS_CLONES static void
undo_units(const PfsBlockShape *shape, const uint64_t *units, int64_t *values)
{
	uint64_t least = (uint64_t) shape->least;
	uint64_t divisor = shape->divisor;
	uint32_t count = shape->symbol_count;

	if (divisor == 1)
		for (uint32_t i = 0; i < count; i++)
			values[i] = (int64_t) (least + units[i]);
	else if (shape->range <= UINT32_MAX && divisor <= UINT32_MAX)
		for (uint32_t i = 0; i < count; i++)
			values[i] = (int64_t) (least + (uint64_t) (uint32_t) units[i] * (uint32_t) divisor);
	else
		for (uint32_t i = 0; i < count; i++)
			values[i] = (int64_t) (least + units[i] * divisor);
}

/*
 * Writes each run's value as often as its length says. Short runs are the usual ones, so a run's first lanes
 * are written without a look at its length, as long as there is room; the next run overwrites the surplus.
 */
static bool
spread_runs(const PfsBlockShape *shape, const int64_t *run_values, const uint64_t *lengths,
			int64_t *values)
{
	uint32_t row_count = shape->row_count;
	uint32_t row = 0;

	for (uint32_t run = 0; run < shape->symbol_count; run++)
	{
		int64_t value = run_values[run];
		uint32_t end;

		if (lengths[run] >= row_count - row)
			return false;
		end = row + (uint32_t) lengths[run] + 1;
		if (row + RUN_COPY_LANES <= row_count)
		{
			for (uint32_t lane = 0; lane < RUN_COPY_LANES; lane++)
				values[row + lane] = value;
			row += RUN_COPY_LANES;
		}
		for (; row < end; row++)
			values[row] = value;
		row = end;
	}
	return row == row_count;
}

bool
pfs_block_restore(const PfsBlockShape *shape, uint64_t *symbols, const uint64_t *lengths,
				  int64_t *values)
{
	if (shape->transform <= PFS_TRANSFORM_CONSTANT)
	{
		for (uint32_t i = 0; i < shape->row_count; i++)
			values[i] = shape->least;
		return true;
	}
	undo_transform(shape, symbols);
	if (!shape->has_runs)
	{
		undo_units(shape, symbols, values);
		return true;
	}
	undo_units(shape, symbols, (int64_t *) symbols);
	return spread_runs(shape, (int64_t *) symbols, lengths, values);
}
