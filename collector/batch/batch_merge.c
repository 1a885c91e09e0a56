/*
 * batch_merge.c
 *		All of one batch into another.
 *
 * Kinds come in the order in which they refer to each other; from the other batch's indexes to the
 * own ones leads a map for each kind.
 */
#include <errno.h>
#include <stdlib.h>

#include "batch/batch.h"

typedef struct Merge
{
	Batch *to;
	const Batch *from;
	uint32_t *mappings;
	uint32_t *functions;
	uint32_t *locations;
	uint32_t *stacks;
	uint32_t *series;
} Merge;

static uint32_t *
map_create(size_t count)
{
	return calloc(count + 1, sizeof(uint32_t));
}

static int
add_mappings(Merge *merge)
{
	const BatchMapping *items;
	size_t count = batch_mappings(merge->from, &items);
	int err = 0;

	merge->mappings = map_create(count);
	if (merge->mappings == NULL)
		return -ENOMEM;
	for (size_t i = 0; err == 0 && i < count; i++)
		err = batch_add_mapping(merge->to, &items[i], &merge->mappings[i]);
	return err;
}

static int
add_functions(Merge *merge)
{
	const BatchFunction *items;
	size_t count = batch_functions(merge->from, &items);
	int err = 0;

	merge->functions = map_create(count);
	if (merge->functions == NULL)
		return -ENOMEM;
	for (size_t i = 0; err == 0 && i < count; i++)
		err = batch_add_function(merge->to, &items[i], &merge->functions[i]);
	return err;
}

static int
add_location(Merge *merge, const BatchLocation *location, uint32_t *index)
{
	BatchLocation own = *location;
	BatchLine *lines = calloc(location->line_count + 1, sizeof(BatchLine));
	int err;

	if (lines == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < location->line_count; i++)
		lines[i] =
			(BatchLine){ merge->functions[location->lines[i].function], location->lines[i].line };
	if (location->mapping != BATCH_NO_MAPPING)
		own.mapping = merge->mappings[location->mapping];
	own.lines = lines;
	err = batch_add_location(merge->to, &own, index);
	free(lines);
	return err;
}

static int
add_locations(Merge *merge)
{
	const BatchLocation *items;
	size_t count = batch_locations(merge->from, &items);
	int err = 0;

	merge->locations = map_create(count);
	if (merge->locations == NULL)
		return -ENOMEM;
	for (size_t i = 0; err == 0 && i < count; i++)
		err = add_location(merge, &items[i], &merge->locations[i]);
	return err;
}

static int
add_stack(Merge *merge, const BatchStack *stack, uint32_t *index)
{
	BatchStack own = *stack;
	uint32_t *locations = map_create(stack->depth);
	int err;

	if (locations == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < stack->depth; i++)
		locations[i] = merge->locations[stack->locations[i]];
	own.locations = locations;
	err = batch_add_stack(merge->to, &own, index);
	free(locations);
	return err;
}

static int
add_stacks(Merge *merge)
{
	const BatchStack *items;
	size_t count = batch_stacks(merge->from, &items);
	int err = 0;

	merge->stacks = map_create(count);
	if (merge->stacks == NULL)
		return -ENOMEM;
	for (size_t i = 0; err == 0 && i < count; i++)
		err = add_stack(merge, &items[i], &merge->stacks[i]);
	return err;
}

static int
add_series(Merge *merge)
{
	const BatchSeries *items;
	size_t count = batch_series(merge->from, &items);
	int err = 0;

	merge->series = map_create(count);
	if (merge->series == NULL)
		return -ENOMEM;
	for (size_t i = 0; err == 0 && i < count; i++)
		err = batch_add_series(merge->to, &items[i], &merge->series[i]);
	return err;
}

static int
add_samples(Merge *merge)
{
	const BatchSample *items;
	size_t count = batch_samples(merge->from, &items);
	int err = 0;

	for (size_t i = 0; err == 0 && i < count; i++)
	{
		BatchSample sample = items[i];

		sample.series = merge->series[sample.series];
		sample.stack = merge->stacks[sample.stack];
		err = batch_add_sample(merge->to, &sample);
	}
	return err;
}

static int
add_traces(Merge *merge)
{
	const BatchTrace *items;
	size_t count = batch_traces(merge->from, &items);
	int err = 0;

	for (size_t i = 0; err == 0 && i < count; i++)
	{
		BatchTrace trace = items[i];

		trace.sample.series = merge->series[trace.sample.series];
		trace.sample.stack = merge->stacks[trace.sample.stack];
		err = batch_add_trace(merge->to, &trace);
	}
	return err;
}

static int
add_receipts(Merge *merge)
{
	const BatchReceipt *items;
	size_t count = batch_receipts(merge->from, &items);
	int err = 0;

	for (size_t i = 0; err == 0 && i < count; i++)
		err = batch_add_receipt(merge->to, items[i].bytes);
	return err;
}

static int
add_notes(Merge *merge)
{
	const BatchNote *items;
	size_t count = batch_notes(merge->from, &items);
	int err = 0;

	for (size_t i = 0; err == 0 && i < count; i++)
	{
		BatchNote note = items[i];

		note.series = merge->series[note.series];
		err = batch_add_note(merge->to, &note);
	}
	return err;
}

static int
add_counts(Merge *merge)
{
	const BatchLoss *losses;
	const BatchUnwound *unwound;
	size_t loss_count = batch_losses(merge->from, &losses);
	size_t unwound_count = batch_unwound(merge->from, &unwound);
	int err = 0;

	for (size_t i = 0; err == 0 && i < loss_count; i++)
		err = batch_add_loss(merge->to, losses[i].reason, losses[i].count);
	for (size_t i = 0; err == 0 && i < unwound_count; i++)
		err = batch_add_unwound(merge->to, &unwound[i]);
	return err;
}

int
batch_add_batch(Batch *batch, const Batch *other)
{
	static int (*const steps[])(Merge *) = { add_mappings, add_functions, add_locations, add_stacks,
											 add_series,   add_samples,	  add_traces,	 add_notes,
											 add_receipts, add_counts };
	Merge merge = { .to = batch, .from = other };
	int err = 0;

	for (size_t i = 0; err == 0 && i < sizeof(steps) / sizeof(steps[0]); i++)
		err = steps[i](&merge);
	free(merge.mappings);
	free(merge.functions);
	free(merge.locations);
	free(merge.stacks);
	free(merge.series);
	return err;
}
