/*
 * store_line.h
 *		Decoded calls that wait for the writer: clients take turns, and a batch with much that the
 *		database may have to intern goes in steps.
 *
 * The writer stores what it has in order, so it is given little at a time: STORE_LINE_COST. A batch
 * that costs more than a step is interned first, in batches without samples of its stacks, one for
 * each turn of its client; interning is idempotent. Its samples are one transaction as ever.
 */
#ifndef COLLECTOR_RECEIVE_STORE_LINE_H
#define COLLECTOR_RECEIVE_STORE_LINE_H

#include <pthread.h>

#include "http_server/call.h"
#include "http_server/work_queue.h"
#include "writer/writer.h"

/* Frames of stacks, each about a microsecond of the database if it is new. */
#define STORE_STEP_COST ((size_t) 200 * 1000)
#define STORE_LINE_COST (10 * STORE_STEP_COST)

typedef struct StoreLine
{
	Writer *writer;
	size_t limit_bytes;

	pthread_mutex_t lock; /* guards what follows */
	WorkQueue queue;
	size_t bytes;	 /* of all batches that are not at their end */
	size_t out_cost; /* of what the writer has */
} StoreLine;

void store_line_init(StoreLine *line, Writer *writer, size_t limit_bytes);
void store_line_fini(StoreLine *line);

/*
 * Takes a batch, and the call with it; stored is called at its end, as the writer's callback is. On
 * failure both are the caller's: -EMSGSIZE, -EAGAIN (of the queue's bytes one client has half),
 * -EPIPE, -ENOMEM, as of writer_submit().
 */
int store_line_put(StoreLine *line, Call *call, Batch *batch, CallStored stored);

/* Returns the bytes of all batches that are not at their end. */
size_t store_line_bytes(StoreLine *line);

#endif
