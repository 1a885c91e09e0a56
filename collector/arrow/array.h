/*
 * array.h
 *		Values of a column, where they lie in the bytes of a record batch.
 *
 * arrow_array_load checks buffers against lengths once. What items refer to (indexes, offsets,
 * run ends, views) is checked when an item is asked for, so time follows what is asked for.
 */
#ifndef COLLECTOR_ARROW_ARRAY_H
#define COLLECTOR_ARROW_ARRAY_H

#include "arrow/buffers.h"

#define ARROW_LENGTH_MAX (UINT32_C(1) << 30)

typedef struct ArrowArray
{
	const ArrowField *field;
	bool is_indexes; /* into a dictionary; else values */
	uint32_t length;
	Span validity; /* a bit for each item; empty: all are there */
	Span data;	   /* items of fixed width, bits of truth values, bytes of texts, views */
	Span offsets;  /* 32 bits each */
	Span sizes;	   /* the same */
	const Span *views;
	uint32_t view_count;
	uint32_t run; /* the one found last */
	struct ArrowArray *children;
	const ArrowDictionary *dictionary;
	uint32_t *memo; /* what the reader of the records made of each item; NULL: nothing yet */
} ArrowArray;

/*
 * The next array of the batch, of that type. False with batch->error. is_values: of a dictionary,
 * not indexes into it.
 */
bool arrow_array_load(ArrowBatch *batch, const ArrowField *field, bool is_values,
					  ArrowArray *array);

/* Where a value really is, behind runs and dictionaries. */
typedef struct ArrowPlace
{
	ArrowArray *array; /* neither runs nor indexes */
	uint32_t item;
	bool is_null;
} ArrowPlace;

/* False where an item is beyond its array, a dictionary is missing, or an index is beyond it. */
bool arrow_place(ArrowArray *array, uint32_t item, ArrowPlace *place);

/* Of integers, times, truth values; 0 for null and of other types. */
int64_t arrow_integer(const ArrowPlace *place);

/* Of texts and binary. False where it lies outside of its buffers; no bytes for null. */
bool arrow_text(const ArrowPlace *place, Span *text);

/* Items of a list: which of its child. False as above; none for null. */
bool arrow_list(const ArrowPlace *place, uint32_t *first, uint32_t *count);

/* A field of a struct; NULL where there is none of that name. */
ArrowArray *arrow_child(const ArrowArray *array, const char *name);

bool arrow_is_text(const ArrowArray *array);
bool arrow_is_integer(const ArrowArray *array);
bool arrow_is_list(const ArrowArray *array);

/* What a value is behind runs and dictionaries; the type of the column's values. */
const ArrowField *arrow_value_field(const ArrowArray *array);

#endif
