/*
 * queue.c
 *		A list of batches and their total size.
 */
#include "writer/queue.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

QueuedBatch *
queued_batch_create(Batch *batch, const BatchCallback *callback)
{
	QueuedBatch *item = calloc(1, sizeof(QueuedBatch));
	const BatchSample *samples;

	if (item == NULL)
		return NULL;
	item->batch = batch;
	item->samples = batch_samples(batch, &samples);
	/* measured once: a batch does not change while it is queued */
	item->batch_bytes = batch_bytes(batch);
	item->bytes = sizeof(QueuedBatch) + item->batch_bytes;
	item->queued_ns = clock_ns(CLOCK_MONOTONIC);
	if (callback != NULL)
		item->callback = *callback;
	return item;
}

/* 2020-01-01: a clock that shows less has not been set yet */
#define PLAUSIBLE_US INT64_C(1577836800000000)

/*
 * Makes the item for a file of the spool. Its age is computed from the clocks at this moment, so
 * later jumps of the clock do not change it. A file that was written before the clock was set
 * counts as new.
 */
QueuedBatch *
queued_batch_of_file(const SpooledBatch *file)
{
	QueuedBatch *item = calloc(1, sizeof(QueuedBatch));
	int64_t now_us = clock_ns(CLOCK_REALTIME) / 1000;

	if (item == NULL)
		return NULL;
	item->id = file->id;
	item->samples = file->samples;
	item->batch_bytes = (size_t) file->batch_bytes;
	item->queued_ns = clock_ns(CLOCK_MONOTONIC);
	/* the difference is less than now_us, so neither it nor its nanoseconds overflow */
	if (file->put_us >= PLAUSIBLE_US && file->put_us < now_us)
		item->queued_ns -= (now_us - file->put_us) * 1000;
	item->on_disk = *file;
	/* numbers of whole batches are multiples of QUEUE_NUMBER_STEP */
	item->is_piece = file->id.number % QUEUE_NUMBER_STEP != 0;
	item->is_report = file->samples == 0;
	item->is_on_disk = true;
	item->is_doubtful = true;
	return item;
}

void
queued_batch_free(QueuedBatch *item)
{
	if (item == NULL)
		return;
	batch_free(item->batch);
	free(item);
}

bool
queue_has_room(const Queue *queue, size_t bytes)
{
	/* a reload may have lowered the limit below the bytes in use */
	return queue->bytes <= queue->limit_bytes && bytes <= queue->limit_bytes - queue->bytes;
}

void
queue_push(Queue *queue, QueuedBatch *item)
{
	queue->last_number += QUEUE_NUMBER_STEP;
	memcpy(item->id.writer, queue->writer, sizeof(item->id.writer));
	item->id.number = queue->last_number;
	queue_push_found(queue, item);
}

void
queue_push_found(Queue *queue, QueuedBatch *item)
{
	item->order = ++queue->last_order;
	if (queue->tail != NULL)
		queue->tail->next = item;
	else
		queue->head = item;
	queue->tail = item;
	queue->bytes += item->bytes;
	/* The item is last, so it is the first one in memory only if there was none. */
	if (!item->is_on_disk && queue->in_memory++ == 0)
		queue->first_in_memory = item;
}

/* Removes a batch from the number of batches in memory. */
static void
leave_memory(Queue *queue, const QueuedBatch *item)
{
	queue->in_memory--;
	/*
	 * first_in_memory saves the spooler a search from the head, where 100,000 batches on disk may
	 * wait.
	 */
	if (queue->first_in_memory != item)
		return;
	do
		queue->first_in_memory = queue->first_in_memory->next;
	while (queue->first_in_memory != NULL && queue->first_in_memory->is_on_disk);
}

/* Removes the item after previous; the head if previous is NULL. */
static QueuedBatch *
remove_behind(Queue *queue, QueuedBatch *previous)
{
	QueuedBatch *item = previous ? previous->next : queue->head;

	if (item == NULL)
		return NULL;
	if (previous != NULL)
		previous->next = item->next;
	else
		queue->head = item->next;
	if (queue->tail == item)
		queue->tail = previous;
	queue->bytes -= item->bytes;
	if (!item->is_on_disk)
		leave_memory(queue, item);
	item->next = NULL;
	return item;
}

void
queue_note_on_disk(Queue *queue, QueuedBatch *item, const SpooledBatch *file)
{
	item->on_disk = *file;
	item->is_on_disk = true;
	/* remove_behind() took a batch that has left the queue from the count */
	if (!item->has_left)
		leave_memory(queue, item);
}

void
queue_clear_doubt(Queue *queue, const char writer[WRITER_UUID_BYTES])
{
	for (QueuedBatch *item = queue->head; item != NULL; item = item->next)
		if (memcmp(item->id.writer, writer, WRITER_UUID_BYTES) == 0)
			item->is_doubtful = false;
}

