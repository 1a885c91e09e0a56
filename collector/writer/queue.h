/*
 * queue.h
 *		Batches in order of their numbers, within a budget of bytes. Its first ones may be in
 *		flight: they stay until it is known what became of them.
 *
 * Not thread-safe: the writer's lock guards it. Batches in flight are the writer's thread's.
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
	bool is_report;	 /* only losses and counts: of batches that were not stored, or a piece */
	bool is_piece;	 /* of a batch that was refused */
	bool is_awaited; /* its submitter knows its number */
} QueuedBatch;

typedef struct Queue
{
	QueuedBatch *head;
	QueuedBatch *tail;
	size_t bytes;
	size_t limit_bytes;
	uint64_t last_number;
	uint32_t in_flight; /* so many, from the head on */
} Queue;

/* NULL where memory is out; the batch is then the caller's still. */
QueuedBatch *queued_batch_create(Batch *batch, const BatchCallback *callback);
void queued_batch_free(QueuedBatch *item); /* accepts NULL; the batch goes too */

bool queue_has_room(const Queue *queue, size_t bytes);

/* Gives it the next number. The budget is the caller's matter. */
void queue_push(Queue *queue, QueuedBatch *item);

/* True if no submitter knows the number of any batch in the queue, so that numbers may change. */
bool queue_may_renumber(const Queue *queue);

/*
 * Puts two pieces of the head, which is given back, behind the pieces that follow it, so that these
 * are tried before the two are divided further. Numbers move so that they ascend, and all behind
 * the pieces get one that is greater by one. queue_may_renumber() must be true.
 */
QueuedBatch *queue_divide_head(Queue *queue, QueuedBatch *first, QueuedBatch *second);

/* Takes out the head, in flight or not; NULL where there is none. */
QueuedBatch *queue_pop(Queue *queue);

/* Takes out the oldest that is not in flight; NULL where there is none. */
QueuedBatch *queue_pop_waiting(Queue *queue);

#endif
