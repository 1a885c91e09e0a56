/*
 * result.c
 *		Reads values of libpq's results.
 */
#include "database/result.h"

#include <endian.h>
#include <string.h>

void
result_free(Result *result)
{
	PQclear(result);
}

bool
result_is_row(const Result *result, int columns)
{
	return PQntuples(result) == 1 && PQnfields(result) == columns;
}

bool
result_is_null(const Result *result, int column)
{
	return result_is_null_at(result, 0, column);
}

const char *
result_bytes(const Result *result, int column, size_t *length)
{
	return result_bytes_at(result, 0, column, length);
}

int64_t
result_int8(const Result *result, int column)
{
	return result_int8_at(result, 0, column);
}

bool
result_is(const Result *result, int column, bool value)
{
	return PQgetlength(result, 0, column) == 1 && (PQgetvalue(result, 0, column)[0] != 0) == value;
}

size_t
result_rows(const Result *result)
{
	return (size_t) PQntuples(result);
}

size_t
result_memory(const Result *result)
{
	return PQresultMemorySize(result);
}

bool
result_is_null_at(const Result *result, size_t row, int column)
{
	return PQgetisnull(result, (int) row, column) != 0;
}

const char *
result_bytes_at(const Result *result, size_t row, int column, size_t *length)
{
	if (length != NULL)
		*length = (size_t) PQgetlength(result, (int) row, column);
	return PQgetvalue(result, (int) row, column);
}

int32_t
result_int4_at(const Result *result, size_t row, int column)
{
	uint32_t big;

	if (PQgetlength(result, (int) row, column) != (int) sizeof(big))
		return 0;
	memcpy(&big, PQgetvalue(result, (int) row, column), sizeof(big));
	return (int32_t) be32toh(big);
}

int64_t
result_int8_at(const Result *result, size_t row, int column)
{
	uint64_t big;

	if (PQgetlength(result, (int) row, column) != (int) sizeof(big))
		return 0;
	memcpy(&big, PQgetvalue(result, (int) row, column), sizeof(big));
	return (int64_t) be64toh(big);
}

double
result_float8_at(const Result *result, size_t row, int column)
{
	const int64_t bits = result_int8_at(result, row, column);
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}
