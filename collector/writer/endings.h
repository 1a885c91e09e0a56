/*
 * endings.h
 *		What happens to batches that leave the queue: they are counted, their submitters are
 *		notified, and their losses go into the next report.
 */
#ifndef COLLECTOR_ENDINGS_H
#define COLLECTOR_ENDINGS_H

#include "writer/writer_state.h"

struct Writer;

/* Batches with a common outcome. */
typedef struct Endings
{
	QueuedBatch *head;
	QueuedBatch **tail; /* &head if there is none */
	BatchEnd end;
	const DbError *error; /* NULL if the database is not the cause */
} Endings;

/*
 * Counts a batch that left the queue, and appends it to the list. Losses are not reported for
 * batches with a callback, whose submitter reports them, nor for a refused report, which would be
 * repeated forever. The caller must hold the lock.
 */
void endings_add(struct Writer *writer, Endings *endings, QueuedBatch *item);

/*
 * Calls the callbacks of a list of batches, removes their files from the spool, and frees them. The
 * caller must not hold the lock.
 */
void endings_notify(struct Writer *writer, const Endings *endings);

/*
 * Adds count lost rows, and the losses that batch carries (NULL: none), to the next report. Losses
 * that do not fit (64 kB of reasons, or out of memory) appear in the statistics only. The caller
 * must hold the lock.
 */
void endings_report_loss(struct Writer *writer, const Batch *batch, uint64_t count, BatchEnd end);

/* Queues a report of losses as a batch of its own. The caller must hold the lock. */
void endings_queue_report(struct Writer *writer, Batch *report);

#endif
