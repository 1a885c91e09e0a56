/*
 * map_reader.c
 *		Turns lines of a perf map into regions of code.
 */
#include "jit/map_reader.h"

#include <string.h>

#include "jit/perf_map.h"

/* Adds the code that the complete line describes, or counts a bad line. */
static void
map_reader_take_line(MapReader *reader, const CodeSink *sink)
{
	PerfMapLine line;
	CodeName name;
	CodeObject *code = NULL;

	code_tally_one(&sink->tally->pieces);
	reader->line[reader->length] = '\0';
	if (!reader->is_long && perf_map_parse_line(reader->line, &line))
	{
		name = perf_map_name(line.name);
		code = code_table_add(sink->table, &name);
	}
	if (code == NULL || code_map_add(sink->map, line.start, line.end, code) != 0)
		code_tally_one(&sink->tally->bad);
	map_reader_begin(reader);
}

void
map_reader_take(MapReader *reader, const CodeSink *sink, const char *bytes, size_t length)
{
	while (length > 0)
	{
		const char *newline = memchr(bytes, '\n', length);
		size_t part = newline != NULL ? (size_t) (newline - bytes) : length;
		size_t room = sizeof(reader->line) - 1 - reader->length;

		/* A line that is too long is cut, and refused as a whole when its end arrives. */
		reader->is_long |= part > room;
		memcpy(reader->line + reader->length, bytes, part < room ? part : room);
		reader->length += part < room ? part : room;
		if (newline == NULL)
			return;
		map_reader_take_line(reader, sink);
		bytes += part + 1;
		length -= part + 1;
	}
}

void
map_reader_begin(MapReader *reader)
{
	reader->length = 0;
	reader->is_long = false;
}
