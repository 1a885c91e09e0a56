/*
 * write_buffer.h
 *		Inserted rows wait in memory and become segments at the end of their transaction.
 *
 * Rows are written earlier where memory or rows exceed their limits, and at the end of a bulk load
 * into a new file. Only the current subtransaction's rows can be written, since they must carry its
 * transaction id; those of outer ones wait. A scan of this transaction reads waiting rows from
 * memory.
 *
 * Rows of many commands make one segment, under the last command's id, where no running query could
 * tell them apart (observers.h); at the end of the transaction nobody is left to look. So a
 * transaction of many small INSERTs makes as few segments as one COPY.
 */
#ifndef PFS_WRITE_BUFFER_H
#define PFS_WRITE_BUFFER_H

#include "profstore.h"

#include "executor/tuptable.h"
#include "utils/relcache.h"

#include "store/segment/row_buffer.h"

/* Rows of one segment that an insert fills before it writes it. */
#define PFS_BUFFER_MAX_ROWS PFS_QUICK_MAX_ROWS

void pfs_write_buffer_append(Relation relation, TupleTableSlot **slots, uint32 count,
							 CommandId command_id);

/* Whether any row waits in this transaction. */
bool pfs_write_buffer_has_rows(void);

/* Writes the current subtransaction's rows of the relation's file. */
void pfs_write_buffer_flush(Relation relation);

/* Writes those of all files. */
void pfs_write_buffer_flush_all(void);

/*
 * The current subtransaction has dropped the storage: its rows go, and those of outer ones come
 * back should it abort.
 */
void pfs_write_buffer_drop(int64 storage_id);

/*
 * Copies of all waiting rows of a file, one after the other: bytes needed (0: none wait), and the
 * copies.
 */
Size pfs_write_buffer_image_bytes(int64 storage_id);
void pfs_write_buffer_image_make(int64 storage_id, void *images);

/*
 * Its setting and its callbacks at the ends of transactions; called once when the module is loaded.
 */
void pfs_write_buffer_init(void);

#endif
