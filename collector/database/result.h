/*
 * result.h
 *		What a statement answered, in binary; connection_run makes it, the caller frees it.
 *
 * Each function asks for the first row. A value that is not there has length 0 and is no number
 * and no boolean.
 */
#ifndef COLLECTOR_RESULT_H
#define COLLECTOR_RESULT_H

#include <libpq-fe.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef PGresult Result;

void result_free(Result *result); /* accepts NULL */

/* Is it one row of so many columns? */
bool result_is_row(const Result *result, int columns);

bool result_is_null(const Result *result, int column);

/* Bytes with a zero behind them; they live as long as the result. length may be NULL. */
const char *result_bytes(const Result *result, int column, size_t *length);

/* 0 where it is no int8. */
int64_t result_int8(const Result *result, int column);

/* Is it this boolean? */
bool result_is(const Result *result, int column, bool value);

#endif
