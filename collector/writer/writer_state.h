/*
 * writer_state.h
 *		The internal state of a writer, for its thread, its spooler and its interface.
 */
#ifndef COLLECTOR_WRITER_STATE_H
#define COLLECTOR_WRITER_STATE_H

#include <pthread.h>
#include <stdbool.h>

#include "spool/spool.h"
#include "writer/queue.h"
#include "writer/reporter.h"
#include "writer/target.h"
#include "writer/writer_stats.h"

struct Writer
{
	/* The fields up to divisions belong to the thread once it runs. */
	Target target;
	Retry retry;
	Reporter reporter;
	const char *name; /* name of the target, or NULL */
	bool repeated;	  /* the flight, or a part of it, had a receipt that was stored before */
	int divisions;	  /* divisions of the batch whose pieces are at the head of the queue */

	pthread_t thread;
	bool started;
	int wake_fd; /* eventfd: readable if the thread must stop at once */

	Spool *spool; /* NULL if there is none */
	uint64_t spool_limit_bytes;
	int64_t spool_age_ns;
	pthread_t spooler; /* started with thread if there is a spool */

	pthread_mutex_t lock;	/* guards everything below */
	pthread_cond_t changed; /* signalled when a field below changes; uses the monotonic clock */
	Queue queue;
	/* batches were refused together; the last one of them has this order (see QueuedBatch) */
	uint64_t careful_until;
	/* at most this many batches are merged if their order is at most careful_until */
	uint32_t careful_count;
	char *new_conninfo; /* replaces conninfo at the next connect; NULL if none */
	bool hurry;			/* the next attempt must not wait */
	bool stopping;		/* stop once the queue is empty */
	bool stop_now;
	bool finished; /* the thread has ended */
	/* the spooler must end when all batches are on disk, or writing has failed */
	bool spooler_must_end;
	bool spooler_ended;
	/* the spooler did not end in time, so nothing that it uses may be freed */
	bool spooler_is_left;
	bool spool_is_failing;	/* the last write failed */
	int64_t spool_pause_ns; /* time before which no batch is written to the spool */
	Batch *unreported;		/* losses that no queued batch contains yet; NULL: none */
	WriterStats stats;
	Failure failure; /* its code is EXIT_OK if there is none */
};

#endif
