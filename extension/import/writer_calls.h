/*
 * writer_calls.h
 *		The SQL functions that every writer calls, called from C.
 *
 * SPI is connected. Results live until it is finished. Statements are literals: each is planned
 * once a session.
 */
#ifndef PFS_WRITER_CALLS_H
#define PFS_WRITER_CALLS_H

#include "profstore.h"

/* An array of count elements of a type such as text or jsonb. */
Datum pfs_varlena_array(Datum *elements, uint32 count, Oid type);

/* Runs a statement; returns its number of rows. */
uint64 pfs_writer_call(const char *sql, int argument_count, Oid *types, Datum *values);

/* Runs a function that returns an array of count ids; the result is the first of them. */
void *pfs_writer_ids(const char *sql, int argument_count, Oid *types, Datum *values, uint32 count);

#endif
