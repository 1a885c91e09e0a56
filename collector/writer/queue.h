/*
 * queue.h
 *		Batches in the order of their numbers, within a byte budget. The first in_flight batches are
 *		being stored, and stay in the queue until their outcome is known.
 *
 * A batch's number is a multiple of QUEUE_NUMBER_STEP, which leaves numbers for its pieces if it is
 * divided: a number that was given to a batch is never used for another one.
 *
 * Not thread-safe: the writer's lock guards the queue. Batches in flight belong to the writer's
 * thread.
 */
#ifndef COLLECTOR_QUEUE_H
#define COLLECTOR_QUEUE_H

#include <stdbool.h>
#include <stddef.h>

#include "spool/spool.h"
#include "writer/completion.h"

#define QUEUE_NUMBER_STEP 1024

typedef struct QueuedBatch
{
	struct QueuedBatch *next;
	BatchId id;
	uint64_t order;		  /* ascends in the queue; a piece has the order of its batch */
	Batch *batch;		  /* owned; NULL if the batch is only on disk */
	uint64_t samples;	  /* number of rows */
	size_t batch_bytes;	  /* memory that the batch needs, whether it is loaded or not */
	size_t bytes;		  /* memory that is charged to the queue at present */
	int64_t queued_ns;	  /* CLOCK_MONOTONIC */
	SpooledBatch on_disk; /* valid if is_on_disk is set */
	BatchCallback callback;
	bool is_report; /* contains no samples, only losses and counts */
	bool is_piece;	/* a piece of a batch that was refused */
	bool is_on_disk;
	bool is_doubtful;		/* was found in the spool, so an earlier process may have stored it */
	bool is_spooling;		/* the spooler is writing it */
	int64_t spool_retry_ns; /* time before which the batch must not be spooled; INT64_MAX: never */
	bool has_left;			/* endings_add() has removed it from the queue */
	/* endings_notify() was called while is_spooling was set, so the spooler frees it */
	bool has_ended;
} QueuedBatch;

typedef struct Queue
{
	QueuedBatch *head;
	QueuedBatch *tail;
	size_t bytes;
	size_t limit_bytes;
	char writer[WRITER_UUID_BYTES]; /* UUID in the ids of batches that are pushed */
	uint64_t last_order;
	uint64_t last_number; /* a multiple of QUEUE_NUMBER_STEP */
	uint32_t in_flight;	  /* number of batches in flight, from the head */
	uint32_t in_memory;	  /* number of batches that are not on disk */
	QueuedBatch *first_in_memory;
} Queue;

/* Makes an item. Returns NULL on out of memory; the batch then still belongs to the caller. */
QueuedBatch *queued_batch_create(Batch *batch, const BatchCallback *callback);
QueuedBatch *queued_batch_of_file(const SpooledBatch *file);
void queued_batch_free(QueuedBatch *item); /* accepts NULL; frees the batch, too */

bool queue_has_room(const Queue *queue, size_t bytes);

/* Appends a batch and gives it the next number. The caller must check the budget. */
void queue_push(Queue *queue, QueuedBatch *item);

/* Appends a batch that was found in the spool and has an id already. */
void queue_push_found(Queue *queue, QueuedBatch *item);

/* Records that a batch is on disk. It may have left the queue. */
void queue_note_on_disk(Queue *queue, QueuedBatch *item, const SpooledBatch *file);

/* Records that no earlier process has stored any batch in the queue that has this writer's UUID. */
void queue_clear_doubt(Queue *queue, const char writer[WRITER_UUID_BYTES]);

/*
 * queue_load() sets the content of a batch that is on disk; queue_unload() removes and returns the
 * content. The budget is not charged for content read from disk, of which there is at most one
 * flight.
 */
void queue_load(QueuedBatch *item, Batch *batch);
Batch *queue_unload(Queue *queue, QueuedBatch *item);

bool queue_is_in_flight(const Queue *queue, const QueuedBatch *item);

/* Returns true if numbers for two pieces of the head are left. */
bool queue_may_divide_head(const Queue *queue);

/*
 * Removes and returns the head, and inserts its two pieces after the other pieces of its batch, so
 * that all pieces of one size are tried before any is divided further. The pieces get the next
 * numbers of their batch. queue_may_divide_head() must be true.
 */
QueuedBatch *queue_divide_head(Queue *queue, QueuedBatch *first, QueuedBatch *second);

/* Returns the order of the last one of the queue's first count batches. */
uint64_t queue_order_at(const Queue *queue, uint32_t count);

/* Removes and returns the head, even if it is in flight; NULL if the queue is empty. */
QueuedBatch *queue_pop(Queue *queue);

/*
 * Remove and return the oldest batch that is neither in flight nor on disk; or the oldest one that
 * is on disk and not in flight. Return NULL if there is none. A batch that is being written stays.
 */
QueuedBatch *queue_pop_waiting(Queue *queue);
QueuedBatch *queue_pop_spooled(Queue *queue);

/* Returns the batch that queue_pop_spooled() would remove; NULL if there is none. */
const QueuedBatch *queue_oldest_spooled(const Queue *queue);

#endif
