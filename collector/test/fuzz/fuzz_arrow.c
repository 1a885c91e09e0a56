/*
 * fuzz_arrow.c
 *		Any bytes as records of Parca's agents: no finding of the sanitizers, no slow input, and
 *		accepted rows have the values of their record.
 *
 * The last two bytes are the length of the stacks, which come before them. The first bytes are the
 * samples.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "arrow/arrow_decode.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static const AttributeRule rule = { "thread_id,cpu*" };

/* Returns a copy of exactly the length, for the sanitizer. */
static Span
copy_of(const uint8_t *bytes, size_t length)
{
	uint8_t *copy = malloc(length > 0 ? length : 1);

	if (copy == NULL)
		abort();
	if (length > 0)
		memcpy(copy, bytes, length);
	return (Span){ copy, length };
}

static void
try_records(Span samples, Span stacks, bool keep_times)
{
	const BatchLabel tenant = { "tenant", keep_times ? "someone" : "" };
	const ArrowRequest request = { .samples = samples,
								   .stacks = stacks,
								   .rule = &rule,
								   .fixed = &tenant,
								   .fixed_count = 1,
								   .keep_times = keep_times,
								   .limits.first_us = 0,
								   .limits.last_us = INT64_MAX / 2 };
	const BatchSample *rows;
	ArrowResult result;
	Batch *batch;
	DecodeEnd end;

	if (batch_create((size_t) 16 * 1024 * 1024, &batch) != 0)
		abort();
	end = arrow_decode(&request, batch, &result);
	if ((end == DECODE_OK) != (result.message == NULL) ||
		(end == DECODE_OK && batch_samples(batch, &rows) > result.samples))
		abort();
	batch_free(batch);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	ArrowResult result;
	uint8_t *wanted;
	size_t wanted_length;
	size_t of_stacks;
	Span samples;
	Span stacks;

	if (length < 2)
		return 0;
	of_stacks = bytes[0] + (size_t) 256 * bytes[1];
	bytes += 2;
	length -= 2;
	if (of_stacks > length)
		of_stacks = length;
	samples = copy_of(bytes, length - of_stacks);
	stacks = copy_of(bytes + length - of_stacks, of_stacks);
	try_records(samples, stacks, false);
	try_records(samples, stacks, true);
	if (arrow_wanted_stacks(samples, NULL, &wanted, &wanted_length, &result) != DECODE_OK &&
		wanted != NULL)
		abort();
	free(wanted);
	free((void *) (uintptr_t) samples.bytes);
	free((void *) (uintptr_t) stacks.bytes);
	return 0;
}
