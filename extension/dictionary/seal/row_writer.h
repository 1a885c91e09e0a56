/*
 * row_writer.h
 *		Inserts many rows into a table and its indexes, without the executor.
 */
#ifndef PFS_ROW_WRITER_H
#define PFS_ROW_WRITER_H

#include "profstore.h"

#include "executor/tuptable.h"

typedef struct PfsRowWriter PfsRowWriter;

/* Locks profstore.<table> ROW EXCLUSIVE. */
PfsRowWriter *pfs_row_writer_begin(const char *table);

/*
 * Returns a row to fill in (tts_values; tts_isnull says that no column is null). Memory that values
 * point to must stay until pfs_row_writer_end().
 */
TupleTableSlot *pfs_row_writer_add(PfsRowWriter *writer);

/* Stores the remaining rows; keeps the lock. */
void pfs_row_writer_end(PfsRowWriter *writer);

#endif
