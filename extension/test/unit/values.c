/*
 * values.c
 *		Makes arrays of values of many shapes.
 */
#include "test/unit/values.h"

uint64_t
random_next(Random *random)
{
	random->state ^= random->state >> 12;
	random->state ^= random->state << 25;
	random->state ^= random->state >> 27;
	return random->state * UINT64_C(2685821657736338717);
}

uint64_t
random_below(Random *random, uint64_t limit)
{
	return random_next(random) % limit;
}

static int64_t
random_bits(Random *random, unsigned width)
{
	return width == 0 ? 0 : (int64_t) (random_next(random) >> (64 - width));
}

static void
fill_runs(Random *random, unsigned width, int64_t *values, uint32_t count)
{
	uint32_t i = 0;

	while (i < count)
	{
		int64_t value = random_bits(random, width);
		uint64_t length = 1 + random_below(random, 1 + random_below(random, 400));

		for (; i < count && length > 0; length--)
			values[i++] = value;
	}
}

static int64_t
extreme(Random *random)
{
	static const int64_t extremes[] = {
		INT64_MIN, INT64_MIN + 1, -1, 0, 1, INT64_MAX - 1, INT64_MAX
	};

	return extremes[random_below(random, sizeof(extremes) / sizeof(extremes[0]))];
}

/* Returns the next value, for shapes in which a value depends on the one before. */
static int64_t
next_value(Random *random, ValueShape shape, unsigned width, uint32_t index, uint64_t before)
{
	switch (shape)
	{
		case VALUES_ASCENDING:
			return (int64_t) (before + (uint64_t) random_bits(random, width > 40 ? 40 : width));
		case VALUES_LINEAR:
			return (int64_t) (before + width * UINT64_C(10000019));
		case VALUES_QUADRATIC:
			return (int64_t) (before + index * (uint64_t) (width + 1) - 100);
		case VALUES_SAWTOOTH:
			return (int64_t) (random_below(random, 5) == 0
								  ? 10000000 * random_below(random, 360)
								  : before + 10000000 * random_below(random, 30));
		case VALUES_SKEWED:
			return random_below(random, 50) == 0 ? random_bits(random, width) : 7;
		case VALUES_EXTREMES:
			return extreme(random);
		case VALUES_PARTITIONED:
			return (int64_t) (random_below(random, 3) << 40 | random_below(random, 40));
		default:
			return (int64_t) before;
	}
}

void
values_fill(Random *random, ValueShape shape, unsigned width, int64_t *values, uint32_t count)
{
	uint64_t base = random_next(random) >> random_below(random, 64);
	uint64_t divisor = 1 + (random_next(random) >> (20 + random_below(random, 44)));
	uint64_t before = base;

	if (shape == VALUES_RUNS)
	{
		fill_runs(random, width, values, count);
		return;
	}
	for (uint32_t i = 0; i < count; i++)
	{
		if (shape == VALUES_UNIFORM_BITS)
			values[i] = (int64_t) (base + (uint64_t) random_bits(random, width));
		else if (shape == VALUES_MULTIPLES)
			values[i] =
				(int64_t) (divisor * (uint64_t) random_bits(random, width > 20 ? 20 : width));
		else
			values[i] = next_value(random, shape, width, i, before);
		before = (uint64_t) values[i];
	}
}
