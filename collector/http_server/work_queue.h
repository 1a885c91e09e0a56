/*
 * work_queue.h
 *		Calls that wait for a worker: a queue for each client, and which client is next.
 *
 * The next one is the client with the fewest calls at work, and among these the one whose calls
 * have taken the least processor time, or that came first. One that comes anew, or again after a
 * pause, begins with the time of the client that was served last: nobody saves up time by waiting.
 *
 * Not thread-safe: the receiver's lock guards all of it, but for the count of references.
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
	atomic_uint references;	 /* of the client and of each worker with a call of it */
	struct ClientWork *next; /* of those with calls that wait */
	struct ClientWork *previous;
	struct Call *first; /* oldest first */
	struct Call *last;
	uint64_t worked_ns; /* processor time of its calls, on the clock that begins as said above */
	unsigned at_work;
	size_t bytes; /* that the queue's owner counts */
} ClientWork;

typedef struct WorkQueue
{
	ClientWork *first; /* of those with calls that wait, in the order in which they came */
	ClientWork *last;
	uint64_t served_ns; /* worked_ns of the client that was served last */
} WorkQueue;

/* Returns one with a reference of the caller's; NULL without memory. */
ClientWork *client_work_create(void);
void client_work_release(ClientWork *work); /* accepts NULL */

void work_queue_put(WorkQueue *queue, ClientWork *work, struct Call *call);

/* Returns the next call, or NULL. *work gets a reference, until work_queue_done(). */
struct Call *work_queue_take(WorkQueue *queue, ClientWork **work);

/* A call that was taken has been worked on for that long. */
void work_queue_done(ClientWork *work, uint64_t cpu_ns);

/* Takes out a call; false if it does not wait any more. */
bool work_queue_withdraw(WorkQueue *queue, ClientWork *work, struct Call *call);

#endif
