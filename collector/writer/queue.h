/*
 * queue.h
 *		Batches in order of their numbers, within a byte budget. The first in_flight ones are being
 *		stored and stay in the queue until their outcome is known.
 *
 * Not thread-safe: the writer's lock guards it. Batches in flight belong to the writer's thread.
 */
#ifndef COLLECTOR_QUEUE_H
#define COLLECTOR_QUEUE_H

#include <stdbool.h>
#include <stddef.h>

#include "writer/completion.h"

typedef struct QueuedBatch
{
	struct QueuedBatch *next;
	uint64_t number;
	Batch *batch; /* owned */
	size_t bytes;
	int64_t queued_ns; /* CLOCK_MONOTONIC */
	BatchCallback callback;
	bool is_report;	 /* contains only losses and counts: of dropped batches, or a piece */
	bool is_piece;	 /* piece of a batch that was refused */
	bool is_awaited; /* its submitter knows its number */
} QueuedBatch;

typedef struct Queue
{
	QueuedBatch *head;
	QueuedBatch *tail;
	size_t bytes;
	size_t limit_bytes;
	uint64_t last_number;
	uint32_t in_flight; /* number of batches in flight, from the head */
} Queue;

/* Returns NULL on out of memory; the batch then still belongs to the caller. */
QueuedBatch *queued_batch_create(Batch *batch, const BatchCallback *callback);
void queued_batch_free(QueuedBatch *item); /* accepts NULL; frees the batch, too */

bool queue_has_room(const Queue *queue, size_t bytes);

/* Appends a batch under the next number. The caller must check the budget. */
void queue_push(Queue *queue, QueuedBatch *item);

/* Returns true if no submitter knows the number of a queued batch, so that numbers may change. */
bool queue_may_renumber(const Queue *queue);

/*
 * Removes the head, which is returned, and inserts its two pieces behind the pieces that follow it,
 * so that all pieces of one size are tried before any is divided further. Renumbers so that numbers
 * ascend; batches behind the pieces get a number greater by one. queue_may_renumber() must be true.
 */
QueuedBatch *queue_divide_head(Queue *queue, QueuedBatch *first, QueuedBatch *second);

/* Removes and returns the head, in flight or not; NULL if the queue is empty. */
QueuedBatch *queue_pop(Queue *queue);

/* Removes and returns the oldest batch that is not in flight; NULL if there is none. */
QueuedBatch *queue_pop_waiting(Queue *queue);

#endif
