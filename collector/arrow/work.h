/*
 * work.h
 *		Limits the cost of decoding and keeps its result, for all code that converts columns to a
 *		batch.
 *
 * Functions return false once the result differs from DECODE_OK. Cost is counted in steps
 * proportional to the bytes read, so that a request that refers to one large item many times is
 * stopped.
 */
#ifndef COLLECTOR_ARROW_WORK_H
#define COLLECTOR_ARROW_WORK_H

#include "arrow/array.h"
#include "batch/batch.h"
#include "decode/limits.h"

typedef struct ArrowWork
{
	Batch *batch;
	Arena *arena;
	int64_t left;	  /* remaining steps */
	WorkLimit *limit; /* not owned; NULL: only the number of steps is limited */
	DecodeEnd end;
	const char *message; /* static */
} ArrowWork;

bool work_fail(ArrowWork *work, const char *message);
bool work_too_large(ArrowWork *work);

bool work_pay(ArrowWork *work, size_t steps);

/* Sets the result of decoding from the return value of a function of the batch. */
bool work_outcome(ArrowWork *work, int err);

/* Allocates zeroed memory in the arena; returns NULL if the work has ended. */
void *work_alloc(ArrowWork *work, size_t count, size_t item_bytes);

/* Replaces NUL bytes of a text, which a batch does not accept. */
bool work_clean(ArrowWork *work, Span *text);

/* Reads the value of a column. A null value, and a column that is NULL, count as 0 or "". */
bool work_text(ArrowWork *work, ArrowArray *array, uint32_t item, Span *text);

/* Gets the bytes of a value unchanged, for ids, which are not text; "" for null or no column. */
bool work_bytes(ArrowWork *work, ArrowArray *array, uint32_t item, Span *bytes);
bool work_integer(ArrowWork *work, ArrowArray *array, uint32_t item, int64_t *value);

/* Checks the type of a column; a column that is NULL passes. */
typedef bool (*ArrowTypeTest)(const ArrowArray *array);
bool work_check_type(ArrowWork *work, const ArrowArray *array, ArrowTypeTest test);

#endif
