/*
 * result.h
 *		A binary result of connection_run(), freed by the caller.
 *
 * Each function reads the first row, unless it takes a row. A missing value has length 0 and is
 * neither a number nor a boolean.
 */
#ifndef COLLECTOR_RESULT_H
#define COLLECTOR_RESULT_H

#include <libpq-fe.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef PGresult Result;

void result_free(Result *result); /* accepts NULL */

/* Returns true if the result is one row with this number of columns. */
bool result_is_row(const Result *result, int columns);

bool result_is_null(const Result *result, int column);

/*
 * Returns the value's bytes, which are NUL-terminated and valid as long as the result. length may
 * be NULL.
 */
const char *result_bytes(const Result *result, int column, size_t *length);

/* Returns the value; 0 if it is not an int8. */
int64_t result_int8(const Result *result, int column);

/* Returns true if the column is a boolean and equals value. */
bool result_is(const Result *result, int column, bool value);

size_t result_rows(const Result *result);

/* Returns the number of bytes of memory that the result holds. */
size_t result_memory(const Result *result);

/* Like the functions above, but read a given row, which must exist. */
bool result_is_null_at(const Result *result, size_t row, int column);
const char *result_bytes_at(const Result *result, size_t row, int column, size_t *length);
int32_t result_int4_at(const Result *result, size_t row, int column);
int64_t result_int8_at(const Result *result, size_t row, int column);
double result_float8_at(const Result *result, size_t row, int column);

#endif
