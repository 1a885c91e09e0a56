/*
 * map_reader.h
 *		Reads the text of a perf map line by line.
 */
#ifndef COLLECTOR_MAP_READER_H
#define COLLECTOR_MAP_READER_H

#include <stdbool.h>
#include <stddef.h>

#include "jit/code_sink.h"

#define MAP_LINE_BYTES 8192 /* longer lines count as malformed */

/* A zeroed reader is at the beginning of the file. */
typedef struct MapReader
{
	size_t length; /* length of the incomplete line at the end of the last bytes */
	bool is_long;
	char line[MAP_LINE_BYTES];
} MapReader;

/*
 * Processes the lines in bytes. An incomplete line at the end is kept until the call that brings
 * its newline.
 */
void map_reader_take(MapReader *reader, const CodeSink *sink, const char *bytes, size_t length);
void map_reader_begin(MapReader *reader);

#endif
