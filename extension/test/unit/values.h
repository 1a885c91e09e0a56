/*
 * lanes.h
 *		Arrays of lanes of many shapes, seeded: what tests, fuzz seeds and the benchmark feed the
 *		codec with.
 */
#ifndef PFS_TEST_LANES_H
#define PFS_TEST_LANES_H

#include <stdbool.h>
#include <stdint.h>

/* xorshift64*: the same numbers on every machine. */
typedef struct Random
{
	uint64_t state; /* never 0 */
} Random;

uint64_t random_next(Random *random);

/* A number of 0 .. limit-1. */
uint64_t random_below(Random *random, uint64_t limit);

typedef enum LaneShape
{
	LANES_CONSTANT,
	LANES_UNIFORM_BITS, /* random numbers of `width` bits, around a random base */
	LANES_MULTIPLES,	/* random multiples of a random divisor */
	LANES_RUNS,			/* random values, each several times */
	LANES_ASCENDING,	/* a counter with uneven steps */
	LANES_LINEAR,		/* the same step always */
	LANES_QUADRATIC,	/* steps that grow evenly */
	LANES_SAWTOOTH,		/* ascending times that start again */
	LANES_EXTREMES,		/* INT64_MIN, INT64_MAX and their neighbours */
	LANES_SKEWED,		/* mostly one small value, some large ones */
	LANES_PARTITIONED,	/* small numbers in one of few ranges that lie far apart, as stack ids do */
	LANE_SHAPE_COUNT
} LaneShape;

void lanes_fill(Random *random, LaneShape shape, unsigned width, int64_t *lanes, uint32_t count);

#endif
