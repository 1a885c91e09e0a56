/*
 * block_decode.c
 *		Block entries, and values from symbols.
 */
#include "codec/block.h"

#include "codec/clones.h"

#define RUN_COPY_LANES 8 /* lanes written at once when a run is spread */

static void
write_patches(PfsBuffer *buffer, const PfsArrayShape *array)
{
	if (array->patch_count == 0)
		return;
	pfs_buffer_put_byte(buffer, array->kept_bits);
	pfs_buffer_put_varint(buffer, array->patch_count);
	pfs_buffer_put_byte(buffer, array->gap_bits);
}

static uint8_t
entry_kind(const PfsBlockShape *shape, const PfsEntryContext *context)
{
	unsigned kind = (unsigned) shape->transform;

	if (pfs_block_has_runs(shape))
		kind |= PFS_ENTRY_RUNS;
	/* NULLS and CONSTANT entries have no divisor and leave that of the context unchanged. */
	if (shape->transform >= PFS_TRANSFORM_PLAIN && shape->divisor != context->divisor)
		kind |= PFS_ENTRY_DIVISOR;
	if (shape->symbols.patch_count > 0)
		kind |= PFS_ENTRY_SYMBOL_PATCHES;
	if (shape->lengths.patch_count > 0)
		kind |= PFS_ENTRY_LENGTH_PATCHES;
	return (uint8_t) kind;
}

void
pfs_entry_write(PfsBuffer *buffer, const PfsBlockShape *shape, PfsEntryContext *context)
{
	uint8_t kind = entry_kind(shape, context);

	pfs_buffer_put_byte(buffer, kind);
	if (shape->transform == PFS_TRANSFORM_NULLS)
		return;
	/*
	 * The difference is taken modulo 2^64, because that of two int64 values may not fit in an
	 * int64.
	 */
	pfs_buffer_put_varint(buffer, pfs_zigzag((int64_t) ((uint64_t) shape->least -
														(uint64_t) context->least)));
	context->least = shape->least;
	if (shape->transform == PFS_TRANSFORM_CONSTANT)
		return;
	pfs_buffer_put_varint(buffer, shape->range);
	if (kind & PFS_ENTRY_DIVISOR)
		pfs_buffer_put_varint(buffer, shape->divisor);
	context->divisor = shape->divisor;
	if (kind & PFS_ENTRY_RUNS)
	{
		pfs_buffer_put_varint(buffer, shape->lengths.count);
		pfs_buffer_put_byte(buffer, shape->lengths.bits);
	}
	if (shape->transform == PFS_TRANSFORM_DELTA || shape->transform == PFS_TRANSFORM_DELTA2)
	{
		pfs_buffer_put_varint(buffer, shape->first);
		if (shape->transform == PFS_TRANSFORM_DELTA2)
			pfs_buffer_put_varint(buffer, pfs_zigzag(shape->step));
		pfs_buffer_put_varint(buffer, pfs_zigzag(shape->base));
		pfs_buffer_put_byte(buffer, shape->symbols.bits);
	}
	write_patches(buffer, &shape->symbols);
	write_patches(buffer, &shape->lengths);
	if (shape->transform == PFS_TRANSFORM_RISING)
		pfs_buffer_put_varint(buffer, shape->symbols.count);
	if (shape->transform == PFS_TRANSFORM_BANDED)
		pfs_buffer_put32(buffer, shape->band_bits);
	if (pfs_block_needs_groups(shape))
		pfs_buffer_put_varint(buffer, shape->group_bytes);
}

