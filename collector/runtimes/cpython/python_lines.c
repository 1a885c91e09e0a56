/*
 * python_lines.c
 *		Decodes three formats: pairs of bytes up to 3.9, those of 3.10, and the locations of 3.11.
 *
 * Tables come from a process and are not trusted. Lines are summed as unsigned numbers, so that no
 * sum overflows.
 */
#include "runtimes/cpython/python_lines.h"

#include <stdbool.h>

#define UNIT_BYTES 2
#define NO_LINE	   (-128) /* mark of 3.10: these bytes have no line */

/* Kinds of a location from 3.11 on. */
#define LOCATION_SHORT_LAST 9
#define LOCATION_ONE_LINE	10
#define LOCATION_TWO_LINES	12
#define LOCATION_LONG		14
#define LONG_NUMBERS		3 /* numbers after the line */

static int32_t
valid_line(uint32_t line)
{
	return line > 0 && line <= INT32_MAX ? (int32_t) line : 0;
}

/* Decodes pairs (bytes of code, lines to add), in which the lines are added after the bytes. */
static int32_t
line_of_pairs(const uint8_t *table, size_t length, uint32_t line, uint64_t offset)
{
	uint64_t at = 0;

	for (size_t i = 0; i + 1 < length; i += 2)
	{
		at += table[i];
		if (at > offset)
			break;
		line += (uint32_t) (int8_t) table[i + 1];
	}
	return valid_line(line);
}

/* Decodes pairs (bytes of code, lines to add), in which the lines hold for the bytes. */
static int32_t
line_of_ranges(const uint8_t *table, size_t length, uint32_t line, uint64_t offset)
{
	uint64_t end = 0;

	for (size_t i = 0; i + 1 < length; i += 2)
	{
		int8_t added = (int8_t) table[i + 1];

		if (added != NO_LINE)
			line += (uint32_t) added;
		end += table[i];
		if (end > offset)
			return added == NO_LINE ? 0 : valid_line(line);
	}
	return 0;
}

/* Reads a number of six bits per byte, the lowest first; advances *at. */
static uint32_t
read_number(const uint8_t *table, size_t length, size_t *at)
{
	uint32_t number = 0;
	uint32_t shift = 0;
	uint8_t byte;

	do
	{
		if (*at >= length)
			return number;
		byte = table[(*at)++];
		if (shift < 32)
			number |= (uint32_t) (byte & 63) << shift;
		shift += 6;
	} while (byte & 64);
	return number;
}

/* Reads a number whose lowest bit is the sign. */
static uint32_t
python_lines_read_signed(const uint8_t *table, size_t length, size_t *at)
{
	uint32_t number = read_number(table, length, at);

	return (number & 1) != 0 ? 0 - (number >> 1) : number >> 1;
}

static int32_t
line_of_locations(const uint8_t *table, size_t length, uint32_t line, uint64_t unit)
{
	uint64_t end = 0;
	size_t at = 0;

	while (at < length)
	{
		uint8_t first = table[at++];
		uint8_t kind = first >> 3 & 15;
		bool has_line = kind <= LOCATION_LONG;

		if (kind <= LOCATION_SHORT_LAST)
			at += 1;
		else if (kind <= LOCATION_TWO_LINES)
		{
			line += (uint32_t) (kind - LOCATION_ONE_LINE);
			at += 2;
		}
		else if (has_line)
			line += python_lines_read_signed(table, length, &at);
		if (kind == LOCATION_LONG)
		{
			for (int i = 0; i < LONG_NUMBERS; i++)
				(void) read_number(table, length, &at);
		}
		end += (uint64_t) (first & 7) + 1;
		if (end > unit)
			return has_line ? valid_line(line) : 0;
	}
	return 0;
}

int32_t
python_line(uint32_t minor, const uint8_t *table, size_t length, int32_t first_line,
			int32_t instruction)
{
	uint64_t unit = instruction > 0 ? (uint64_t) instruction : 0;
	uint32_t line = (uint32_t) first_line;

	if (minor >= 11)
		return line_of_locations(table, length, line, unit);
	if (minor == 10)
		return line_of_ranges(table, length, line, unit * UNIT_BYTES);
	return line_of_pairs(table, length, line, unit * UNIT_BYTES);
}
