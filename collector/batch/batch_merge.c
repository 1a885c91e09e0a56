/*
 * batch_merge.c
 *		Adds one batch to another: all of it, or the items that some series or stacks need.
 *
 * The kinds are added in an order in which each refers only to earlier ones; a map for each kind
 * translates the other batch's indexes. If only some series or stacks are added, the items that
 * they need are marked first, in the opposite order.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/param.h>

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
	uint32_t first_series; /* series to add, from this one on */
	uint32_t last_series;
	uint32_t first_stack; /* stacks to add without series, from this one on */
	uint32_t last_stack;
	bool is_part; /* false: everything is added, and the marks are NULL */
	bool *mapping_marks;
	bool *function_marks;
	bool *location_marks;
	bool *stack_marks;
} Merge;

static bool
merge_is_wanted(const Merge *merge, const bool *marks, size_t i)
{
	return !merge->is_part || marks[i];
}

static bool
has_series(const Merge *merge, uint32_t series)
{
	return !merge->is_part || (series >= merge->first_series && series < merge->last_series);
}

static uint32_t *
map_create(size_t count)
{
	return calloc(count + 1, sizeof(uint32_t));
}

static int
merge_add_mappings(Merge *merge)
{
	const BatchMapping *items;
	size_t count = batch_mappings(merge->from, &items);
	int err = 0;

	merge->mappings = map_create(count);
	if (merge->mappings == NULL)
		return -ENOMEM;
	for (size_t i = 0; err == 0 && i < count; i++)
		if (merge_is_wanted(merge, merge->mapping_marks, i))
			err = batch_add_mapping(merge->to, &items[i], &merge->mappings[i]);
	return err;
}

static int
merge_add_functions(Merge *merge)
{
	const BatchFunction *items;
	size_t count = batch_functions(merge->from, &items);
	int err = 0;

	merge->functions = map_create(count);
	if (merge->functions == NULL)
		return -ENOMEM;
	for (size_t i = 0; err == 0 && i < count; i++)
		if (merge_is_wanted(merge, merge->function_marks, i))
			err = batch_add_function_of(merge->to, merge->from, (uint32_t) i, &merge->functions[i]);
	return err;
}

/* Adds a location after translating its indexes to the target batch; lines has room for them. */
static int
merge_add_location(Merge *merge, const BatchLocation *location, BatchLine *lines, uint32_t *index)
{
	BatchLocation own = *location;

	for (uint32_t i = 0; i < location->line_count; i++)
		lines[i] =
			(BatchLine){ merge->functions[location->lines[i].function], location->lines[i].line };
	if (location->mapping != BATCH_NO_MAPPING)
		own.mapping = merge->mappings[location->mapping];
	own.lines = lines;
	return batch_add_location(merge->to, &own, index);
}

static int
merge_add_locations(Merge *merge)
{
	const BatchLocation *items;
	size_t count = batch_locations(merge->from, &items);
	uint32_t line_count = 0;
	BatchLine *lines;
	int err = 0;

	for (size_t i = 0; i < count; i++)
		line_count = MAX(line_count, items[i].line_count);
	lines = calloc(line_count + (size_t) 1, sizeof(BatchLine));
	merge->locations = map_create(count);
	if (merge->locations == NULL || lines == NULL)
		err = -ENOMEM;
	for (size_t i = 0; err == 0 && i < count; i++)
		if (merge_is_wanted(merge, merge->location_marks, i))
			err = merge_add_location(merge, &items[i], lines, &merge->locations[i]);
	free(lines);
	return err;
}

/* Adds a stack with the indexes of the target batch; locations has room for its depth. */
static int
merge_add_stack(Merge *merge, const BatchStack *stack, uint32_t *locations, uint32_t *index)
{
	BatchStack own = *stack;

	for (uint32_t i = 0; i < stack->depth; i++)
		locations[i] = merge->locations[stack->locations[i]];
	own.locations = locations;
	return batch_add_stack(merge->to, &own, index);
}

