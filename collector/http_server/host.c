/*
 * host.c
 *		The two queues between the loop and other threads: calls for workers, and calls given back.
 */
#include "http_server/host.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

ExitCode
host_init(Host *host, const HostOptions *options, const ServiceTable *services, Writer *writer,
		  Failure *failure)
{
	*host = (Host){ .options = options, .services = services, .writer = writer };
	host->memory.limit_bytes = options->max_memory;
	host->memory.turns = &host->turns;
	turns_init(&host->turns);
	pthread_mutex_init(&host->lock, NULL);
	pthread_cond_init(&host->wanted, NULL);
	host->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (host->wake_fd < 0)
		return failure_set(failure, EXIT_INTERNAL, "could not set up the receiver");
	return EXIT_OK;
}

void
host_fini(Host *host)
{
	ClientWork *work;
	Call *call;

	/* Workers may have stopped before they began all calls. */
	while ((call = work_queue_take(&host->work, &work)) != NULL)
	{
		work_queue_done(work, 0);
		call_free(call);
	}
	while ((call = host->given_back) != NULL)
	{
		host->given_back = call->next;
		call_free(call);
	}
	if (host->wake_fd >= 0)
		close(host->wake_fd);
	turns_fini(&host->turns);
	pthread_cond_destroy(&host->wanted);
	pthread_mutex_destroy(&host->lock);
}

void
host_want(Host *host, Call *call)
{
	pthread_mutex_lock(&host->lock);
	work_queue_put(&host->work, client_work(call->client), call);
	pthread_cond_signal(&host->wanted);
	pthread_mutex_unlock(&host->lock);
}

bool
host_withdraw(Host *host, Call *call)
{
	bool was_there;

	pthread_mutex_lock(&host->lock);
	was_there = work_queue_withdraw(&host->work, client_work(call->client), call);
	pthread_mutex_unlock(&host->lock);
	return was_there;
}

Call *
host_take(Host *host, ClientWork **work)
{
	Call *call = NULL;

	pthread_mutex_lock(&host->lock);
	while (!host->is_stopping && (call = work_queue_take(&host->work, work)) == NULL)
		pthread_cond_wait(&host->wanted, &host->lock);
	pthread_mutex_unlock(&host->lock);
	return call;
}

void
host_done(Host *host, ClientWork *work, uint64_t cpu_ns)
{
	pthread_mutex_lock(&host->lock);
	work_queue_done(work, cpu_ns);
	pthread_mutex_unlock(&host->lock);
}

void
host_give_back(Host *host, Call *call)
{
	const uint64_t one = 1;
	bool is_first;

	pthread_mutex_lock(&host->lock);
	is_first = host->given_back == NULL;
	call->next = host->given_back;
	host->given_back = call;
	pthread_mutex_unlock(&host->lock);

	/* a write fails only if the eventfd is readable already */
	if (is_first && write(host->wake_fd, &one, sizeof(one)) < 0)
		return;
}

Call *
host_collect(Host *host)
{
	Call *newest;
	Call *oldest = NULL;
	uint64_t count;

	/* a read fails only if no call was given back in between */
	if (read(host->wake_fd, &count, sizeof(count)) < 0)
		count = 0;
	pthread_mutex_lock(&host->lock);
	newest = host->given_back;
	host->given_back = NULL;
	pthread_mutex_unlock(&host->lock);
	/* The list begins with the newest call, but the oldest one is answered first. */
	while (newest != NULL)
	{
		Call *next = newest->next;

		newest->next = oldest;
		oldest = newest;
		newest = next;
	}
	return oldest;
}

void
host_stop_workers(Host *host)
{
	pthread_mutex_lock(&host->lock);
	host->is_stopping = true;
	pthread_cond_broadcast(&host->wanted);
	pthread_mutex_unlock(&host->lock);
}
