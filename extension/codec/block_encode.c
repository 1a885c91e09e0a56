/*
 * block_encode.c
 *		From values to the shape with the fewest bytes.
 *
 * Outline: fill null rows, take out least value and divisor, then cost each candidate (plain, delta, delta of
 * deltas, runs, runs with delta) and write down the cheapest. The cost of bits is exact. That of planes is the
 * entropy of each plane's bytes, which zstd comes close to: what counts there is how uneven the bytes are.
 */
#include "codec/block.h"

#include <string.h>

#include "codec/bitpack.h"

typedef struct Candidate
{
	PfsTransform transform;
	bool has_runs;
} Candidate;

static const Candidate candidates[] = {
	{ PFS_TRANSFORM_PLAIN, false }, { PFS_TRANSFORM_DELTA, false }, { PFS_TRANSFORM_DELTA2, false },
	{ PFS_TRANSFORM_PLAIN, true },	{ PFS_TRANSFORM_DELTA, true },
};

#define CANDIDATE_COUNT (sizeof(candidates) / sizeof(candidates[0]))

/* A block without its least value and divisor, both as it is and with runs of equals folded. */
typedef struct Units
{
	uint32_t row_count;
	uint32_t run_count;
	uint64_t rows[PFS_BLOCK_ROWS];
	uint64_t runs[PFS_BLOCK_ROWS];
	uint64_t lengths[PFS_BLOCK_ROWS]; /* of runs, minus 1 */
	uint64_t longest;				  /* largest of lengths[] */
} Units;

/* Copies the values, each null row taking over its neighbour's, and finds their range; false: all are null. */
static bool
fill_nulls(const int64_t *values, const bool *nulls, uint32_t row_count, int64_t *filled,
		   int64_t *least, int64_t *greatest)
{
	uint32_t first = 0;
	int64_t last;

	while (nulls != NULL && first < row_count && nulls[first])
		first++;
	if (first == row_count)
		return false;
	last = *least = *greatest = values[first];
	for (uint32_t i = 0; i < row_count; i++)
	{
		if (nulls == NULL || !nulls[i])
			last = values[i];
		filled[i] = last;
		*least = last < *least ? last : *least;
		*greatest = last > *greatest ? last : *greatest;
	}
	return true;
}

static uint64_t
common_divisor(const int64_t *values, uint32_t count, int64_t least)
{
	uint64_t divisor = 0;

	for (uint32_t i = 0; i < count && divisor != 1; i++)
	{
		uint64_t rest = (uint64_t) values[i] - (uint64_t) least;

		while (divisor != 0 && rest != 0)
		{
			uint64_t next = rest % divisor;

			rest = divisor;
			divisor = next;
		}
		if (divisor == 0)
			divisor = rest;
	}
	return divisor;
}

/* The number that, times an odd number, gives 1 modulo 2^64: dividing what divides evenly is multiplying by it. */
static uint64_t
odd_inverse(uint64_t odd)
{
	uint64_t inverse = odd; /* right in its last 3 bits; each step doubles them */

	for (int step = 0; step < 5; step++)
		inverse *= 2 - odd * inverse;
	return inverse;
}

static void
take_units(const int64_t *values, uint32_t count, const PfsBlockShape *shape, Units *units)
{
	unsigned shift = (unsigned) __builtin_ctzll(shape->divisor);
	uint64_t inverse = odd_inverse(shape->divisor >> shift);
	uint32_t run = 0;

	for (uint32_t i = 0; i < count; i++)
		units->rows[i] = (((uint64_t) values[i] - (uint64_t) shape->least) >> shift) * inverse;
	units->row_count = count;
	units->runs[0] = units->rows[0];
	units->lengths[0] = 0;
	units->longest = 0;
	for (uint32_t i = 1; i < count; i++)
	{
		if (units->rows[i] == units->runs[run])
		{
			units->lengths[run]++;
			if (units->lengths[run] > units->longest)
				units->longest = units->lengths[run];
			continue;
		}
		run++;
		units->runs[run] = units->rows[i];
		units->lengths[run] = 0;
	}
	units->run_count = run + 1;
}

static void
transform_delta(const uint64_t *units, PfsBlockDraft *draft)
{
	PfsBlockShape *shape = &draft->shape;
	uint64_t *symbols = draft->symbols;
	uint32_t count = shape->symbol_count;
	uint32_t start = shape->transform == PFS_TRANSFORM_DELTA ? 1 : 2;
	int64_t least = count > start ? INT64_MAX : 0;
	int64_t greatest = count > start ? INT64_MIN : 0;

	shape->first = units[0];
	shape->step = start == 2 && count > 1 ? (int64_t) (units[1] - units[0]) : 0;
	for (uint32_t i = start; i < count; i++)
	{
		int64_t delta = (int64_t) (units[i] - units[i - 1]);

		if (start == 2)
			delta = (int64_t) ((uint64_t) delta - (units[i - 1] - units[i - 2]));
		symbols[i] = (uint64_t) delta;
		least = delta < least ? delta : least;
		greatest = delta > greatest ? delta : greatest;
	}
	shape->least_delta = least;
	shape->symbol_bits = (uint8_t) pfs_bit_width((uint64_t) greatest - (uint64_t) least);
	for (uint32_t i = 0; i < count; i++)
		symbols[i] = i < start ? 0 : symbols[i] - (uint64_t) least;
}

