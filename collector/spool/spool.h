/*
 * spool.h
 *		A directory of batches that are not stored in the database yet.
 *
 * Each batch is a file. It is written under a temporary name, flushed, renamed, and the directory
 * is flushed: after spool_put() the batch is there whatever happens to the process or the machine.
 * A file keeps the id of its batch, so that the database stores the batch at most once even if the
 * process ends between the COMMIT and the removal of the file.
 *
 * If a refused batch is divided, its pieces are put with the batch's number as their parent, then
 * the batch is removed. Files whose parent is still there when the directory is opened are left
 * over from a division that did not come to its end, and are removed.
 *
 * One process at a time has a directory open. Several threads may call functions at once, for
 * different batches.
 */
#ifndef COLLECTOR_SPOOL_H
#define COLLECTOR_SPOOL_H

#include <stddef.h>
#include <stdint.h>

#include "batch/batch.h"
#include "program/failure.h"
#include "spool/batch_id.h"

typedef struct Spool Spool;

/* A batch in the directory. */
typedef struct SpooledBatch
{
	BatchId id;
	uint64_t parent;	  /* number of the batch of which this is a piece; 0: this is no piece */
	uint64_t samples;	  /* number of rows */
	uint64_t file_bytes;  /* size on disk */
	uint64_t batch_bytes; /* memory that the batch needs */
	int64_t put_us;		  /* time at which spool_put() wrote it, microseconds since 1970 UTC */
} SpooledBatch;

/*
 * Opens a directory, and makes it if only its last component is missing. It must belong to this
 * user, and must not be writable for others. Returns EXIT_OK, or EXIT_CONFIG with *failure set.
 */
ExitCode spool_open(const char *path, Spool **spool, Failure *failure);
void spool_close(Spool *spool); /* accepts NULL */

/*
 * Returns the number of batches that were in the directory when it was opened. *found becomes an
 * array of them: the batches of one writer are adjacent and sorted by number, and the writers are
 * in the order in which they began.
 */
size_t spool_found(const Spool *spool, const SpooledBatch **found);

/*
 * Returns the number of files that were removed when the directory was opened, because their head
 * was damaged.
 */
size_t spool_damaged(const Spool *spool);

/*
 * Returns the number of files with a batch's suffix that could not be read when the directory was
 * opened. They stay there.
 */
size_t spool_unreadable(const Spool *spool);

/* Returns the bytes of all files. */
uint64_t spool_bytes(const Spool *spool);

/*
 * Writes a batch. The caller sets id, parent and samples in *spooled; the other fields are results.
 * Returns 0 when the batch is on disk; otherwise -errno, with the directory unchanged.
 */
int spool_put(Spool *spool, const Batch *batch, SpooledBatch *spooled);

/*
 * Reads a batch. Returns 0; -EBADMSG if the file is damaged; -ENOENT if there is no file; another
 * -errno.
 */
int spool_take(Spool *spool, const SpooledBatch *spooled, Batch **batch);

/*
 * Removes the file of a batch. The removal is not flushed to disk. If the file reappears after a
 * power cut, the database recognizes the batch as stored. Returns 0 or -errno.
 */
int spool_remove(Spool *spool, const SpooledBatch *spooled);

/* Flushes removals to disk. Returns 0 or -errno. */
int spool_sync(Spool *spool);

#endif
