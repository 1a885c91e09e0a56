/*
 * spooler.h
 *		The thread that writes waiting batches to the spool and keeps the spool within its limits.
 *
 * A batch is written when it has waited for SPOOL_AFTER_MS, or at once if the database is not
 * available or the writer must stop. Its content is then freed, unless it is being stored, and is
 * read again when its turn comes. Submitters never wait for the disk. The writer's thread waits for
 * it when it reads a batch, removes a file, or divides a batch that is on disk.
 */
#ifndef COLLECTOR_SPOOLER_H
#define COLLECTOR_SPOOLER_H

#include "writer/writer_state.h"

struct Writer;

/* Several times as long as the database usually takes to store a batch. */
#define SPOOL_AFTER_MS 2000

/* Queues the batches that the spool had when it was opened. Returns 0 or -ENOMEM. */
int spooler_queue_found(struct Writer *writer);

/* Starts the thread. Returns 0 or -errno. */
int spooler_start(struct Writer *writer);

/*
 * Makes the thread write all batches that may be spooled, and ends it. Waits for at most
 * deadline_ms; if the disk hangs, the thread is left behind.
 */
void spooler_finish(struct Writer *writer, int deadline_ms);

/* Returns true if all batches of the queue are on disk. The caller must hold the lock. */
bool spooler_has_all(const struct Writer *writer);

/*
 * Reads the content of those batches in flight that are only on disk. Returns how many of the first
 * batches have their content; *err is the reason if this is not all of them.
 */
uint32_t spooler_load_flight(struct Writer *writer, int *err);

/*
 * Returns true if more than nine tenths of a limit of the spool are used. The caller must hold the
 * lock.
 */
bool spooler_is_nearly_full(const struct Writer *writer);

/*
 * Frees the content of batches that are on disk and not in flight. The caller must hold the lock.
 */
void spooler_unload(struct Writer *writer, uint32_t count);

/*
 * Replaces the file of a batch by the files of its two pieces, which are in the queue and marked as
 * being spooled. Either the batch or its pieces will be stored, never both: if the pieces cannot be
 * written, they are only in memory.
 */
void spooler_divide(struct Writer *writer, const SpooledBatch *whole, QueuedBatch *pieces[2]);

#endif
