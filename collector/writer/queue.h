/*
 * queue.h
 *		Batches in order of their numbers, within a byte budget. The first in_flight ones are being
 *		stored and stay in the queue until their outcome is known.
 *
 * A batch's number is a multiple of QUEUE_NUMBER_STEP, so that there are numbers for the pieces of
 * a batch that is divided: a number that was given to a batch never becomes another's.
 *
 * Not thread-safe: the writer's lock guards it. Batches in flight belong to the writer's thread.
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
	uint64_t order;		  /* ascends in the queue; of a piece: its batch's */
	Batch *batch;		  /* owned; NULL if it is on disk alone */
	uint64_t samples;	  /* number of rows */
	size_t batch_bytes;	  /* memory that the batch takes, be it loaded or not */
	size_t bytes;		  /* memory that the queue is charged with now */
	int64_t queued_ns;	  /* CLOCK_MONOTONIC */
	SpooledBatch on_disk; /* if is_on_disk */
	BatchCallback callback;
	bool is_report; /* contains only losses and counts: of dropped batches, or a piece */
	bool is_piece;	/* piece of a batch that was refused */
	bool is_on_disk;
	bool is_doubtful;		/* found in the spool: an earlier process may have stored it */
	bool is_spooling;		/* being written to the spool */
	int64_t spool_retry_ns; /* not to be written again before then; INT64_MAX: never */
	bool has_left;			/* endings_add() has taken it out of the queue */
	bool has_ended;			/* endings_notify() met it while is_spooling: the spooler frees it */
} QueuedBatch;

typedef struct Queue
{
	QueuedBatch *head;
	QueuedBatch *tail;
	size_t bytes;
	size_t limit_bytes;
	char writer[WRITER_UUID_BYTES]; /* of batches that are pushed */
	uint64_t last_order;
	uint64_t last_number; /* a multiple of QUEUE_NUMBER_STEP */
	uint32_t in_flight;	  /* number of batches in flight, from the head */
	uint32_t in_memory;	  /* number of batches that are not on disk */
	QueuedBatch *first_in_memory;
} Queue;

/* Returns NULL on out of memory; the batch then still belongs to the caller. */
QueuedBatch *queued_batch_create(Batch *batch, const BatchCallback *callback);
QueuedBatch *queued_batch_of_file(const SpooledBatch *file);
void queued_batch_free(QueuedBatch *item); /* accepts NULL; frees the batch, too */

bool queue_has_room(const Queue *queue, size_t bytes);

/* Appends a batch under the next number. The caller must check the budget. */
void queue_push(Queue *queue, QueuedBatch *item);

/* Appends a batch that has an id already: it was found in the spool. */
void queue_push_found(Queue *queue, QueuedBatch *item);

/* Notes that a batch is on disk now; it may have left the queue. */
void queue_note_on_disk(Queue *queue, QueuedBatch *item, const SpooledBatch *file);

/* Notes that no earlier process has stored any batch of this writer that is in the queue. */
void queue_clear_doubt(Queue *queue, const char writer[WRITER_UUID_BYTES]);

/*
 * Gives a batch that is on disk its content, or takes it away and returns it. The budget is not
 * charged with content that was read from disk, of which there is one flight at a time.
 */
void queue_load(QueuedBatch *item, Batch *batch);
Batch *queue_unload(Queue *queue, QueuedBatch *item);

bool queue_is_in_flight(const Queue *queue, const QueuedBatch *item);

/* Returns true if there are numbers for two pieces of the head. */
bool queue_may_divide_head(const Queue *queue);

/*
 * Removes the head, which is returned, and inserts its two pieces behind the pieces that follow it,
 * so that all pieces of one size are tried before any is divided further. The pieces get the next
 * numbers of their batch. queue_may_divide_head() must be true.
 */
QueuedBatch *queue_divide_head(Queue *queue, QueuedBatch *first, QueuedBatch *second);

/* Returns the order of the last of the queue's first count batches. */
uint64_t queue_order_at(const Queue *queue, uint32_t count);

/* Removes and returns the head, in flight or not; NULL if the queue is empty. */
QueuedBatch *queue_pop(Queue *queue);

/*
 * Remove and return the oldest batch that is neither in flight nor on disk, or the oldest one that
 * is on disk and not in flight; NULL if there is none. A batch that is being written is left.
 */
QueuedBatch *queue_pop_waiting(Queue *queue);
QueuedBatch *queue_pop_spooled(Queue *queue);

/* Returns the batch that queue_pop_spooled() would remove; NULL if there is none. */
const QueuedBatch *queue_oldest_spooled(const Queue *queue);

#endif
