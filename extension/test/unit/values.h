/*
 * values.h
 *		Arrays of values of many shapes, made from a seed, for tests, fuzz seeds and the benchmark
 *		of the codec.
 */
#ifndef PFS_TEST_VALUES_H
#define PFS_TEST_VALUES_H

#include <stdbool.h>
#include <stdint.h>

/* xorshift64*, which gives the same numbers on every machine. */
typedef struct Random
{
	uint64_t state; /* never 0 */
} Random;

uint64_t random_next(Random *random);

/* Returns a number of 0 .. limit - 1. */
uint64_t random_below(Random *random, uint64_t limit);

typedef enum ValueShape
{
	VALUES_CONSTANT,
	VALUES_UNIFORM_BITS, /* random numbers of `width` bits, around a random base */
	VALUES_MULTIPLES,	 /* random multiples of a random divisor */
	VALUES_RUNS,		 /* random values, each several times */
	VALUES_ASCENDING,	 /* a counter with uneven steps */
	VALUES_LINEAR,		 /* values with one constant step */
	VALUES_QUADRATIC,	 /* steps that grow evenly */
	VALUES_SAWTOOTH,	 /* ascending times that start again */
	VALUES_EXTREMES,	 /* INT64_MIN, INT64_MAX and their neighbours */
	VALUES_SKEWED,		 /* mostly one small value, some large ones */
	VALUES_PARTITIONED, /* small numbers in one of few ranges that lie far apart, as stack ids do */
	VALUE_SHAPE_COUNT
} ValueShape;

void values_fill(Random *random, ValueShape shape, unsigned width, int64_t *values, uint32_t count);

#endif
