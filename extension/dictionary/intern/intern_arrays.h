/*
 * intern_arrays.h
 *		Checks and builds arrays that writers pass; internal to the room.
 */
#ifndef PFS_INTERN_ARRAYS_H
#define PFS_INTERN_ARRAYS_H

#include "profstore.h"

#include "fmgr.h"
#include "utils/array.h"

/*
 * Returns the number of elements. Raises ARRAY_SUBSCRIPT_ERROR for several dimensions and
 * NULL_VALUE_NOT_ALLOWED for nulls.
 */
uint32 pfs_array_check(const char *caller, const ArrayType *array);

/* Like pfs_array_check(), for arguments first .. end - 1, which must have equal length. */
uint32 pfs_arrays_check(const char *caller, FunctionCallInfo fcinfo, int first, int end);

/*
 * Longest name of a function or file, and longest build ID, in bytes. A stack may have thousands of
 * names, and its text must fit a value of the server, whoever wrote the names.
 */
#define PFS_NAME_MAX_BYTES 16384

/*
 * Replaces texts longer than PFS_NAME_MAX_BYTES by their first characters, "..." and 16 hexadecimal
 * digits of a hash of the whole text. So names that differ after the cut stay distinct, except
 * against deliberate collisions: the hash is fast and unkeyed. Reports their number in a NOTICE.
 */
void pfs_names_clip(const char *caller, Datum *texts, uint32 count);

/* Returns the texts of an array, which pfs_arrays_check has checked, clipped. */
Datum *pfs_names_get(const char *caller, ArrayType *array);

/* Raises INVALID_PARAMETER_VALUE if a count is negative, or the counts do not add up to total. */
void pfs_counts_check(const char *caller, const int32 *counts, uint32 count, uint32 total);

/* Makes an array of one dimension with count zero elements of a type without padding. */
ArrayType *pfs_array_make(uint32 count, Oid element_type, Size element_bytes);

/* Makes an int4[] of these elements. */
ArrayType *pfs_int4_array(const int32 *elements, uint32 count);

#endif
