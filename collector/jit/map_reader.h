/*
 * map_reader.h
 *		What the text of a perf map says, line by line.
 */
#ifndef COLLECTOR_MAP_READER_H
#define COLLECTOR_MAP_READER_H

#include <stdbool.h>
#include <stddef.h>

#include "jit/code_sink.h"

#define MAP_LINE_BYTES 8192 /* a longer one is none */

/* Zeroed: at the beginning. */
typedef struct MapReader
{
	size_t length; /* of a line whose end has not come */
	bool is_long;
	char line[MAP_LINE_BYTES];
} MapReader;

/* An unfinished line at the end waits for its newline. */
void map_reader_take(MapReader *reader, const CodeSink *sink, const char *bytes, size_t length);
void map_reader_begin(MapReader *reader);

#endif