void
queue_load(QueuedBatch *item, Batch *batch)
{
	item->batch = batch;
	item->batch_bytes = batch_bytes(batch);
}

Batch *
queue_unload(Queue *queue, QueuedBatch *item)
{
	Batch *batch = item->batch;

	item->batch = NULL;
	/* 0 for content that was read from disk, which queue_load() does not charge */
	queue->bytes -= item->bytes;
	item->bytes = 0;
	return batch;
}

bool
queue_is_in_flight(const Queue *queue, const QueuedBatch *item)
{
	const QueuedBatch *other = queue->head;

	for (uint32_t i = 0; i < queue->in_flight; i++, other = other->next)
		if (other == item)
			return true;
	return false;
}

/* Returns true if item is a piece, and other is its batch or another piece of that batch. */
static bool
is_piece_of(const QueuedBatch *item, const QueuedBatch *other)
{
	return item->is_piece &&
		   memcmp(item->id.writer, other->id.writer, sizeof(item->id.writer)) == 0 &&
		   item->id.number / QUEUE_NUMBER_STEP == other->id.number / QUEUE_NUMBER_STEP;
}

/* Returns the last of the pieces of one batch that are at the head of the queue. */
static QueuedBatch *
last_piece(const Queue *queue)
{
	QueuedBatch *last = queue->head;

	while (last->next != NULL && is_piece_of(last->next, last))
		last = last->next;
	return last;
}

bool
queue_may_divide_head(const Queue *queue)
{
	/*
	 * The pieces get the two numbers after the last piece's. Both must be below the next batch's
	 * number.
	 */
	return last_piece(queue)->id.number % QUEUE_NUMBER_STEP < QUEUE_NUMBER_STEP - 2;
}

QueuedBatch *
queue_divide_head(Queue *queue, QueuedBatch *first, QueuedBatch *second)
{
	QueuedBatch *last = last_piece(queue);

	first->id = second->id = last->id;
	first->id.number++;
	second->id.number += 2;
	first->order = second->order = last->order;
	/*
	 * Behind the other pieces, so that all pieces of one size are tried before any is divided
	 * further.
	 */
	first->next = second;
	second->next = last->next;
	last->next = first;
	if (queue->tail == last)
		queue->tail = second;
	queue->bytes += first->bytes + second->bytes;
	queue->in_memory += 2;
	/*
	 * The pieces are in memory, and may be before the batch that was the first one there. The head
	 * itself is removed below, which moves first_in_memory on if necessary.
	 */
	queue->first_in_memory = queue->head;
	while (queue->first_in_memory->is_on_disk)
		queue->first_in_memory = queue->first_in_memory->next;
	/* the head was the only batch in flight */
	queue->in_flight = 0;
	return remove_behind(queue, NULL);
}

uint64_t
queue_order_at(const Queue *queue, uint32_t count)
{
	const QueuedBatch *item = queue->head;

	while (--count > 0)
		item = item->next;
	return item->order;
}

QueuedBatch *
queue_pop(Queue *queue)
{
	if (queue->in_flight > 0)
		queue->in_flight--;
	return remove_behind(queue, NULL);
}

/*
 * Finds the first batch after those in flight that is on disk or, depending on is_on_disk, that is
 * not. Skips a batch that the spooler is writing. Returns NULL if there is none; otherwise
 * *previous is the batch before it, or NULL.
 */
static QueuedBatch *
find_behind_flight(const Queue *queue, bool is_on_disk, QueuedBatch **previous)
{
	QueuedBatch *item;

	*previous = NULL;
	/* *previous becomes the last batch in flight */
	for (uint32_t i = 0; i < queue->in_flight; i++)
		*previous = *previous ? (*previous)->next : queue->head;
	for (item = *previous ? (*previous)->next : queue->head;
		 item != NULL && (item->is_on_disk != is_on_disk || item->is_spooling); item = item->next)
		*previous = item;
	return item;
}

static QueuedBatch *
pop_behind_flight(Queue *queue, bool is_on_disk)
{
	QueuedBatch *previous;

	return find_behind_flight(queue, is_on_disk, &previous) != NULL ? remove_behind(queue, previous)
																	: NULL;
}

const QueuedBatch *
queue_oldest_spooled(const Queue *queue)
{
	QueuedBatch *previous;

	return find_behind_flight(queue, true, &previous);
}

QueuedBatch *
queue_pop_waiting(Queue *queue)
{
	return pop_behind_flight(queue, false);
}

QueuedBatch *
queue_pop_spooled(Queue *queue)
{
	return pop_behind_flight(queue, true);
}
