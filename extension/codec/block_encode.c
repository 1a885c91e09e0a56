/*
 * block_encode.c
 *		Finds the shape that stores the values of a block in the fewest bytes.
 *
 * Outline: fill null rows, subtract the least value and divide by the common divisor, fold runs,
 * then compute the cost of each candidate that may win and keep the cheapest. The cost of packing
 * "bits" is the size of the packed arrays. The cost of packing "planes" is the entropy of each
 * plane's bytes, which zstd comes close to.
 */
#include "codec/block.h"

#include <string.h>

#include "codec/clones.h"
#include "codec/group_bits.h"

/* bits added to the cost of each run, because decoding a run takes a branch that mispredicts */
#define RUN_PENALTY_BITS 4

/* Rule that picks the base, the delta that becomes symbol 0. */
typedef enum BaseRule
{
	BASE_LEAST,	  /* the least delta: all deltas lie in a narrow range */
	BASE_FORWARD, /* the least delta that is not negative: values rise, and sometimes start again */
} BaseRule;

/* A block in units (least value and divisor taken out), as rows and with runs of equals folded. */
typedef struct Units
{
	uint32_t row_count;
	uint32_t run_count;
	uint64_t rows[PFS_BLOCK_ROWS];
	uint64_t runs[PFS_BLOCK_ROWS];
	uint64_t lengths[PFS_BLOCK_ROWS]; /* rows of each run, minus 1 */
	uint64_t longest;				  /* bitwise OR of lengths[]: has as many bits as the largest */
} Units;

/* The cheapest drafts so far, and room for the next one. */
typedef struct Contest
{
	const Units *units;
	const PfsBlockGroups *groups; /* NULL: the decoder will not know them */
	PfsBlockDraft *trial;
	PfsBlockDraft *bits; /* NULL: this packing is not needed */
	PfsBlockDraft *planes;
	uint64_t bits_cost;
	uint64_t planes_cost;
} Contest;

PFS_CLONES static void
value_range(const int64_t *values, uint32_t count, int64_t *least, int64_t *greatest)
{
	int64_t low = values[0];
	int64_t high = values[0];

	for (uint32_t i = 1; i < count; i++)
	{
		low = values[i] < low ? values[i] : low;
		high = values[i] > high ? values[i] : high;
	}
	*least = low;
	*greatest = high;
}

void
pfs_value_range(const int64_t *values, uint32_t count, int64_t *least, int64_t *greatest)
{
	value_range(values, count, least, greatest);
}

/*
 * Copies the values; each null row takes the value of the row before it, and null rows at the start
 * that of the first non-null row. Returns false if all rows are null.
 */
static bool
fill_nulls(const int64_t *values, const bool *nulls, uint32_t row_count, int64_t *filled)
{
	uint32_t first = 0;
	int64_t last;

	while (first < row_count && nulls[first])
		first++;
	if (first == row_count)
		return false;
	last = values[first];
	for (uint32_t row = 0; row < row_count; row++)
	{
		/*
		 * A repeated value prolongs a run and makes a delta of 0, so null rows cost hardly any
		 * bits.
		 */
		last = nulls[row] ? last : values[row];
		filled[row] = last;
	}
	return true;
}

/*
 * Returns the inverse of an odd number modulo 2^64. Multiplying by it divides exact multiples of
 * the number, and is faster than a division.
 */
static uint64_t
odd_inverse(uint64_t odd)
{
	/* right in its last 3 bits; each step of Newton's method doubles them */
	uint64_t inverse = odd;

	for (int step = 0; step < 5; step++)
		inverse *= 2 - odd * inverse;
	return inverse;
}

uint64_t
pfs_common_divisor(uint64_t left, uint64_t right)
{
	while (right != 0)
	{
		uint64_t rest = left % right;

		left = right;
		right = rest;
	}
	return left;
}

/*
 * Returns the greatest common divisor of value - least over all values; spread is the largest of
 * them, not 0.
 */
static uint64_t
block_divisor(const int64_t *values, uint32_t count, int64_t least, uint64_t spread)
{
	/* The spread is itself one of the distances, so the common divisor divides it. */
	uint64_t divisor = spread;
	unsigned shift = (unsigned) __builtin_ctzll(divisor);
	uint64_t inverse = odd_inverse(divisor >> shift);
	/*
	 * a multiple of the odd part, multiplied by inverse, gives at most this; any other number gives
	 * more
	 */
	uint64_t limit = UINT64_MAX / (divisor >> shift);

	for (uint32_t i = 0; i < count && divisor != 1; i++)
	{
		uint64_t distance = (uint64_t) values[i] - (uint64_t) least;

		/* A multiple of the divisor so far needs no division: shift and inverse test it. */
		if (distance >> shift << shift == distance && (distance >> shift) * inverse <= limit)
			continue;
		/*
		 * Each division makes the divisor at most half as large, so this happens at most 64 times a
		 * block.
		 */
		divisor = pfs_common_divisor(divisor, distance);
		shift = (unsigned) __builtin_ctzll(divisor);
		inverse = odd_inverse(divisor >> shift);
		limit = UINT64_MAX / (divisor >> shift);
	}
	return divisor;
}

