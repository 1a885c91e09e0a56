/*
 * row_writer.h
 *		Rows that go into a table together, and into its indexes, behind the executor's back.
 */
#ifndef PFS_ROW_WRITER_H
#define PFS_ROW_WRITER_H

#include "profstore.h"

#include "executor/tuptable.h"

typedef struct PfsRowWriter PfsRowWriter;

/* Locks profstore.<table> ROW EXCLUSIVE. */
PfsRowWriter *pfs_row_writer_begin(const char *table);

/*
 * A row to be filled in, tts_values and tts_isnull, which says that no column is null. What values
 * point to must stay until the writer ends.
 */
TupleTableSlot *pfs_row_writer_add(PfsRowWriter *writer);

/* Stores what is left; leaves the lock. */
void pfs_row_writer_end(PfsRowWriter *writer);

#endif
