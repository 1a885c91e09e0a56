/*
 * workers.c
 *		Threads that process the next call of the queue (work_queue.h).
 */
#include "http_server/workers.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/thread_start.h"
#include "http_server/service.h"

/*
 * A call may be decoded for 1/ANSWER_PARTS of --answer-timeout. Then another client's call that
 * waits for it, and takes as long, is still answered in time.
 */
#define ANSWER_PARTS 2

/*
 * Works on a call. The call's body is charged already. Further memory of this worker is charged to
 * the call, and released with the answer or when the call is queued for the writer, because the
 * writer's queue counts the memory of batches itself.
 */
static void
workers_work(Host *host, Call *call, int64_t begin_cpu_ns)
{
	const size_t came = call->charged;
	const int64_t limit_ns = host->options->answer_ms * NS_PER_MS / ANSWER_PARTS;
	WorkLimit limit = { .end_cpu_ns = begin_cpu_ns + limit_ns, .is_unwanted = &call->is_unwanted };
	MemoryShare memory;

	share_begin(&memory, &host->memory, came);
	call->memory = &memory;
	call->limit = &limit;
	call->service->work(host, call);
	/* From here on the call may be freed. */
	share_end(&memory, came);
}

static void *
worker_main(void *argument)
{
	Host *host = argument;
	ClientWork *client;
	Call *call;

	while ((call = host_take(host, &client)) != NULL)
	{
		const int64_t begin_cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);

		workers_work(host, call, begin_cpu_ns);
		host_done(host, client, (uint64_t) (clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_cpu_ns));
	}
	return NULL;
}

bool
workers_start(Workers *workers, Host *host, size_t count)
{
	*workers = (Workers){ .host = host };
	workers->threads = calloc(count, sizeof(pthread_t));
	if (workers->threads == NULL)
		return false;

	while (workers->count < count &&
		   thread_start(&workers->threads[workers->count], worker_main, host) == 0)
		workers->count++;
	return workers->count == count;
}

void
workers_stop(Workers *workers)
{
	/* workers_start() may not have been called. */
	if (workers->host != NULL)
		host_stop_workers(workers->host);
	for (size_t i = 0; i < workers->count; i++)
		pthread_join(workers->threads[i], NULL);
	free(workers->threads);
	*workers = (Workers){ .threads = NULL };
}
