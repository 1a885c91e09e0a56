/*
 * arrays.h
 *		Arrays that writers pass; internal to the room.
 */
#ifndef PFS_DICTIONARY_ARRAYS_H
#define PFS_DICTIONARY_ARRAYS_H

#include "profstore.h"

#include "fmgr.h"
#include "utils/array.h"

/*
 * Number of elements; raises ARRAY_SUBSCRIPT_ERROR for several dimensions and
 * NULL_VALUE_NOT_ALLOWED for nulls.
 */
uint32 pfs_array_check(const char *caller, const ArrayType *array);

/* The same of arguments first .. end - 1, which must be of one length. */
uint32 pfs_arrays_check(const char *caller, FunctionCallInfo fcinfo, int first, int end);

/*
 * Longest name of a function or file, and longest build ID, in bytes. A stack holds
 * thousands of them, and its text must fit a value of the server, whoever wrote the names.
 */
#define PFS_NAME_MAX_BYTES 16384

/*
 * Replaces texts longer than PFS_NAME_MAX_BYTES by their first characters, "..." and 16 hexadecimal
 * digits of a hash of the whole text, so that names which differ behind that stay apart, unless
 * somebody has looked for two of one hash: it is fast, and no secret. Reports their number in a
 * NOTICE.
 */
void pfs_names_clip(const char *caller, Datum *texts, uint32 count);

/* Raises INVALID_PARAMETER_VALUE where a count is negative, or they do not add up to total. */
void pfs_counts_check(const char *caller, const int32 *counts, uint32 count, uint32 total);

/* One dimension of count elements of a type without padding, all zero. */
ArrayType *pfs_array_make(uint32 count, Oid element_type, Size element_bytes);

/* An int4[] of these elements. */
ArrayType *pfs_int4_array(const int32 *elements, uint32 count);

#endif
