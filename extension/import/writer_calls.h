/*
 * writer_calls.h
 *		Calls the SQL functions for writers from C.
 *
 * SPI must be connected. Results live until SPI_finish(). Statements must be literals: each is
 * planned once per session.
 */
#ifndef PFS_WRITER_CALLS_H
#define PFS_WRITER_CALLS_H

#include "profstore.h"

/* Makes an array of count elements of a type such as text or jsonb. */
Datum pfs_varlena_array(Datum *elements, uint32 count, Oid type);

/* Runs a statement; returns its number of rows. */
uint64 pfs_writer_call(const char *sql, int argument_count, Oid *types, Datum *values);

/* Runs a function that returns an array of count ids; returns the array's elements. */
void *pfs_writer_ids(const char *sql, int argument_count, Oid *types, Datum *values, uint32 count);

#endif
