/*
 * rows.h
 *		Rows of a dictionary table by their int4 ids; internal to the room.
 */
#ifndef PFS_ROWS_H
#define PFS_ROWS_H

#include "profstore.h"

#include "executor/tuptable.h"

/*
 * Called for each row found, its attributes deformed; what it allocates in CurrentMemoryContext
 * goes afterwards.
 */
typedef void (*PfsRowFn)(TupleTableSlot *slot, void *argument);

/*
 * Reads the rows of profstore.<table> with these ids (ascending, distinct), as the active snapshot
 * sees them: by its primary key (profstore.<table>_pkey over the first column, id int4), or, where
 * many are wanted, in one pass over the table. Rows come in no particular order; ids without a row
 * are passed over.
 */
void pfs_rows_read(const char *table, const int32 *ids, uint32 count, PfsRowFn function,
				   void *argument);

/* Sorts ids and removes doubles; returns how many are left. */
uint32 pfs_ids_sort(int32 *ids, uint32 count);

/* Whether sorted ids hold one. */
bool pfs_ids_have(const int32 *ids, uint32 count, int32 id);

#endif