/* Reads the patch fields of an array whose count and bits are known. */
static bool
read_patches(PfsCursor *cursor, bool patched, PfsArrayShape *array)
{
	uint64_t patch_count;

	/* Without patches every number keeps all of its bits. */
	array->kept_bits = array->bits;
	if (!patched)
		return true;
	array->kept_bits = pfs_cursor_byte(cursor);
	patch_count = pfs_cursor_varint(cursor);
	array->gap_bits = pfs_cursor_byte(cursor);
	if (array->kept_bits >= array->bits || patch_count == 0 || patch_count > array->count ||
		array->gap_bits > PFS_RUN_LENGTH_MAX_BITS)
		return false;
	array->patch_count = (uint32_t) patch_count;
	return true;
}

/* Reads range and divisor. Fails if the largest value would not be an int64. */
static bool
entry_read_units(PfsCursor *cursor, uint8_t kind, PfsEntryContext *context, PfsBlockShape *shape)
{
	/*
	 * The largest value is least + range * divisor. Modulo 2^64 this distance is right for a
	 * negative least, too.
	 */
	uint64_t greatest_range = (uint64_t) INT64_MAX - (uint64_t) shape->least;

	shape->range = pfs_cursor_varint(cursor);
	if (kind & PFS_ENTRY_DIVISOR)
		context->divisor = pfs_cursor_varint(cursor);
	shape->divisor = context->divisor;
	return shape->divisor > 0 && shape->range > 0 &&
		   shape->range <= greatest_range / shape->divisor;
}

/* Reads the part of an entry that only blocks with symbols have. */
static bool
read_symbol_fields(PfsCursor *cursor, uint8_t kind, PfsBlockShape *shape)
{
	unsigned range_bits = pfs_bit_width(shape->range);

	shape->symbols.count = shape->row_count;
	if (kind & PFS_ENTRY_RUNS)
	{
		uint64_t run_count = pfs_cursor_varint(cursor);

		if (run_count == 0 || run_count > shape->row_count)
			return false;
		shape->symbols.count = shape->lengths.count = (uint32_t) run_count;
		shape->lengths.bits = pfs_cursor_byte(cursor);
		if (shape->lengths.bits > PFS_RUN_LENGTH_MAX_BITS)
			return false;
	}
	/*
	 * PLAIN symbols have exactly the bits of the range. Deltas are taken modulo 2^range_bits, so
	 * they never have more.
	 */
	shape->symbols.bits = (uint8_t) range_bits;
	if (shape->transform == PFS_TRANSFORM_DELTA || shape->transform == PFS_TRANSFORM_DELTA2)
	{
		shape->first = pfs_cursor_varint(cursor);
		if (shape->transform == PFS_TRANSFORM_DELTA2)
			shape->step = pfs_unzigzag(pfs_cursor_varint(cursor));
		shape->base = pfs_unzigzag(pfs_cursor_varint(cursor));
		shape->symbols.bits = pfs_cursor_byte(cursor);
		if (shape->symbols.bits > range_bits)
			return false;
	}
	return read_patches(cursor, kind & PFS_ENTRY_SYMBOL_PATCHES, &shape->symbols) &&
		   read_patches(cursor, kind & PFS_ENTRY_LENGTH_PATCHES, &shape->lengths);
}

/* Reads the part of an entry that only blocks encoded with groups have, and checks its bounds. */
static bool
read_group_fields(PfsCursor *cursor, PfsBlockShape *shape)
{
	uint64_t most = PFS_BANDED_MAX_RANGE;
	uint64_t group_bytes;

	if (shape->transform == PFS_TRANSFORM_PARTED)
	{
		/* PARTED has no symbols, although read_symbol_fields() has given it one per row. */
		shape->symbols = (PfsArrayShape){ 0 };
		most = PFS_PARTED_MAX_RANGE;
	}
	else if (shape->transform == PFS_TRANSFORM_RISING)
	{
		uint64_t count = pfs_cursor_varint(cursor);

		/* Symbols are the rows of short groups; longer groups lie in the group bits. */
		if (count > shape->row_count)
			return false;
		shape->symbols.count = (uint32_t) count;
		most = PFS_RISING_MAX_RANGE;
	}
	else
	{
		/* BANDED: unpatched numbers lie in the group bits, so the symbols keep no bits */
		if (shape->symbols.patch_count == 0)
			shape->symbols.kept_bits = 0;
		shape->band_bits = pfs_cursor_get32(cursor);
	}
	group_bytes = pfs_cursor_varint(cursor);
	shape->group_bytes = (uint32_t) group_bytes;
	/*
	 * The bound of the range keeps the bits of a whole block within PFS_GROUP_BITS_MAX_BYTES, so
	 * that decoding cannot read past the decoder's copy of them.
	 */
	return shape->range <= most && shape->symbols.kept_bits <= shape->symbols.bits &&
		   (shape->transform != PFS_TRANSFORM_BANDED || shape->symbols.kept_bits == 0) &&
		   group_bytes <= PFS_GROUP_BITS_MAX_BYTES;
}

