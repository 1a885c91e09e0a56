/*
 * endings.h
 *		Handles batches that leave the queue: they are counted, their submitters are notified, and
 *		their losses become part of the next report.
 */
#ifndef COLLECTOR_ENDINGS_H
#define COLLECTOR_ENDINGS_H

#include "writer/writer_state.h"

struct Writer;

/* Batches with a common outcome. */
typedef struct Endings
{
	QueuedBatch *head;
	QueuedBatch **tail; /* &head if the list is empty */
	BatchEnd end;
	const DbError *error; /* NULL: the database is not the cause */
} Endings;

/*
 * Counts a batch that left the queue, and appends it to the list. Losses are not reported for a
 * batch with a callback, because its submitter reports them, nor for a refused report, because that
 * would repeat forever. The caller must hold the lock.
 */
void endings_add(struct Writer *writer, Endings *endings, QueuedBatch *item);

/*
 * Calls the callbacks of a list of batches, removes their files from the spool, and frees them. The
 * caller must not hold the lock.
 */
void endings_notify(struct Writer *writer, const Endings *endings);

/*
 * Removes the file of a batch from the spool. A failure is logged and counted: the file takes room
 * until the next process finds it, whose database recognizes the batch. The caller must not hold
 * the lock.
 */
void endings_remove_file(struct Writer *writer, const SpooledBatch *file);

/*
 * Adds count lost rows, and the losses in batch (NULL: none), to the next report. Losses for which
 * there is no room (64 kB of reasons, or out of memory) are counted in the statistics only. The
 * caller must hold the lock.
 */
void endings_report_loss(struct Writer *writer, const Batch *batch, uint64_t count, BatchEnd end);

/* Queues a report of losses as a batch of its own. The caller must hold the lock. */
void endings_queue_report(struct Writer *writer, Batch *report);

#endif
