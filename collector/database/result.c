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
	return PQgetisnull(result, 0, column) != 0;
}

const char *
result_bytes(const Result *result, int column, size_t *length)
{
	if (length != NULL)
		*length = (size_t) PQgetlength(result, 0, column);
	return PQgetvalue(result, 0, column);
}

int64_t
result_int8(const Result *result, int column)
{
	uint64_t big;

	if (PQgetlength(result, 0, column) != (int) sizeof(big))
		return 0;
	memcpy(&big, PQgetvalue(result, 0, column), sizeof(big));
	return (int64_t) be64toh(big);
}

bool
result_is(const Result *result, int column, bool value)
{
	return PQgetlength(result, 0, column) == 1 && (PQgetvalue(result, 0, column)[0] != 0) == value;
}
