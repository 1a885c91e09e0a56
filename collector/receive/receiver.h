/*
 * receiver.h
 *		What all parts of a running receiver share.
 *
 * Threads: the loop (sockets, protocols, answers: loop.h), workers (workers.c: unpack, decode),
 * the writer's. A call goes from the loop to a worker, to the writer, and back to the loop by
 * receiver_give_back, which any thread may call.
 */
#ifndef COLLECTOR_RECEIVE_RECEIVER_H
#define COLLECTOR_RECEIVE_RECEIVER_H

#include <pthread.h>

#include "base/memory_share.h"
#include "otlp/labels.h"
#include "receive/call.h"
#include "receive/clients.h"
#include "receive/metrics.h"
#include "receive/options.h"
#include "receive/repeats.h"
#include "receive/series_limit.h"
#include "receive/store_line.h"
#include "writer/writer.h"

/* Who answers which path: services.h. */
typedef struct ServiceTable
{
	const Service *items;
	size_t count;
} ServiceTable;

#define TOO_MUCH_UNDER_WAY "too much is under way"

typedef struct Receiver
{
	const ReceiveOptions *options;
	const ServiceTable *services;
	void *host; /* of services that are another room's */
	AttributeRule rule;
	Writer *writer; /* not owned; so services, host */
	ReceiveMetrics metrics;
	MemoryPool memory; /* of requests, from their bytes to their batches */
	MemoryTurns turns; /* of workers */
	Repeats repeats;
	SeriesLimit series;
	StoreLine line;

	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t wanted;
	WorkQueue work; /* for workers */
	bool is_stopping;
	Call *given_back; /* for the loop, newest first */

	int wake_fd; /* eventfd: the loop has something given back */
} Receiver;

/* EXIT_OK, or with *failure. To be given back in either case. */
ExitCode receiver_init(Receiver *receiver, const ReceiveOptions *options,
					   const ServiceTable *services, Writer *writer, Failure *failure);
void receiver_fini(Receiver *receiver); /* after the writer has given back what it has */

/* Hands a call, which has a client, to the workers. */
void receiver_want(Receiver *receiver, Call *call);

/* Takes back a call that no worker has begun with; false if one has. */
bool receiver_withdraw(Receiver *receiver, Call *call);

/*
 * Returns the next call for a worker, who waits for it; NULL: stop, whatever waits. receiver_done()
 * ends its work, with the processor time that it took: the call may be gone by then.
 */
Call *receiver_take(Receiver *receiver, ClientWork **work);
void receiver_done(Receiver *receiver, ClientWork *work, uint64_t cpu_ns);

/* The call has its answer. */
void receiver_give_back(Receiver *receiver, Call *call);

/* All that were given back, oldest first; for the loop. */
Call *receiver_collect(Receiver *receiver);

void receiver_stop_workers(Receiver *receiver);

#endif
