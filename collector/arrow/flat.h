/*
 * flat.h
 *		Reads FlatBuffers (tables, vectors, texts) from bytes that are not trusted.
 *
 *   table   OFFSET  SIZE
 *           0       4     signed distance from the vtable to the table
 *           …             fields, at the offsets in the vtable
 *   vtable  0       2     its size
 *           2       2     size of the table
 *           4 + 2n  2     offset of field n in the table; 0, or beyond the vtable: absent
 *
 * Tables, vectors and texts in a table are referred to by an unsigned offset, relative to the
 * position of that offset. Nothing is read before a check that it lies within the bytes. A value
 * outside of the bytes counts as absent.
 */
#ifndef COLLECTOR_ARROW_FLAT_H
#define COLLECTOR_ARROW_FLAT_H

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "otlp/message.h"

typedef struct FlatTable
{
	Span bytes; /* all of the FlatBuffer */
	size_t at;
	size_t length;	/* length of the table */
	size_t vtable;	/* position of the vtable */
	size_t entries; /* number of fields in the vtable */
} FlatTable;

typedef struct FlatVector
{
	Span bytes;
	size_t at; /* position of the first item */
	uint32_t count;
} FlatVector;

/* Reads a little-endian number of 1, 2, 4 or 8 bytes. */
static inline uint64_t
little_endian(const uint8_t *bytes, unsigned width)
{
	uint64_t value = 0;

	memcpy(&value, bytes, width);
	return le64toh(value);
}

static inline bool
flat_holds(Span bytes, size_t at, size_t length)
{
	return at <= bytes.length && length <= bytes.length - at;
}

/*
 * Opens the table at a position. Returns false if the table or its vtable is outside of the bytes.
 */
static inline bool
flat_table_at(Span bytes, size_t at, FlatTable *table)
{
	int64_t vtable;
	size_t vtable_bytes;

	if (!flat_holds(bytes, at, 4))
		return false;
	vtable = (int64_t) at - (int32_t) little_endian(bytes.bytes + at, 4);
	if (vtable < 0 || !flat_holds(bytes, (size_t) vtable, 4))
		return false;
	*table = (FlatTable){ .bytes = bytes, .at = at, .vtable = (size_t) vtable };
	vtable_bytes = little_endian(bytes.bytes + vtable, 2);
	table->length = little_endian(bytes.bytes + vtable + 2, 2);
	if (vtable_bytes < 4 || !flat_holds(bytes, table->vtable, vtable_bytes) ||
		!flat_holds(bytes, at, table->length))
		return false;
	table->entries = (vtable_bytes - 4) / 2;
	return true;
}

/* Follows an offset. Returns false if it leads outside of the bytes. */
static inline bool
flat_follow(Span bytes, size_t at, size_t *to)
{
	if (!flat_holds(bytes, at, 4))
		return false;
	*to = at + little_endian(bytes.bytes + at, 4);
	return *to <= bytes.length;
}

static inline bool
flat_root(Span bytes, FlatTable *table)
{
	size_t at;

	return flat_follow(bytes, 0, &at) && flat_table_at(bytes, at, table);
}

/* Finds the position of a field of a given width. Returns false if it is absent. */
static inline bool
flat_field(const FlatTable *table, unsigned number, unsigned width, size_t *at)
{
	size_t place;

	if (number >= table->entries)
		return false;
	place = little_endian(table->bytes.bytes + table->vtable + 4 + 2 * number, 2);
	if (place == 0 || place > table->length || width > table->length - place)
		return false;
	*at = table->at + place;
	return true;
}

static inline uint64_t
flat_number(const FlatTable *table, unsigned number, unsigned width)
{
	size_t at;

	return flat_field(table, number, width, &at) ? little_endian(table->bytes.bytes + at, width)
												 : 0;
}

static inline bool
flat_table(const FlatTable *table, unsigned number, FlatTable *child)
{
	size_t at;

	return flat_field(table, number, 4, &at) && flat_follow(table->bytes, at, &at) &&
		   flat_table_at(table->bytes, at, child);
}

/*
 * Opens a vector of items of a given size. If the vector is absent, returns false and makes *vector
 * empty.
 */
static inline bool
flat_vector(const FlatTable *table, unsigned number, unsigned item_bytes, FlatVector *vector)
{
	size_t at;

	*vector = (FlatVector){ .bytes = table->bytes };
	if (!flat_field(table, number, 4, &at) || !flat_follow(table->bytes, at, &at) ||
		!flat_holds(table->bytes, at, 4))
		return false;
	vector->count = (uint32_t) little_endian(table->bytes.bytes + at, 4);
	vector->at = at + 4;
	if (vector->count <= (table->bytes.length - vector->at) / item_bytes)
		return true;
	vector->count = 0;
	return false;
}

/* Opens an item of a vector of tables. */
static inline bool
flat_vector_table(const FlatVector *vector, uint32_t item, FlatTable *table)
{
	size_t at;

	return item < vector->count &&
		   flat_follow(vector->bytes, vector->at + (size_t) 4 * item, &at) &&
		   flat_table_at(vector->bytes, at, table);
}

static inline Span
flat_text(const FlatTable *table, unsigned number)
{
	FlatVector vector;

	if (!flat_vector(table, number, 1, &vector))
		return (Span){ (const uint8_t *) "", 0 };
	return (Span){ table->bytes.bytes + vector.at, vector.count };
}

#endif