/* Checks which bits may be set together in an entry's first byte. */
static PfsStatus
check_kind(uint8_t kind)
{
	unsigned transform = PFS_ENTRY_TRANSFORM(kind);
	bool has_runs = kind & PFS_ENTRY_RUNS;

	if (transform > PFS_TRANSFORM_PARTED)
		return PFS_UNSUPPORTED;
	/* NULLS and CONSTANT have no arrays, so none of the flags may be set. */
	if (transform < PFS_TRANSFORM_PLAIN)
		return kind == transform ? PFS_OK : PFS_CORRUPT;
	if (has_runs && transform >= PFS_TRANSFORM_DELTA2)
		return PFS_CORRUPT;
	if ((transform == PFS_TRANSFORM_RISING || transform == PFS_TRANSFORM_PARTED) &&
		(kind & PFS_ENTRY_SYMBOL_PATCHES) != 0)
		return PFS_CORRUPT;
	/* Patches of run lengths need runs. */
	return has_runs || (kind & PFS_ENTRY_LENGTH_PATCHES) == 0 ? PFS_OK : PFS_CORRUPT;
}

PfsStatus
pfs_entry_read(PfsCursor *cursor, uint32_t row_count, PfsEntryContext *context,
			   PfsBlockShape *shape)
{
	uint8_t kind = pfs_cursor_byte(cursor);
	PfsStatus status = check_kind(kind);
	uint64_t change;

	*shape = (PfsBlockShape){ .row_count = row_count, .divisor = 1 };
	if (status != PFS_OK)
		return status;
	shape->transform = (PfsTransform) PFS_ENTRY_TRANSFORM(kind);
	if (shape->transform != PFS_TRANSFORM_NULLS)
	{
		change = (uint64_t) pfs_unzigzag(pfs_cursor_varint(cursor));
		/*
		 * Any least value is valid here; entry_read_units() refuses a range that would exceed
		 * int64.
		 */
		shape->least = context->least = (int64_t) ((uint64_t) context->least + change);
	}
	if (shape->transform >= PFS_TRANSFORM_PLAIN &&
		(!entry_read_units(cursor, kind, context, shape) ||
		 !read_symbol_fields(cursor, kind, shape)))
		return PFS_CORRUPT;
	if (pfs_block_needs_groups(shape) && !read_group_fields(cursor, shape))
		return PFS_CORRUPT;
	/* A read past the end returns 0 and sets failed, so one check at the end covers all fields. */
	return cursor->failed ? PFS_CORRUPT : PFS_OK;
}

/*
 * Restores values from q, for PLAIN and for the transforms that use groups. If range and divisor
 * fit in 32 bits, the product is one vector instruction; otherwise it takes several.
 */