/*
 * Fills in units->rows: divides each value's distance from the least value by the divisor, as a
 * shift and a multiplication, because the division leaves no remainder.
 */
static void
take_units(const int64_t *values, uint32_t count, const PfsBlockShape *shape, Units *units)
{
	unsigned shift = (unsigned) __builtin_ctzll(shape->divisor);
	uint64_t inverse = odd_inverse(shape->divisor >> shift);
	uint64_t least = (uint64_t) shape->least;

	/*
	 * Dividing by the odd part is exact, so the product with its inverse modulo 2^64 is the
	 * quotient.
	 */
	units->row_count = count;
	if (shape->divisor == 1)
		for (uint32_t i = 0; i < count; i++)
			units->rows[i] = (uint64_t) values[i] - least;
	else
		for (uint32_t i = 0; i < count; i++)
			units->rows[i] = (((uint64_t) values[i] - least) >> shift) * inverse;
}

/*
 * Finds the runs of equal neighbours. The loop has no branch on the values: it writes each run's
 * value again and again, and its end with each row.
 */
static void
fold_runs(Units *units)
{
	uint32_t starts[PFS_BLOCK_ROWS + 1];
	uint32_t run = 0;

	starts[0] = 0;
	starts[1] = 1;
	units->runs[0] = units->rows[0];
	for (uint32_t i = 1; i < units->row_count; i++)
	{
		run += units->rows[i] != units->rows[i - 1];
		units->runs[run] = units->rows[i];
		/* The next run starts behind this row, unless a later row of this run moves its start. */
		starts[run + 1] = i + 1;
	}
	units->run_count = run + 1;
	/* Only the bits of the largest length are needed, and the OR of all lengths has as many. */
	units->longest = 0;
	for (uint32_t i = 0; i < units->run_count; i++)
	{
		units->lengths[i] = starts[i + 1] - starts[i] - 1;
		units->longest |= units->lengths[i];
	}
}

/* Writes deltas of q, or the deltas of these deltas, as symbols modulo 2^k. */
static void
transform_delta(const uint64_t *units, BaseRule base_rule, PfsBlockDraft *draft)
{
	PfsBlockShape *shape = &draft->shape;
	uint64_t mask = pfs_bit_mask(pfs_bit_width(shape->range));
	uint64_t *symbols = draft->symbols;
	uint32_t count = shape->symbols.count;
	uint32_t start = shape->transform == PFS_TRANSFORM_DELTA ? 1 : 2;
	/*
	 * Deltas below floor do not become the base. Times 3 5 7 3 5 have deltas 2 2 -4 2: with
	 * BASE_FORWARD the base is 2, and only the step back, -4 - 2 modulo 2^k, is a large symbol,
	 * which can be patched.
	 */
	int64_t floor = base_rule == BASE_LEAST ? INT64_MIN : 0;
	/* INT64_MAX stands for "no delta has qualified as base" */
	int64_t base = INT64_MAX;
	uint64_t most = 0;

	shape->first = units[0];
	shape->step = start == 2 && count > 1 ? (int64_t) (units[1] - units[0]) : 0;
	symbols[0] = 0;
	if (start == 2 && count > 1)
		symbols[1] = 0;
	for (uint32_t i = start; i < count; i++)
	{
		/* For DELTA2, the delta before is subtracted from the delta. */
		uint64_t before = start == 2 ? units[i - 1] - units[i - 2] : 0;
		int64_t delta = (int64_t) (units[i] - units[i - 1] - before);

		symbols[i] = (uint64_t) delta;
		base = delta < base && delta >= floor ? delta : base;
	}
	shape->base = base == INT64_MAX ? 0 : base;
	/* Deltas below the base wrap around modulo 2^k, which the decoder undoes with the same mask. */
	for (uint32_t i = start; i < count; i++)
	{
		symbols[i] = (symbols[i] - (uint64_t) shape->base) & mask;
		most |= symbols[i];
	}
	shape->symbols.bits = shape->symbols.kept_bits = (uint8_t) pfs_bit_width(most);
}

/*
 * log2 in 256ths, linear between powers of two: at most 0.09 too low. Integers give the same bytes
 * on every machine.
 */
