/*
 * dwarf_bytes.h
 *		Reads numbers and strings of DWARF sections, within their bounds.
 *
 * Numbers have this machine's byte order, which is little-endian (elf_headers.h refuses others).
 */
#ifndef COLLECTOR_DWARF_BYTES_H
#define COLLECTOR_DWARF_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The bytes of a section, or of a part of it. */
typedef struct DwarfSpan
{
	const uint8_t *bytes; /* NULL: the file has no such section */
	uint64_t size_bytes;
} DwarfSpan;

/*
 * A position in a span. A read beyond the end leaves the position at the end and marks it as
 * failed.
 */
typedef struct DwarfCursor
{
	const uint8_t *at;
	const uint8_t *end;
	bool failed;
} DwarfCursor;

/* Returns a cursor at an offset of a span, failed if the span is shorter than that. */
static inline DwarfCursor
dwarf_cursor(const DwarfSpan *span, uint64_t offset)
{
	bool outside = span->bytes == NULL || offset > span->size_bytes;

	if (outside)
		return (DwarfCursor){ .failed = true };
	return (DwarfCursor){ span->bytes + offset, span->bytes + span->size_bytes, false };
}

static inline uint64_t
dwarf_cursor_left(const DwarfCursor *cursor)
{
	return (uint64_t) (cursor->end - cursor->at);
}

static inline void
dwarf_cursor_fail(DwarfCursor *cursor)
{
	cursor->at = cursor->end;
	cursor->failed = true;
}

static inline void
dwarf_cursor_skip(DwarfCursor *cursor, uint64_t count)
{
	if (count > dwarf_cursor_left(cursor))
		dwarf_cursor_fail(cursor);
	else
		cursor->at += count;
}

/* Reads an unsigned number of 1 to 8 bytes; returns 0 beyond the end. */
static inline uint64_t
dwarf_cursor_number(DwarfCursor *cursor, unsigned size_bytes)
{
	uint64_t number = 0;
	uint32_t word;
	uint16_t half;

	if (size_bytes > dwarf_cursor_left(cursor))
	{
		dwarf_cursor_fail(cursor);
		return 0;
	}
	switch (size_bytes)
	{
		case 1:
			number = *cursor->at;
			break;
		case 2:
			memcpy(&half, cursor->at, sizeof(half));
			number = half;
			break;
		case 4:
			memcpy(&word, cursor->at, sizeof(word));
			number = word;
			break;
		case 8:
			memcpy(&number, cursor->at, sizeof(number));
			break;
		default:
			memcpy(&number, cursor->at, size_bytes);
	}
	cursor->at += size_bytes;
	return number;
}

/* Reads a LEB128 number; bits beyond 64 are dropped. */
static inline uint64_t
dwarf_cursor_leb(DwarfCursor *cursor, bool is_signed)
{
	uint64_t number = 0;
	unsigned shift = 0;
	uint8_t byte;

	do
	{
		if (cursor->at == cursor->end)
		{
			cursor->failed = true;
			return 0;
		}
		byte = *cursor->at++;
		if (shift < 64)
			number |= (uint64_t) (byte & 0x7f) << shift;
		shift += 7;
	} while ((byte & 0x80) != 0);
	if (is_signed && (byte & 0x40) != 0 && shift < 64)
		number |= UINT64_MAX << shift;
	return number;
}

static inline uint64_t
dwarf_cursor_uleb(DwarfCursor *cursor)
{
	if (cursor->at != cursor->end && *cursor->at < 0x80)
		return *cursor->at++;
	return dwarf_cursor_leb(cursor, false);
}

static inline int64_t
dwarf_cursor_sleb(DwarfCursor *cursor)
{
	return (int64_t) dwarf_cursor_leb(cursor, true);
}

/* Reads a string; returns NULL if it has no end. */
static inline const char *
dwarf_cursor_string(DwarfCursor *cursor)
{
	const char *string = (const char *) cursor->at;
	const uint8_t *end =
		cursor->failed ? NULL : memchr(string, '\0', (size_t) dwarf_cursor_left(cursor));

	if (end == NULL)
	{
		dwarf_cursor_fail(cursor);
		return NULL;
	}
	cursor->at = end + 1;
	return string;
}

/*
 * Reads the length at the start of a unit, which also determines the size of offsets. Afterwards
 * the cursor ends at the end of the unit.
 */
static inline void
dwarf_cursor_enter(DwarfCursor *cursor, uint8_t *offset_bytes)
{
	uint64_t length = dwarf_cursor_number(cursor, 4);

	*offset_bytes = 4;
	if (length == UINT32_MAX)
	{
		*offset_bytes = 8;
		length = dwarf_cursor_number(cursor, 8);
	}
	if (length > dwarf_cursor_left(cursor))
		dwarf_cursor_fail(cursor);
	else
		cursor->end = cursor->at + length;
}

/*
 * Returns a string of a string section, which must end with a zero byte; NULL if the offset is
 * outside.
 */
static inline const char *
dwarf_span_string(const DwarfSpan *span, uint64_t offset)
{
	return offset < span->size_bytes ? (const char *) span->bytes + offset : NULL;
}

#endif
