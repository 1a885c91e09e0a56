/*
 * hotspot_streams.h
 *		Decodes HotSpot's compressed numbers and tables of lines.
 */
#ifndef COLLECTOR_HOTSPOT_STREAMS_H
#define COLLECTOR_HOTSPOT_STREAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A piece of memory that is read from its start. */
typedef struct HotSpotStream
{
	const uint8_t *at;
	const uint8_t *end;
	uint8_t excess; /* added to each byte of a number: 1 from version 20 on, 0 before */
} HotSpotStream;

/* Reads a number (UNSIGNED5). Returns false if it does not end within the stream. */
bool hotspot_number(HotSpotStream *stream, uint32_t *number);

#define HOTSPOT_VERSION_EXCESS 20

/*
 * Returns the line of the bytecode at a place; 0 if unknown; -1 means the line of the first
 * bytecode.
 */
int32_t hotspot_line(HotSpotStream lines, int32_t place);

#endif
