/*
 * type_name.h
 *		Profile types by their first parts.
 *
 * process_cpu means process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta, if no other type begins with
 * that part.
 *
 * A name of five parts, or six with "delta", is full and is used as it is. Only types that have a
 * series visible to the caller count, regardless of the selector's labels: hidden types change no
 * answer, and do not appear in the error.
 */
#ifndef PFS_TYPE_NAME_H
#define PFS_TYPE_NAME_H

#include "profstore.h"

/*
 * Returns the full name; name itself if it is full, or no type begins with it. Raises
 * INVALID_PARAMETER_VALUE if several types do. Lives in CurrentMemoryContext.
 */
const char *pfs_type_name_find(const char *name);

/*
 * Returns the stored name with the most similar spelling, cut to as many parts; NULL if none is
 * similar.
 */
const char *pfs_type_name_similar(const char *name);

#endif
