/*
 * hotspot_streams.c
 *		Decodes numbers of one to five bytes. Each byte has six bits; except for the fifth one, a
 *		high byte means that another follows.
 */
#include "runtimes/hotspot/hotspot_streams.h"

#define NUMBER_BYTES 5
#define HIGH		 192
#define PAIR		 255 /* this byte precedes two numbers; other bytes contain both */

bool
hotspot_number(HotSpotStream *stream, uint32_t *number)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < NUMBER_BYTES; i++)
	{
		uint32_t byte;

		if (stream->at >= stream->end)
			return false;
		byte = *stream->at++;
		if (byte < stream->excess)
			return false;
		sum += (byte - stream->excess) << 6 * i;
		if (byte < HIGH)
			break;
	}
	*number = sum;
	return true;
}

static bool
hotspot_stream_read_signed(HotSpotStream *stream, int32_t *number)
{
	uint32_t value;

	if (!hotspot_number(stream, &value))
		return false;
	*number = (int32_t) (value >> 1 ^ (0 - (value & 1)));
	return true;
}

/* Reads the distances to the next entry. Returns false at the end. */
static bool
hotspot_stream_read_entry(HotSpotStream *lines, int32_t *places, int32_t *count)
{
	uint8_t byte;

	if (lines->at >= lines->end || *lines->at == 0)
		return false;
	byte = *lines->at++;
	if (byte == PAIR)
		return hotspot_stream_read_signed(lines, places) &&
			   hotspot_stream_read_signed(lines, count);
	*places = byte >> 3;
	*count = byte & 7;
	return true;
}

int32_t
hotspot_line(HotSpotStream lines, int32_t place)
{
	uint32_t at = 0;
	uint32_t line = 0;
	int32_t best = -1;
	int32_t found = 0;
	int32_t places;
	int32_t count;

	if (place < 0)
		place = 0;
	while (hotspot_stream_read_entry(&lines, &places, &count))
	{
		at += (uint32_t) places;
		line += (uint32_t) count;
		if ((int32_t) at > best && (int32_t) at <= place)
		{
			best = (int32_t) at;
			found = (int32_t) line;
		}
	}
	return found > 0 ? found : 0;
}