PFS_CLONES static void
restore_plain(const PfsBlockShape *shape, const uint64_t *units, int64_t *values)
{
	uint64_t least = (uint64_t) shape->least;
	uint64_t divisor = shape->divisor;
	/*
	 * PARTED and RISING units are one per row, whatever the number of symbols; only runs have
	 * fewer.
	 */
	uint32_t count = pfs_block_has_runs(shape) ? shape->symbols.count : shape->row_count;

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
 * Restores values of DELTA and DELTA2 by running sums. Only one addition depends on the value
 * before; mask and product are computed off that chain.
 */
static void
restore_deltas(const PfsBlockShape *shape, const uint64_t *symbols, int64_t *values)
{
	uint64_t mask = pfs_bit_mask(pfs_bit_width(shape->range));
	uint64_t least = (uint64_t) shape->least;
	uint64_t divisor = shape->divisor;
	uint64_t base = (uint64_t) shape->base;
	uint64_t unit = shape->first;
	uint64_t delta = (uint64_t) shape->step;
	uint32_t count = shape->symbols.count;

	/* unit is not masked between steps: bits above the mask never influence lower ones. */
	values[0] = (int64_t) (least + (unit & mask) * divisor);
	if (shape->transform == PFS_TRANSFORM_DELTA)
	{
		for (uint32_t i = 1; i < count; i++)
		{
			unit += symbols[i] + base;
			values[i] = (int64_t) (least + (unit & mask) * divisor);
		}
		return;
	}
	for (uint32_t i = 1; i < count; i++)
	{
		/* symbol[1] is always 0: q[1] comes from first and step */
		if (i > 1)
			delta += symbols[i] + base;
		unit += delta;
		values[i] = (int64_t) (least + (unit & mask) * divisor);
	}
}

/*
 * Repeats each run's value lengths[i] + 1 times. As long as there is room, it writes RUN_COPY_LANES
 * values without looking at the length; the next run overwrites the surplus. Most runs fit in one
 * such write. Returns false if the lengths do not add up to row_count.
 */
PFS_CLONES static bool
spread_runs(const int64_t *run_values, const uint64_t *lengths, uint32_t run_count,
			uint32_t row_count, int64_t *values)
{
	const int64_t *end = values + row_count;
	uint32_t run = 0;

	for (; run < run_count && end - values >= RUN_COPY_LANES; run++)
	{
		int64_t value = run_values[run];
		uint64_t length = lengths[run];

		/* A fixed number of stores becomes vector instructions without a branch. */
		for (size_t lane = 0; lane < RUN_COPY_LANES; lane++)
			values[lane] = value;
		if (length >= RUN_COPY_LANES)
		{
			/* The length comes from stored bytes, and is compared before it is used. */
			if (length >= (uint64_t) (end - values))
				return false;
			for (size_t lane = RUN_COPY_LANES; lane <= length; lane++)
				values[lane] = value;
		}
		values += length + 1;
	}
	/* Less than RUN_COPY_LANES rows are left: write exactly as many as the lengths say. */
	for (; run < run_count; run++)
	{
		if (lengths[run] >= (uint64_t) (end - values))
			return false;
		for (uint64_t lane = 0; lane <= lengths[run]; lane++)
			*values++ = run_values[run];
	}
	return values == end;
}

bool
pfs_spread_runs(const int64_t *run_values, const uint64_t *lengths, uint32_t run_count,
				uint32_t row_count, int64_t *values)
{
	return spread_runs(run_values, lengths, run_count, row_count, values);
}

static void
restore_symbols(const PfsBlockShape *shape, const uint64_t *symbols, int64_t *values)
{
	if (shape->transform == PFS_TRANSFORM_PLAIN || pfs_block_needs_groups(shape))
		restore_plain(shape, symbols, values);
	else
		restore_deltas(shape, symbols, values);
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
	if (!pfs_block_has_runs(shape))
	{
		restore_symbols(shape, symbols, values);
		return true;
	}
	/* The values of the runs replace the symbols in place, and are then spread into values[]. */
	restore_symbols(shape, symbols, (int64_t *) symbols);
	return pfs_spread_runs((int64_t *) symbols, lengths, shape->symbols.count, shape->row_count,
						   values);
}
