/*
 * work.h
 *		What decoding may cost, and what it ended with: shared by all that turns columns into a
 *		batch.
 *
 * Functions return false once the work has ended with something else than DECODE_OK. Work is paid
 * for in steps that follow the bytes looked at, so that what refers to the same large item again
 * and again ends.
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
	int64_t left;	  /* steps */
	WorkLimit *limit; /* not owned; NULL: none but the number of steps */
	DecodeEnd end;
	const char *message; /* static */
} ArrowWork;

bool work_fail(ArrowWork *work, const char *message);
bool work_too_large(ArrowWork *work);

bool work_pay(ArrowWork *work, size_t steps);

/* What a function of the batch returned. */
bool work_outcome(ArrowWork *work, int err);

/* Zeroed memory of the arena; NULL where the work has ended. */
void *work_alloc(ArrowWork *work, size_t count, size_t item_bytes);

/* A text for a batch, without zero bytes. */
bool work_clean(ArrowWork *work, Span *text);

/* The value of a column, where it has one: 0 and "" stand for what is null or has no column. */
bool work_text(ArrowWork *work, ArrowArray *array, uint32_t item, Span *text);

/* Gets the bytes of a value unchanged, for ids, which are not text; "" for null or no column. */
bool work_bytes(ArrowWork *work, ArrowArray *array, uint32_t item, Span *bytes);
bool work_integer(ArrowWork *work, ArrowArray *array, uint32_t item, int64_t *value);

/* Columns by name: NULL where there is none, which ends the work where it is needed. */
typedef bool (*ArrowTypeTest)(const ArrowArray *array);
bool work_check_type(ArrowWork *work, const ArrowArray *array, ArrowTypeTest test);

#endif