static int
merge_add_stacks(Merge *merge)
{
	const BatchStack *items;
	size_t count = batch_stacks(merge->from, &items);
	uint32_t depth = 0;
	uint32_t *locations;
	int err = 0;

	for (size_t i = 0; i < count; i++)
		depth = MAX(depth, items[i].depth);
	locations = map_create(depth);
	merge->stacks = map_create(count);
	if (merge->stacks == NULL || locations == NULL)
		err = -ENOMEM;
	for (size_t i = 0; err == 0 && i < count; i++)
		if (merge_is_wanted(merge, merge->stack_marks, i))
			err = merge_add_stack(merge, &items[i], locations, &merge->stacks[i]);
	free(locations);
	return err;
}

static int
merge_add_series(Merge *merge)
{
	const BatchSeries *items;
	size_t count = batch_series(merge->from, &items);
	int err = 0;

	merge->series = map_create(count);
	if (merge->series == NULL)
		return -ENOMEM;
	for (size_t i = 0; err == 0 && i < count; i++)
		if (has_series(merge, (uint32_t) i))
			err = batch_add_series(merge->to, &items[i], &merge->series[i]);
	return err;
}

/* Adds the samples of the chosen series after translating their indexes to the target batch. */
static int
merge_add_samples(Merge *merge)
{
	const BatchSample *items;
	size_t count = batch_samples(merge->from, &items);
	int err = 0;

	for (size_t i = 0; err == 0 && i < count; i++)
	{
		BatchSample sample = items[i];

		if (!has_series(merge, sample.series))
			continue;
		sample.series = merge->series[sample.series];
		sample.stack = merge->stacks[sample.stack];
		err = batch_add_sample(merge->to, &sample);
	}
	return err;
}

/* Adds the traces of the chosen series after translating their indexes to the target batch. */
static int
merge_add_traces(Merge *merge)
{
	const BatchTrace *items;
	size_t count = batch_traces(merge->from, &items);
	int err = 0;

	for (size_t i = 0; err == 0 && i < count; i++)
	{
		BatchTrace trace = items[i];

		if (!has_series(merge, trace.sample.series))
			continue;
		trace.sample.series = merge->series[trace.sample.series];
		trace.sample.stack = merge->stacks[trace.sample.stack];
		err = batch_add_trace(merge->to, &trace);
	}
	return err;
}

static int
merge_add_receipts(Merge *merge)
{
	const BatchReceipt *items;
	size_t count = batch_receipts(merge->from, &items);
	int err = 0;

	for (size_t i = 0; err == 0 && i < count; i++)
		err = batch_add_receipt(merge->to, items[i].bytes);
	return err;
}