/* Fills in the draft for one candidate; least, range, divisor and row count are there already. */
static void
apply_candidate(const Candidate *candidate, const Units *units, PfsBlockDraft *draft)
{
	PfsBlockShape *shape = &draft->shape;
	const uint64_t *source = candidate->has_runs ? units->runs : units->rows;

	shape->transform = candidate->transform;
	shape->has_runs = candidate->has_runs;
	shape->symbol_count = candidate->has_runs ? units->run_count : units->row_count;
	shape->length_bits = 0;
	shape->first = 0;
	shape->step = shape->least_delta = 0;
	if (candidate->has_runs)
	{
		shape->length_bits = (uint8_t) pfs_bit_width(units->longest);
		memcpy(draft->lengths, units->lengths, units->run_count * sizeof(draft->lengths[0]));
	}
	if (candidate->transform == PFS_TRANSFORM_PLAIN)
	{
		shape->symbol_bits = (uint8_t) pfs_bit_width(shape->range);
		memcpy(draft->symbols, source, shape->symbol_count * sizeof(draft->symbols[0]));
	}
	else
		transform_delta(source, draft);
}

/* log2 in 256ths, linear between powers of two: at most 0.09 too low, and the same on every machine. */
static uint64_t
log2_scaled(uint32_t number)
{
	unsigned whole = 31 - (unsigned) __builtin_clz(number);

	return (uint64_t) whole * 256 + (((uint64_t) number << 8 >> whole) - 256);
}

/* Bits that an entropy coder needs for the planes of an array, at best. */
static uint64_t
planes_cost(const uint64_t *array, uint32_t count, unsigned bits)
{
	uint64_t cost = 0;

	for (unsigned shift = 0; shift < bits; shift += 8)
	{
		uint32_t counts[256] = { 0 };

		for (uint32_t i = 0; i < count; i++)
			counts[array[i] >> shift & 0xff]++;
		for (int byte = 0; byte < 256; byte++)
			if (counts[byte] != 0)
				cost += counts[byte] * (log2_scaled(count) - log2_scaled(counts[byte]));
	}
	return cost / 256;
}

/* Bits that the draft takes, with what its entry has more than the smallest. */
static uint64_t
draft_cost(const PfsBlockDraft *draft, PfsPacking packing)
{
	const PfsBlockShape *shape = &draft->shape;
	uint32_t count = shape->symbol_count;
	uint64_t cost = 16 * (uint64_t) shape->transform + (shape->has_runs ? 16 : 0);

	if (packing == PFS_PACKING_PLANES)
		cost += planes_cost(draft->symbols, count, shape->symbol_bits) +
				planes_cost(draft->lengths, count, shape->length_bits);
	else
		cost += 8 * (pfs_bitpack_size(count, shape->symbol_bits) +
					 pfs_bitpack_size(count, shape->length_bits));
	return cost;
}

void
pfs_block_draft(const int64_t *values, const bool *nulls, uint32_t row_count, PfsPacking packing,
				PfsBlockDraft *draft)
{
	PfsBlockShape *shape = &draft->shape;
	int64_t filled[PFS_BLOCK_ROWS];
	Units units;
	int64_t greatest;
	size_t best = 0;
	uint64_t best_cost = UINT64_MAX;

	*shape = (PfsBlockShape){ .row_count = row_count, .divisor = 1 };
	if (!fill_nulls(values, nulls, row_count, filled, &shape->least, &greatest))
		return;
	shape->transform = PFS_TRANSFORM_CONSTANT;
	if (shape->least == greatest)
		return;
	shape->divisor = common_divisor(filled, row_count, shape->least);
	shape->range = ((uint64_t) greatest - (uint64_t) shape->least) / shape->divisor;
	take_units(filled, row_count, shape, &units);
	for (size_t i = 0; i < CANDIDATE_COUNT; i++)
	{
		uint64_t cost;

		apply_candidate(&candidates[i], &units, draft);
		cost = draft_cost(draft, packing);
		if (cost < best_cost)
		{
			best = i;
			best_cost = cost;
		}
	}
	apply_candidate(&candidates[best], &units, draft);
}
