/*
 * intern_keys.c
 *		Makes keys: contents one after the other, strings with their NUL; for stacks, hashes.
 */
#include "writer/intern_keys.h"

#include <string.h>

#include "base/hash.h"

static void
intern_keys_put_string(Buffer *key, const char *text)
{
	buffer_put_bytes(key, text, strlen(text) + 1);
}

void
intern_series_key(const InternWork *work, uint32_t index, Buffer *key)
{
	const BatchSeries *series = &work->series[index];

	buffer_put_int8(key, series->period);
	intern_keys_put_string(key, series->profile_type);
	for (uint32_t i = 0; i < series->label_count; i++)
	{
		intern_keys_put_string(key, series->labels[i].name);
		intern_keys_put_string(key, series->labels[i].value);
	}
}

void
intern_mapping_key(const InternWork *work, uint32_t index, Buffer *key)
{
	intern_keys_put_string(key, work->mappings[index].build_id);
	intern_keys_put_string(key, work->mappings[index].file);
}

void
intern_function_key(const InternWork *work, uint32_t index, Buffer *key)
{
	const BatchFunction *function = &work->functions[index];

	buffer_put_int4(key, function->start_line);
	intern_keys_put_string(key, function->name);
	intern_keys_put_string(key, function->system_name);
	intern_keys_put_string(key, function->filename);
}

void
intern_location_key(const InternWork *work, uint32_t index, Buffer *key)
{
	const BatchLocation *location = &work->locations[index];

	/*
	 * Ids instead of contents: they are shorter, and all ids of the cache belong to one identity of
	 * the database.
	 */
	buffer_put_int4(key, intern_mapping_id(work, location));
	buffer_put_int8(key, (int64_t) location->address);
	for (uint32_t i = 0; i < location->line_count; i++)
	{
		buffer_put_int4(key, intern_function_id(work, &location->lines[i]));
		buffer_put_int4(key, location->lines[i].line);
	}
}

/*
 * Identifies a stack by 128 bits, because complete contents would need ten times the memory. The
 * two hashes have secret seeds; for two different stacks both are equal with a probability of about
 * 2^-128, so for the 65,000 stacks of the cache the risk is below 10^-28.
 */
void
intern_stack_key(const InternWork *work, uint32_t index, Buffer *key)
{
	const BatchStack *stack = &work->stacks[index];
	size_t length = strlen(stack->partition);

	for (int i = 0; i < 2; i++)
	{
		uint64_t hash = hash_bytes(work->stack_seeds[i], stack->partition, length);

		for (uint32_t depth = 0; depth < stack->depth; depth++)
			hash = hash_word(hash, (uint32_t) intern_location_id(work, stack->locations[depth]));
		/* the depth last, so that a stack and its beginning have unrelated hashes */
		buffer_put_int8(key, (int64_t) hash_word(hash, stack->depth));
	}
}
