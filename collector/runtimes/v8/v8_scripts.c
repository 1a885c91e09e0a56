/*
 * v8_scripts.c
 *		Counts the ends of lines as V8 does.
 */
#include "runtimes/v8/v8_scripts.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define COUNT_COST_NS  8				  /* cost charged for a byte, four times the measured one */
#define COUNT_BURST_NS (1000 * NS_PER_MS) /* 125 MB at a time, and as much per second */

#define LINE_SEPARATOR		0x2028
#define PARAGRAPH_SEPARATOR 0x2029

void
v8_scripts_fini(V8Scripts *scripts)
{
	for (int i = 0; i < V8_SCRIPTS_MAX; i++)
		free(scripts->scripts[i].lines);
	memset(scripts, 0, sizeof(*scripts));
}

size_t
v8_scripts_bytes(const V8Scripts *scripts)
{
	size_t bytes = 0;

	for (int i = 0; i < V8_SCRIPTS_MAX; i++)
	{
		if (scripts->scripts[i].lines != NULL)
			bytes += scripts->scripts[i].pieces * sizeof(*scripts->scripts[i].lines);
	}
	return bytes;
}

static uint32_t
character_at(const uint8_t *bytes, uint8_t width, uint32_t at)
{
	return width == 1 ? bytes[at] : (uint32_t) (bytes[2 * at] | bytes[2 * at + 1] << 8);
}

/*
 * Counts the ends of lines among the first count characters; one more character must be readable.
 */
static uint32_t
count_lines(const uint8_t *bytes, uint8_t width, uint32_t count, uint32_t available)
{
	uint32_t lines = 0;

	for (uint32_t i = 0; i < count; i++)
	{
		uint32_t character = character_at(bytes, width, i);

		if (character == '\n' || character == LINE_SEPARATOR || character == PARAGRAPH_SEPARATOR)
			lines++;
		else if (character == '\r' &&
				 (i + 1 == available || character_at(bytes, width, i + 1) != '\n'))
			lines++;
	}
	return lines;
}

/*
 * Counts the ends of lines among the first count characters of a piece. Returns false if they are
 * unreadable. bytes: room for a piece and the character after it.
 */
static bool
count_in_piece(V8Memory *memory, const V8Characters *source, uint32_t piece, uint32_t count,
			   uint8_t *bytes, uint32_t *lines)
{
	uint32_t first = piece * V8_PIECE_LENGTH;
	uint32_t available = source->length - first;

	if (available > count)
		available = count + 1;
	if (!v8_read(memory, source->address + (uint64_t) first * source->width, bytes,
				 (size_t) available * source->width))
		return false;
	*lines = count_lines(bytes, source->width, count, available);
	return true;
}

#define PIECE_BYTES (2 * (V8_PIECE_LENGTH + 1))

/* Counts the lines before each piece. */
static bool
count_pieces(V8Memory *memory, const V8Characters *source, V8Script *script)
{
	uint8_t bytes[PIECE_BYTES];
	uint32_t reads_left = memory->reads_left;
	bool had = true;

	script->pieces = source->length / V8_PIECE_LENGTH + 1;
	script->lines = calloc(script->pieces, sizeof(*script->lines));
	if (script->lines == NULL)
		return false;
	memory->reads_left = script->pieces; /* the number of reads is bounded by the length */
	for (uint32_t i = 0; had && i + 1 < script->pieces; i++)
	{
		uint32_t lines = 0;

		had = count_in_piece(memory, source, i, V8_PIECE_LENGTH, bytes, &lines);
		script->lines[i + 1] = script->lines[i] + lines;
	}
	memory->reads_left = reads_left;
	return had;
}

/* Returns the script, and counts its lines if that was not done; NULL if they cannot be counted. */
static V8Script *
get_script(V8Scripts *scripts, V8Memory *memory, uint64_t address, uint64_t id, uint64_t object,
		   const V8Characters *source)
{
	V8Script *least = &scripts->scripts[0];

	scripts->uses++;
	for (int i = 0; i < V8_SCRIPTS_MAX; i++)
	{
		V8Script *script = &scripts->scripts[i];

		/* the garbage collector has moved the script: its lines are counted again */
		if (script->lines != NULL && script->address == address && script->id == id &&
			script->source == object && script->length == source->length)
		{
			script->used = scripts->uses;
			return script;
		}
		if (script->used < least->used)
			least = script;
	}
	if (!allowance_take(&scripts->counting, scripts->now_ns,
						(uint64_t) source->length * source->width * COUNT_COST_NS, COUNT_BURST_NS))
		return NULL;
	free(least->lines);
	*least = (V8Script){ .address = address,
						 .id = id,
						 .source = object,
						 .used = scripts->uses,
						 .length = source->length };
	if (count_pieces(memory, source, least))
		return least;
	free(least->lines);
	*least = (V8Script){ 0 };
	return NULL;
}

int32_t
v8_scripts_line(V8Scripts *scripts, V8Memory *memory, uint64_t address, uint64_t id,
				int32_t position)
{
	const V8Layout *layout = memory->layout;
	uint8_t bytes[PIECE_BYTES];
	V8Characters source;
	const V8Script *script;
	uint32_t piece = (uint32_t) position / V8_PIECE_LENGTH;
	uint32_t lines;
	uint64_t object;
	int64_t first;

	if (address == 0 || position < 0)
		return 0;
	object = v8_object_at(memory, address + layout->script_source);
	first = v8_small_at(memory, address + layout->script_first_line);
	if (first < 0 || first > INT32_MAX / 2 || !v8_characters_find(memory, object, &source) ||
		(uint32_t) position > source.length || source.length > V8_SOURCE_MAX)
		return 0;
	script = get_script(scripts, memory, address, id, object, &source);
	if (script == NULL || !count_in_piece(memory, &source, piece,
										  (uint32_t) position % V8_PIECE_LENGTH, bytes, &lines))
		return 0;
	return (int32_t) (first + script->lines[piece] + lines + 1);
}
