/*
 * work_queue.h
 *		Calls that wait for a worker: a queue for each client, and the order of the clients.
 *
 * The next client is the one with the fewest calls at work; among several, the one whose calls have
 * used the least CPU time; then the one that came first. A new client, or one that comes after a
 * pause, starts with the CPU time of the client that was served last, so that a client gains
 * nothing by pausing.
 *
 * Not thread-safe: the host's lock guards everything except the reference count.
 */
#ifndef COLLECTOR_HTTP_SERVER_WORK_QUEUE_H
#define COLLECTOR_HTTP_SERVER_WORK_QUEUE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct Call;

typedef struct ClientWork
{
	atomic_uint references;	 /* references of the client and of each worker that has a call of it */
	struct ClientWork *next; /* next client with waiting calls */
	struct ClientWork *previous;
	struct Call *first; /* oldest call */
	struct Call *last;
	uint64_t worked_ns; /* CPU time of the client's calls, plus the start value described above */
	unsigned at_work;
	size_t bytes; /* maintained by the queue's owner */
} ClientWork;

typedef struct WorkQueue
{
	ClientWork *first; /* clients with waiting calls, in order of arrival */
	ClientWork *last;
	uint64_t served_ns; /* worked_ns of the client served last */
} WorkQueue;

/* Returns an object with one reference; NULL if out of memory. */
ClientWork *client_work_create(void);
void client_work_release(ClientWork *work); /* accepts NULL */

void work_queue_put(WorkQueue *queue, ClientWork *work, struct Call *call);

/* Returns the next call, or NULL. *work is given a reference, which work_queue_done() releases. */
struct Call *work_queue_take(WorkQueue *queue, ClientWork **work);

/* Ends the work on a call and charges the CPU time that it took to its client. */
void work_queue_done(ClientWork *work, uint64_t cpu_ns);

/* Removes a call. Returns false if the call is not waiting. */
bool work_queue_withdraw(WorkQueue *queue, ClientWork *work, struct Call *call);

#endif