static uint64_t
log2_scaled(uint32_t number)
{
	unsigned whole = 31 - (unsigned) __builtin_clz(number);

	return (uint64_t) whole * 256 + (((uint64_t) number << 8 >> whole) - 256);
}

/*
 * Estimates the bits of an array's planes after entropy coding: the entropy of each plane's bytes.
 */
static uint64_t
planes_cost(const uint64_t *numbers, const PfsArrayShape *array)
{
	uint64_t cost = 0;

	/* Each plane is compressed alone, so its entropy is that of its own 256 byte values. */
	for (unsigned shift = 0; shift < array->bits; shift += 8)
	{
		uint32_t counts[256] = { 0 };

		for (uint32_t i = 0; i < array->count; i++)
			counts[numbers[i] >> shift & 0xff]++;
		for (int byte = 0; byte < 256; byte++)
			if (counts[byte] != 0)
				cost += counts[byte] * (log2_scaled(array->count) - log2_scaled(counts[byte]));
	}
	return cost / 256;
}

uint64_t
pfs_block_planes_cost(const PfsBlockDraft *draft)
{
	return planes_cost(draft->symbols, &draft->shape.symbols) +
		   planes_cost(draft->lengths, &draft->shape.lengths);
}

/* Returns the bits of the entry beyond those of the smallest one, plus the penalty for runs. */
static uint64_t
entry_cost(const PfsBlockShape *shape)
{
	/*
	 * Higher transforms have more fields in their entry: about two bytes for each number of the
	 * transform. Of two equal candidates the simpler one wins.
	 */
	uint64_t cost = 16 * (uint64_t) shape->transform;

	if (pfs_block_has_runs(shape))
		cost += 16 + RUN_PENALTY_BITS * shape->lengths.count;
	return cost;
}

static void
copy_draft(PfsBlockDraft *target, const PfsBlockDraft *source, const PfsBlockShape *shape)
{
	target->shape = *shape;
	memcpy(target->symbols, source->symbols, shape->symbols.count * sizeof(source->symbols[0]));
	memcpy(target->lengths, source->lengths, shape->lengths.count * sizeof(source->lengths[0]));
	memcpy(target->group_bits, source->group_bits, shape->group_bytes);
}

/* Keeps the trial in each packing in which it is the cheapest so far. */
static void
judge_trial(Contest *contest)
{
	const PfsBlockDraft *trial = contest->trial;
	PfsBlockShape shape = trial->shape;
	uint64_t cost;

	/* planes cannot store group bits */
	if (contest->planes != NULL && !pfs_block_needs_groups(&shape))
	{
		cost = entry_cost(&shape) + pfs_block_planes_cost(trial);
		if (cost < contest->planes_cost)
		{
			contest->planes_cost = cost;
			copy_draft(contest->planes, trial, &shape);
		}
	}
	if (contest->bits != NULL)
	{
		if (!pfs_block_needs_groups(&shape))
		{
			/*
			 * The shape is a copy, because the same trial in packing "planes" must stay without
			 * patches. Transforms that use groups have planned their symbols themselves.
			 */
			shape.symbols = pfs_array_plan(trial->symbols, shape.symbols.count, shape.symbols.bits);
			shape.lengths = pfs_array_plan(trial->lengths, shape.lengths.count, shape.lengths.bits);
		}
		cost = entry_cost(&shape) + 8 * (pfs_array_size(&shape.symbols) +
										 pfs_array_size(&shape.lengths) + shape.group_bytes);
		if (cost < contest->bits_cost)
		{
			contest->bits_cost = cost;
			copy_draft(contest->bits, trial, &shape);
		}
	}
}

/* Clears the fields that an earlier trial of another transform may have set. */
static void
reset_shape(PfsBlockShape *shape)
{
	shape->lengths = (PfsArrayShape){ 0 };
	shape->first = 0;
	shape->step = shape->base = 0;
	shape->group_bytes = shape->band_bits = 0;
}

/* Drafts the block with one transform and judges it. base_rule applies to deltas only. */
static void
try_candidate(Contest *contest, PfsTransform transform, BaseRule base_rule, bool with_runs)
{
	const Units *units = contest->units;
	PfsBlockDraft *trial = contest->trial;
	PfsBlockShape *shape = &trial->shape;
	uint32_t count = with_runs ? units->run_count : units->row_count;
	const uint64_t *source = with_runs ? units->runs : units->rows;
	uint8_t range_bits = (uint8_t) pfs_bit_width(shape->range);
	uint8_t length_bits = (uint8_t) pfs_bit_width(units->longest);

	reset_shape(shape);
	shape->transform = transform;
	/* transform_delta() replaces the bits by those of the deltas. */
	shape->symbols = (PfsArrayShape){ count, 0, range_bits, range_bits, 0 };
	if (transform == PFS_TRANSFORM_PLAIN)
		memcpy(trial->symbols, source, count * sizeof(*source));
	else
		transform_delta(source, base_rule, trial);
	if (with_runs)
	{
		shape->lengths = (PfsArrayShape){ count, 0, length_bits, length_bits, 0 };
		memcpy(trial->lengths, units->lengths, count * sizeof(units->lengths[0]));
	}
	judge_trial(contest);
}

