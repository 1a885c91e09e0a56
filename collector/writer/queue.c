/*
 * queue.c
 *		A list of batches and their total size.
 */
#include "writer/queue.h"

#include <stdlib.h>

#include "base/clock.h"

QueuedBatch *
queued_batch_create(Batch *batch, const BatchCallback *callback)
{
	QueuedBatch *item = calloc(1, sizeof(QueuedBatch));

	if (item == NULL)
		return NULL;
	item->batch = batch;
	item->bytes = sizeof(QueuedBatch) + batch_bytes(batch);
	item->queued_ns = clock_ns(CLOCK_MONOTONIC);
	if (callback != NULL)
		item->callback = *callback;
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
	return queue->bytes <= queue->limit_bytes && bytes <= queue->limit_bytes - queue->bytes;
}

void
queue_push(Queue *queue, QueuedBatch *item)
{
	item->number = ++queue->last_number;
	if (queue->tail != NULL)
		queue->tail->next = item;
	else
		queue->head = item;
	queue->tail = item;
	queue->bytes += item->bytes;
}

/* Removes the item behind previous, or the head if previous is NULL. */
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
	item->next = NULL;
	return item;
}

bool
queue_may_renumber(const Queue *queue)
{
	const QueuedBatch *item = queue->head;

	while (item != NULL && !item->is_awaited)
		item = item->next;
	return item == NULL;
}

QueuedBatch *
queue_divide_head(Queue *queue, QueuedBatch *first, QueuedBatch *second)
{
	QueuedBatch *head = remove_behind(queue, NULL);
	QueuedBatch **place = &queue->head;
	uint64_t number = head->number;

	for (; *place != NULL && (*place)->is_piece; place = &(*place)->next)
		(*place)->number = number++;
	for (QueuedBatch *item = *place; item != NULL; item = item->next)
		item->number++;
	first->number = number;
	first->next = second;
	second->number = number + 1;
	second->next = *place;
	*place = first;
	queue->last_number++;
	if (second->next == NULL)
		queue->tail = second;
	queue->bytes += first->bytes + second->bytes;
	queue->in_flight = 0;
	return head;
}

QueuedBatch *
queue_pop(Queue *queue)
{
	if (queue->in_flight > 0)
		queue->in_flight--;
	return remove_behind(queue, NULL);
}

QueuedBatch *
queue_pop_waiting(Queue *queue)
{
	QueuedBatch *previous = NULL;

	for (uint32_t i = 0; i < queue->in_flight; i++)
		previous = previous ? previous->next : queue->head;
	return remove_behind(queue, previous);
}
