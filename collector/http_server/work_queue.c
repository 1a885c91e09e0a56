/*
 * work_queue.c
 *		A list of clients, each with a list of calls.
 */
#include "http_server/work_queue.h"

#include <stdlib.h>

#include "http_server/call.h"

ClientWork *
client_work_create(void)
{
	ClientWork *work = calloc(1, sizeof(ClientWork));

	if (work != NULL)
		atomic_init(&work->references, 1);
	return work;
}

void
client_work_release(ClientWork *work)
{
	if (work != NULL && atomic_fetch_sub(&work->references, 1) == 1)
		free(work);
}

static void
client_enter(WorkQueue *queue, ClientWork *work)
{
	/* A client that was idle gets no advantage from that time. */
	if (work->at_work == 0 && work->worked_ns < queue->served_ns)
		work->worked_ns = queue->served_ns;
	work->next = NULL;
	work->previous = queue->last;
	if (queue->last != NULL)
		queue->last->next = work;
	else
		queue->first = work;
	queue->last = work;
}

static void
client_leave(WorkQueue *queue, ClientWork *work)
{
	if (work->previous != NULL)
		work->previous->next = work->next;
	else
		queue->first = work->next;
	if (work->next != NULL)
		work->next->previous = work->previous;
	else
		queue->last = work->previous;
}

void
work_queue_put(WorkQueue *queue, ClientWork *work, Call *call)
{
	call->next = NULL;
	if (work->first == NULL)
	{
		client_enter(queue, work);
		work->first = call;
	}
	else
		work->last->next = call;
	work->last = call;
}

static bool
comes_before(const ClientWork *a, const ClientWork *b)
{
	return a->at_work < b->at_work || (a->at_work == b->at_work && a->worked_ns < b->worked_ns);
}

Call *
work_queue_take(WorkQueue *queue, ClientWork **work)
{
	ClientWork *next = queue->first;
	Call *call;

	if (next == NULL)
		return NULL;
	for (ClientWork *at = next->next; at != NULL; at = at->next)
		if (comes_before(at, next))
			next = at;
	call = next->first;
	next->first = call->next;
	if (next->first == NULL)
		client_leave(queue, next);
	next->at_work++;
	/* Clients that enter the queue later start from this amount of work. */
	if (next->worked_ns > queue->served_ns)
		queue->served_ns = next->worked_ns;
	/* The client may be removed before the work ends. */
	atomic_fetch_add(&next->references, 1);
	*work = next;
	return call;
}

void
work_queue_done(ClientWork *work, uint64_t cpu_ns)
{
	work->at_work--;
	work->worked_ns += cpu_ns;
	client_work_release(work);
}

bool
work_queue_withdraw(WorkQueue *queue, ClientWork *work, Call *call)
{
	Call *previous = NULL;
	Call *at = work->first;

	for (; at != NULL && at != call; at = at->next)
		previous = at;
	if (at == NULL)
		return false;
	if (previous != NULL)
		previous->next = call->next;
	else
		work->first = call->next;
	if (work->last == call)
		work->last = previous;
	if (work->first == NULL)
		client_leave(queue, work);
	return true;
}