/* Drafts and judges the transforms that use groups. They exist in packing "bits" only. */
static void
try_group_candidates(Contest *contest)
{
	PfsBlockShape shape = contest->trial->shape;

	if (contest->groups->sums != NULL &&
		pfs_parted_draft(contest->units->rows, contest->groups, contest->trial))
		judge_trial(contest);
	/* pfs_parted_draft() replaces least value, divisor and range by those of the groups */
	contest->trial->shape = shape;
	reset_shape(&contest->trial->shape);
	if (pfs_rising_draft(contest->units->rows, contest->groups, contest->trial))
		judge_trial(contest);
	reset_shape(&contest->trial->shape);
	if (pfs_banded_draft(contest->units->rows, contest->groups, contest->trial))
		judge_trial(contest);
}

/*
 * Tries the candidates that have a chance: with runs, if at least half of the values repeat their
 * neighbour; without runs, unless seven eighths do. If the least delta is negative, values also
 * fall, so deltas with BASE_FORWARD are tried; otherwise, if values hardly ever repeat, deltas of
 * deltas.
 */
static void
try_candidates(Contest *contest)
{
	const Units *units = contest->units;

	if (contest->groups != NULL && contest->bits != NULL)
		try_group_candidates(contest);
	if (units->run_count * 2 <= units->row_count)
	{
		try_candidate(contest, PFS_TRANSFORM_PLAIN, BASE_LEAST, true);
		try_candidate(contest, PFS_TRANSFORM_DELTA, BASE_LEAST, true);
		/* transform_delta() has just left the least delta in base */
		if (contest->trial->shape.base < 0)
			try_candidate(contest, PFS_TRANSFORM_DELTA, BASE_FORWARD, true);
	}
	/* The block has been tried with runs then, so every packing has a draft. */
	if (units->run_count * 8 <= units->row_count)
		return;
	try_candidate(contest, PFS_TRANSFORM_PLAIN, BASE_LEAST, false);
	try_candidate(contest, PFS_TRANSFORM_DELTA, BASE_LEAST, false);
	if (contest->trial->shape.base < 0)
		try_candidate(contest, PFS_TRANSFORM_DELTA, BASE_FORWARD, false);
	else if (units->run_count * 4 >= units->row_count * 3)
		try_candidate(contest, PFS_TRANSFORM_DELTA2, BASE_LEAST, false);
}

/* Gives all drafts a shape without symbols. */
static void
set_shape(const Contest *contest, const PfsBlockShape *shape)
{
	contest->trial->shape = *shape;
	if (contest->bits != NULL)
		contest->bits->shape = *shape;
	if (contest->planes != NULL)
		contest->planes->shape = *shape;
}

void
pfs_block_draft(const int64_t *values, const bool *nulls, uint32_t row_count,
				const PfsBlockGroups *groups, PfsBlockDraft *bits, PfsBlockDraft *planes)
{
	PfsBlockShape shape = { .transform = PFS_TRANSFORM_NULLS,
							.row_count = row_count,
							.divisor = 1 };
	int64_t filled[PFS_BLOCK_ROWS];
	Units units;
	PfsBlockDraft trial;
	Contest contest = { &units, groups, &trial, bits, planes, UINT64_MAX, UINT64_MAX };
	int64_t greatest;
	uint64_t spread;

	if (nulls != NULL)
	{
		if (!fill_nulls(values, nulls, row_count, filled))
		{
			set_shape(&contest, &shape);
			return;
		}
		values = filled;
	}
	/* Null rows hold values of other rows, so they do not change the range. */
	pfs_value_range(values, row_count, &shape.least, &greatest);
	/* From here on the spread is not 0, which the divisor and its inverse rely on. */
	if (shape.least == greatest)
	{
		shape.transform = PFS_TRANSFORM_CONSTANT;
		set_shape(&contest, &shape);
		return;
	}
	spread = (uint64_t) greatest - (uint64_t) shape.least;
	shape.divisor = block_divisor(values, row_count, shape.least, spread);
	shape.range = spread / shape.divisor;
	take_units(values, row_count, &shape, &units);
	fold_runs(&units);
	trial.shape = shape;
	try_candidates(&contest);
}
