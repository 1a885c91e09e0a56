/*
 * rows.h
 *		Reads rows of a dictionary table by their int4 ids; internal to the room.
 */
#ifndef PFS_ROWS_H
#define PFS_ROWS_H

#include "profstore.h"

#include "executor/tuptable.h"

/*
 * Called for each row found, with its attributes deformed. CurrentMemoryContext is reset after each
 * call.
 */
typedef void (*PfsRowFn)(TupleTableSlot *slot, void *argument);

/*
 * Reads the rows of profstore.<table> with these ids (ascending, distinct) that the active snapshot
 * sees: by its primary key (profstore.<table>_pkey over the first column, id int4), or, if many are
 * wanted, in one pass over the table. Rows come in no particular order; ids without a row are
 * skipped.
 */
void pfs_rows_read(const char *table, const int32 *ids, uint32 count, PfsRowFn function,
				   void *argument);

/* Sorts ids and removes duplicates; returns how many are left. */
uint32 pfs_ids_sort(int32 *ids, uint32 count);

/* Returns true if sorted ids contain id. */
bool pfs_ids_have(const int32 *ids, uint32 count, int32 id);

#endif
