/*
 * type_name.h
 *		Finds profile types by their first parts.
 *
 * process_cpu means process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta, if no other type begins with
 * that part.
 *
 * A name of five parts, or six with "delta", is complete and is used as it is. Only types that have
 * a series visible to the caller count, whatever the selector's labels, so that hidden types
 * neither change an answer nor appear in the error.
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
 * Returns the stored name with the most similar spelling, cut to the number of parts that name has;
 * NULL if none is similar.
 */
const char *pfs_type_name_similar(const char *name);

#endif
