/*
 * store_line.h
 *		Decoded calls that wait for the writer. Clients take turns, and a batch with many new items
 *		is split into steps.
 *
 * The writer stores batches in the order of arrival, so it is given little at a time:
 * STORE_LINE_COST. A batch that costs more than a step is interned first, in batches that contain
 * some of its stacks without samples, one in each turn of its client; interning is idempotent. Its
 * samples are then stored in one transaction.
 */
#ifndef COLLECTOR_RECEIVE_STORE_LINE_H
#define COLLECTOR_RECEIVE_STORE_LINE_H

#include <pthread.h>

#include "http_server/call.h"
#include "http_server/work_queue.h"
#include "writer/writer.h"

/* Counted in frames of stacks. Interning a new frame takes the database about a microsecond. */
#define STORE_STEP_COST ((size_t) 200 * 1000)
#define STORE_LINE_COST (10 * STORE_STEP_COST)

typedef struct StoreLine
{
	Writer *writer;
	size_t limit_bytes;
	bool takes_spooled; /* a call is stored once its batch is in the writer's spool */

	pthread_mutex_t lock; /* guards the fields below */
	WorkQueue queue;
	size_t bytes;	 /* bytes of all batches that are not finished */
	size_t out_cost; /* total cost of the batches that the writer has at present */
} StoreLine;

void store_line_init(StoreLine *line, Writer *writer, size_t limit_bytes, bool takes_spooled);
void store_line_fini(StoreLine *line);

/*
 * Queues a call and its batch, which the line owns from then on; calls "stored" at the end, in the
 * writer's thread. On failure both still belong to the caller: -EMSGSIZE; -EAGAIN (one client may
 * use half of the queue's bytes); -EPIPE and -ENOMEM, like writer_submit().
 */
int store_line_put(StoreLine *line, Call *call, Batch *batch, CallStored stored);

/* Returns the bytes of all unfinished batches. */
size_t store_line_bytes(StoreLine *line);

#endif
