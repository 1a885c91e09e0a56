/*
 * verify_names.h
 *		What is damaged of packed functions and locations.
 */
#ifndef PFS_VERIFY_NAMES_H
#define PFS_VERIFY_NAMES_H

#include "profstore.h"

/* Called for each problem: of a table's row, by its first column, or 0 for none in particular. */
typedef void (*PfsNameProblemFn)(void *argument, const char *table, int64 row, const char *problem);

/*
 * Reads all chunks and leaves by the active snapshot: each chunk can be read, leaves are in order,
 * each sealed id has its entry, there is no other, and no id is young as well.
 */
void pfs_names_verify(PfsNameProblemFn function, void *argument);

#endif
