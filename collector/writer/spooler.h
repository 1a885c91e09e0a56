/*
 * spooler.h
 *		The thread that writes waiting batches to the spool and keeps the spool within its limits.
 *
 * A batch is written if it has waited for SPOOL_AFTER_MS, or at once if the database is not
 * available or the writer must stop now. It then leaves the memory, unless it is being stored, and
 * is read again when its turn comes. Submitters never wait for the disk. The writer's thread waits
 * for it if it reads a batch, removes a file, or divides a batch that is there.
 */
#ifndef COLLECTOR_SPOOLER_H
#define COLLECTOR_SPOOLER_H

#include "writer/writer_state.h"

struct Writer;

/* Time that the database usually takes to store a batch, many times over. */
#define SPOOL_AFTER_MS 2000

/* Queues the batches that the spool had when it was opened. Returns 0 or -ENOMEM. */
int spooler_queue_found(struct Writer *writer);

/* Starts the thread. Returns 0 or -errno. */
int spooler_start(struct Writer *writer);

/*
 * Has the thread write everything that may be spooled, and ends it; waits for at most deadline_ms,
 * after which a disk that hangs is left behind.
 */
void spooler_finish(struct Writer *writer, int deadline_ms);

/* Returns true if all batches of the queue are on disk. The caller must hold the lock. */
bool spooler_has_all(const struct Writer *writer);

/*
 * Reads the content of batches in flight that are on disk alone. Returns how many of the first ones
 * have their content; *err is the reason if that is fewer than all.
 */
uint32_t spooler_load_flight(struct Writer *writer, int *err);

/* Returns true above nine tenths of a limit of the spool. The caller must hold the lock. */
bool spooler_is_nearly_full(const struct Writer *writer);

/*
 * Frees the content of batches that are on disk and not in flight. The caller must hold the lock.
 */
void spooler_unload(struct Writer *writer, uint32_t count);

/*
 * Replaces the file of a batch by those of its two pieces, which are in the queue and marked as
 * being spooled. Either the batch or its pieces will be stored, never both: if the pieces cannot be
 * written, they are in memory alone.
 */
void spooler_divide(struct Writer *writer, const SpooledBatch *whole, QueuedBatch *pieces[2]);

#endif
