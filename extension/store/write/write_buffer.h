/*
 * write_buffer.h
 *		Inserted rows wait in memory, and become segments at the end of their transaction.
 *
 * Rows are written earlier if memory or rows exceed their limits, and at the end of a bulk load
 * into a new file. Only the current subtransaction's rows can be written, because they must carry
 * its transaction id; those of outer ones keep waiting. A scan of this transaction reads waiting
 * rows from memory.
 *
 * Rows of many commands make one segment, under the last command's id, if no running query can see
 * only part of them (observers.h); at the end of the transaction no query is left. So a transaction
 * of many small INSERTs makes as few segments as one COPY.
 */
#ifndef PFS_WRITE_BUFFER_H
#define PFS_WRITE_BUFFER_H

#include "profstore.h"

#include "executor/tuptable.h"
#include "utils/relcache.h"

#include "store/segment/row_buffer.h"

/* Largest number of rows that an insert collects before it writes a segment. */
#define PFS_BUFFER_MAX_ROWS PFS_QUICK_MAX_ROWS

void pfs_write_buffer_append(Relation relation, TupleTableSlot **slots, uint32 count,
							 CommandId command_id);

/* Returns true if any row waits in this transaction. */
bool pfs_write_buffer_has_rows(void);

/* Writes the current subtransaction's waiting rows of the relation's file. */
void pfs_write_buffer_flush(Relation relation);

/* Writes the current subtransaction's waiting rows of all files. */
void pfs_write_buffer_flush_all(void);

/*
 * Called when the current subtransaction has dropped the storage. Its own waiting rows are removed.
 * Those of outer subtransactions are hidden until the subtransaction aborts.
 */
void pfs_write_buffer_drop(int64 storage_id);

/*
 * Copies all waiting rows of a file into images, one after the other.
 * pfs_write_buffer_image_bytes() returns the bytes needed, 0 if no rows wait.
 */
Size pfs_write_buffer_image_bytes(int64 storage_id);
void pfs_write_buffer_image_make(int64 storage_id, void *images);

/*
 * Defines the setting and registers the transaction callbacks. Called once when the module is
 * loaded.
 */
void pfs_write_buffer_init(void);

#endif
