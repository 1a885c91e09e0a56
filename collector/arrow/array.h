/*
 * array.h
 *		Accesses the values of a column in the bytes of a record batch.
 *
 * arrow_array_load() checks once that the buffers are long enough. References of items (indexes,
 * offsets, run ends, views) are checked when an item is read, so the cost depends on the number of
 * items read.
 */
#ifndef COLLECTOR_ARROW_ARRAY_H
#define COLLECTOR_ARROW_ARRAY_H

#include "arrow/buffers.h"

#define ARROW_LENGTH_MAX (UINT32_C(1) << 30)

typedef struct ArrowArray
{
	const ArrowField *field;
	bool is_indexes; /* indexes into a dictionary; false: values */
	uint32_t length;
	Span validity; /* a bit for each item; empty: no item is null */
	Span data;	   /* items of fixed width, bits of booleans, bytes of texts, or views */
	Span offsets;  /* 32 bits each */
	Span sizes;	   /* 32 bits each */
	const Span *views;
	uint32_t view_count;
	uint32_t run; /* the run that was found last */
	struct ArrowArray *children;
	const ArrowDictionary *dictionary;
	uint32_t *memo; /* the reader's result for each item; NULL: none yet */
} ArrowArray;

/*
 * Loads the next array of the batch; its type is that of the field. is_values is true for the
 * values of a dictionary, false for indexes into one. On failure returns false and sets
 * batch->error.
 */
bool arrow_array_load(ArrowBatch *batch, const ArrowField *field, bool is_values,
					  ArrowArray *array);

/* Location of a value, found by following runs and dictionaries. */
typedef struct ArrowPlace
{
	ArrowArray *array; /* has values, not runs or indexes */
	uint32_t item;
	bool is_null;
} ArrowPlace;

/*
 * Finds the location of an item. Returns false if the item or its index is out of range, or the
 * dictionary is missing.
 */
bool arrow_place(ArrowArray *array, uint32_t item, ArrowPlace *place);

/* Reads an integer, time or boolean. Returns 0 for null and for other types. */
int64_t arrow_integer(const ArrowPlace *place);

/*
 * Reads a text or binary value; a null is empty. Returns false if the value is outside of its
 * buffers.
 */
bool arrow_text(const ArrowPlace *place, Span *text);

/*
 * Finds the range of a list's items in its child array; a null is empty. Returns false if the range
 * is outside of the child.
 */
bool arrow_list(const ArrowPlace *place, uint32_t *first, uint32_t *count);

/* Returns the field of a struct with this name; NULL if there is none. */
ArrowArray *arrow_child(const ArrowArray *array, const char *name);

bool arrow_is_text(const ArrowArray *array);
bool arrow_is_integer(const ArrowArray *array);
bool arrow_is_list(const ArrowArray *array);

/* Returns the type of a column's values, after following runs and dictionaries. */
const ArrowField *arrow_value_field(const ArrowArray *array);

#endif
