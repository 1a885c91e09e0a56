/*
 * verify_names.h
 *		Checks packed functions and locations.
 */
#ifndef PFS_VERIFY_NAMES_H
#define PFS_VERIFY_NAMES_H

#include "profstore.h"

/*
 * Called for each problem. row is the first column of the table's row, or 0 for none in particular.
 */
typedef void (*PfsNameProblemFn)(void *argument, const char *table, int64 row, const char *problem);

/*
 * Checks all chunks and leaves that the active snapshot sees: each chunk can be read, leaves are in
 * order, each sealed id has its entry, there are no other entries, and no sealed id is young, too.
 */
void pfs_names_verify(PfsNameProblemFn function, void *argument);

#endif
