/*
 * type_name.h
 *		Profile types by their first parts.
 *
 * process_cpu stands for process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta, where no other type
 * begins with that part.
 *
 * A name of five parts, or six with "delta", is full and stands for itself. Types count that have a
 * series which the caller sees, whatever the labels asked for: what others may see changes no
 * answer, and does not show in the error.
 */
#ifndef PFS_TYPE_NAME_H
#define PFS_TYPE_NAME_H

#include "profstore.h"

/*
 * The full name; the name itself where it is full, or no type begins with it. Raises
 * INVALID_PARAMETER_VALUE where several do. Lives in CurrentMemoryContext.
 */
const char *pfs_type_name_find(const char *name);

/*
 * The stored name that is spelled most alike, in as many parts; NULL where none comes near.
 */
const char *pfs_type_name_similar(const char *name);

#endif
