/*
 * writer_state.h
 *		The inside of a writer, for its thread, its spooler and its interface.
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
	/* belong to the thread once it runs */
	Target target;
	Retry retry;
	Reporter reporter;
	const char *name; /* name of the target, or NULL */
	bool repeated;	  /* the flight, or a part of it, was stored before with a receipt */
	int divisions;	  /* of the batch whose pieces are at the queue's head */

	pthread_t thread;
	bool started;
	int wake_fd; /* eventfd: readable if the thread must stop at once */

	Spool *spool; /* NULL if there is none */
	uint64_t spool_limit_bytes;
	int64_t spool_age_ns;
	pthread_t spooler; /* started with thread if there is a spool */

	pthread_mutex_t lock;	/* guards everything below */
	pthread_cond_t changed; /* any of it changed; uses the monotonic clock */
	Queue queue;
	uint64_t careful_until; /* batches up to this order were refused together: … */
	uint32_t careful_count; /* … at most this many go together now */
	char *new_conninfo;		/* replaces conninfo at the next connect; NULL if none */
	bool hurry;				/* the next attempt must not wait */
	bool stopping;			/* stop once the queue is empty */
	bool stop_now;
	bool finished;		   /* the thread has ended */
	bool spooler_must_end; /* once everything is on disk, or that has failed */
	bool spooler_ended;
	bool spooler_is_left;  /* it has not ended in time: nothing that it uses may be freed */
	bool spool_is_failing; /* the last write failed */
	Batch *unreported;	   /* losses that no queued batch carries yet; NULL if none */
	WriterStats stats;
	Failure failure; /* its code is EXIT_OK if there is none */
};

#endif