static int
merge_add_notes(Merge *merge)
{
	const BatchNote *items;
	size_t count = batch_notes(merge->from, &items);
	int err = 0;

	for (size_t i = 0; err == 0 && i < count; i++)
	{
		BatchNote note = items[i];

		if (!has_series(merge, note.series))
			continue;
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

static int
mark_stacks_of_series(Merge *merge)
{
	const BatchSample *samples;
	const BatchTrace *traces;
	size_t sample_count = batch_samples(merge->from, &samples);
	size_t trace_count = batch_traces(merge->from, &traces);

	for (size_t i = 0; i < sample_count; i++)
		merge->stack_marks[samples[i].stack] |= has_series(merge, samples[i].series);
	for (size_t i = 0; i < trace_count; i++)
		merge->stack_marks[traces[i].sample.stack] |= has_series(merge, traces[i].sample.series);
	return 0;
}

static int
mark_stack_range(Merge *merge)
{
	for (uint32_t i = merge->first_stack; i < merge->last_stack; i++)
		merge->stack_marks[i] = true;
	return 0;
}

/* Marks the locations of the marked stacks, and their mappings and functions. */
static int
mark_locations(Merge *merge)
{
	const BatchStack *stacks;
	const BatchLocation *locations;
	size_t stack_count = batch_stacks(merge->from, &stacks);
	size_t location_count = batch_locations(merge->from, &locations);

	for (size_t i = 0; i < stack_count; i++)
		for (uint32_t j = 0; merge->stack_marks[i] && j < stacks[i].depth; j++)
			merge->location_marks[stacks[i].locations[j]] = true;
	for (size_t i = 0; i < location_count; i++)
	{
		const BatchLocation *location = &locations[i];

		if (!merge->location_marks[i])
			continue;
		if (location->mapping != BATCH_NO_MAPPING)
			merge->mapping_marks[location->mapping] = true;
		for (uint32_t j = 0; j < location->line_count; j++)
			merge->function_marks[location->lines[j].function] = true;
	}
	return 0;
}

static int
marks_create(Merge *merge)
{
	const BatchMapping *mappings;
	const BatchFunction *functions;
	const BatchLocation *locations;
	const BatchStack *stacks;

	merge->mapping_marks = calloc(batch_mappings(merge->from, &mappings) + 1, sizeof(bool));
	merge->function_marks = calloc(batch_functions(merge->from, &functions) + 1, sizeof(bool));
	merge->location_marks = calloc(batch_locations(merge->from, &locations) + 1, sizeof(bool));
	merge->stack_marks = calloc(batch_stacks(merge->from, &stacks) + 1, sizeof(bool));
	if (merge->mapping_marks == NULL || merge->function_marks == NULL ||
		merge->location_marks == NULL || merge->stack_marks == NULL)
		return -ENOMEM;
	return 0;
}

static int
run_steps(Merge *merge, int (*const steps[])(Merge *), size_t count)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < count; i++)
		err = steps[i](merge);
	free(merge->mappings);
	free(merge->functions);
	free(merge->locations);
	free(merge->stacks);
	free(merge->series);
	free(merge->mapping_marks);
	free(merge->function_marks);
	free(merge->location_marks);
	free(merge->stack_marks);
	return err;
}

int
batch_add_batch(Batch *batch, const Batch *other)
{
	static int (*const steps[])(
		Merge *) = { merge_add_mappings, merge_add_functions, merge_add_locations, merge_add_stacks,
					 merge_add_series,	 merge_add_samples,	  merge_add_traces,	   merge_add_notes,
					 merge_add_receipts, add_counts };
	Merge merge = { .to = batch, .from = other };

	return run_steps(&merge, steps, sizeof(steps) / sizeof(steps[0]));
}

int
batch_add_series_of(Batch *batch, const Batch *other, uint32_t first, uint32_t last)
{
	static int (*const steps[])(Merge *) = {
		marks_create,		 mark_stacks_of_series, mark_locations,	  merge_add_mappings,
		merge_add_functions, merge_add_locations,	merge_add_stacks, merge_add_series,
		merge_add_samples,	 merge_add_traces,		merge_add_notes
	};
	Merge merge = {
		.to = batch, .from = other, .first_series = first, .last_series = last, .is_part = true
	};

	return run_steps(&merge, steps, sizeof(steps) / sizeof(steps[0]));
}

int
batch_add_stacks_of(Batch *batch, const Batch *other, uint32_t first, uint32_t last)
{
	static int (*const steps[])(
		Merge *) = { marks_create,		  mark_stack_range,	   mark_locations,	merge_add_mappings,
					 merge_add_functions, merge_add_locations, merge_add_stacks };
	Merge merge = {
		.to = batch, .from = other, .first_stack = first, .last_stack = last, .is_part = true
	};

	return run_steps(&merge, steps, sizeof(steps) / sizeof(steps[0]));
}

int
batch_add_counts_of(Batch *batch, const Batch *other)
{
	Merge merge = { .to = batch, .from = other };

	return add_counts(&merge);
}
