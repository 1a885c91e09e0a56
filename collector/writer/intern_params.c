/*
 * intern_params.c
 *		Encodes items as arrays in PostgreSQL's binary format.
 */
#include "writer/intern_params.h"

#include <string.h>

/* Appends labels as jsonb, whose binary format is the version number 1 followed by the text. */
static void
intern_put_labels(Buffer *buffer, const BatchSeries *series)
{
	size_t begun = wire_begin(buffer);

	buffer_put_bytes(buffer, "\001", 1);
	wire_json_labels(buffer, series->labels, series->label_count);
	wire_end(buffer, begun);
}

void
intern_encode_series(const InternWork *work, const uint32_t *indexes, uint32_t count,
					 Buffer *buffers)
{
	wire_array(&buffers[0], WIRE_TEXT, count);
	wire_array(&buffers[1], WIRE_JSONB, count);
	wire_array(&buffers[2], WIRE_INT8, count);
	for (uint32_t i = 0; i < count; i++)
	{
		const BatchSeries *series = &work->series[indexes[i]];

		wire_text_element(&buffers[0], series->profile_type);
		intern_put_labels(&buffers[1], series);
		wire_int8_element(&buffers[2], series->period);
	}
}

void
intern_encode_mappings(const InternWork *work, const uint32_t *indexes, uint32_t count,
					   Buffer *buffers)
{
	wire_array(&buffers[0], WIRE_TEXT, count);
	wire_array(&buffers[1], WIRE_TEXT, count);
	for (uint32_t i = 0; i < count; i++)
	{
		wire_text_element(&buffers[0], work->mappings[indexes[i]].build_id);
		wire_text_element(&buffers[1], work->mappings[indexes[i]].file);
	}
}

void
intern_encode_functions(const InternWork *work, const uint32_t *indexes, uint32_t count,
						Buffer *buffers)
{
	wire_array(&buffers[0], WIRE_TEXT, count);
	wire_array(&buffers[1], WIRE_TEXT, count);
	wire_array(&buffers[2], WIRE_TEXT, count);
	wire_array(&buffers[3], WIRE_INT4, count);
	for (uint32_t i = 0; i < count; i++)
	{
		const BatchFunction *function = &work->functions[indexes[i]];

		wire_text_element(&buffers[0], function->name);
		wire_text_element(&buffers[1], function->system_name);
		wire_text_element(&buffers[2], function->filename);
		wire_int4_element(&buffers[3], function->start_line);
	}
}

void
intern_encode_locations(const InternWork *work, const uint32_t *indexes, uint32_t count,
						Buffer *buffers)
{
	size_t line_count = 0;

	/*
	 * The lines of all locations are two flat arrays, whose length must be known before their first
	 * element; the third array has the number of lines of each location.
	 */
	for (uint32_t i = 0; i < count; i++)
		line_count += work->locations[indexes[i]].line_count;
	wire_array(&buffers[0], WIRE_INT4, count);
	wire_array(&buffers[1], WIRE_INT8, count);
	wire_array(&buffers[2], WIRE_INT4, count);
	wire_array(&buffers[3], WIRE_INT4, line_count);
	wire_array(&buffers[4], WIRE_INT4, line_count);
	for (uint32_t i = 0; i < count; i++)
	{
		const BatchLocation *location = &work->locations[indexes[i]];

		wire_int4_element(&buffers[0], intern_mapping_id(work, location));
		wire_int8_element(&buffers[1], (int64_t) location->address);
		wire_int4_element(&buffers[2], (int32_t) location->line_count);
		for (uint32_t j = 0; j < location->line_count; j++)
		{
			wire_int4_element(&buffers[3], intern_function_id(work, &location->lines[j]));
			wire_int4_element(&buffers[4], location->lines[j].line);
		}
	}
}

/* Returns the number of stacks, beginning with first, that belong to one dictionary partition. */
static uint32_t
partition_length(const InternWork *work, const uint32_t *indexes, uint32_t first, uint32_t count)
{
	uint32_t end = first;

	while (end < count &&
		   work->stacks[indexes[end]].partition == work->stacks[indexes[first]].partition)
		end++;
	return end - first;
}

void
intern_encode_stacks(const InternWork *work, const uint32_t *indexes, uint32_t count,
					 Buffer *buffers)
{
	uint32_t partition_count = 0;
	size_t frame_count = 0;

	/*
	 * Stacks are sorted by partition. A run of stacks of one partition is one element of the first
	 * two arrays: name and number of stacks.
	 */
	for (uint32_t i = 0; i < count; i += partition_length(work, indexes, i, count))
		partition_count++;
	for (uint32_t i = 0; i < count; i++)
		frame_count += work->stacks[indexes[i]].depth;
	wire_array(&buffers[0], WIRE_TEXT, partition_count);
	wire_array(&buffers[1], WIRE_INT4, partition_count);
	for (uint32_t i = 0; i < count; i += partition_length(work, indexes, i, count))
	{
		wire_text_element(&buffers[0], work->stacks[indexes[i]].partition);
		wire_int4_element(&buffers[1], (int32_t) partition_length(work, indexes, i, count));
	}
	/* depth of each stack, and the locations of all stacks, one after the other */
	wire_array(&buffers[2], WIRE_INT4, count);
	wire_array(&buffers[3], WIRE_INT4, frame_count);
	for (uint32_t i = 0; i < count; i++)
	{
		const BatchStack *stack = &work->stacks[indexes[i]];

		wire_int4_element(&buffers[2], (int32_t) stack->depth);
		for (uint32_t j = 0; j < stack->depth; j++)
			wire_int4_element(&buffers[3], intern_location_id(work, stack->locations[j]));
	}
}
