/*
 * receiver.c
 *		The two queues between threads.
 */
#include "receive/receiver.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

ExitCode
receiver_init(Receiver *receiver, const ReceiveOptions *options, const ServiceTable *services,
			  Writer *writer, Failure *failure)
{
	*receiver = (Receiver){
		.options = options, .services = services, .rule = { options->drop }, .writer = writer
	};
	receiver->memory.limit_bytes = options->max_memory;
	receiver->memory.turns = &receiver->turns;
	turns_init(&receiver->turns);
	pthread_mutex_init(&receiver->lock, NULL);
	pthread_cond_init(&receiver->wanted, NULL);
	repeats_init(&receiver->repeats);
	series_limit_init(&receiver->series);
	store_line_init(&receiver->line, writer, options->queue_bytes);
	receiver->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (receiver->wake_fd < 0)
		return failure_set(failure, EXIT_INTERNAL, "could not set up the receiver");
	return EXIT_OK;
}

void
receiver_fini(Receiver *receiver)
{
	ClientWork *work;
	Call *call;

	while ((call = work_queue_take(&receiver->work, &work)) != NULL)
	{
		work_queue_done(work, 0);
		call_free(call);
	}
	while ((call = receiver->given_back) != NULL)
	{
		receiver->given_back = call->next;
		call_free(call);
	}
	repeats_fini(&receiver->repeats);
	series_limit_fini(&receiver->series);
	store_line_fini(&receiver->line);
	if (receiver->wake_fd >= 0)
		close(receiver->wake_fd);
	turns_fini(&receiver->turns);
	pthread_cond_destroy(&receiver->wanted);
	pthread_mutex_destroy(&receiver->lock);
}

void
receiver_want(Receiver *receiver, Call *call)
{
	pthread_mutex_lock(&receiver->lock);
	work_queue_put(&receiver->work, client_work(call->client), call);
	pthread_cond_signal(&receiver->wanted);
	pthread_mutex_unlock(&receiver->lock);
}

bool
receiver_withdraw(Receiver *receiver, Call *call)
{
	bool was_there;

	pthread_mutex_lock(&receiver->lock);
	was_there = work_queue_withdraw(&receiver->work, client_work(call->client), call);
	pthread_mutex_unlock(&receiver->lock);
	return was_there;
}

Call *
receiver_take(Receiver *receiver, ClientWork **work)
{
	Call *call = NULL;

	pthread_mutex_lock(&receiver->lock);
	while (!receiver->is_stopping && (call = work_queue_take(&receiver->work, work)) == NULL)
		pthread_cond_wait(&receiver->wanted, &receiver->lock);
	pthread_mutex_unlock(&receiver->lock);
	return call;
}

void
receiver_done(Receiver *receiver, ClientWork *work, uint64_t cpu_ns)
{
	pthread_mutex_lock(&receiver->lock);
	work_queue_done(work, cpu_ns);
	pthread_mutex_unlock(&receiver->lock);
}

void
receiver_give_back(Receiver *receiver, Call *call)
{
	const uint64_t one = 1;
	bool is_first;

	pthread_mutex_lock(&receiver->lock);
	is_first = receiver->given_back == NULL;
	call->next = receiver->given_back;
	receiver->given_back = call;
	pthread_mutex_unlock(&receiver->lock);

	/* fails only where it is readable already */
	if (is_first && write(receiver->wake_fd, &one, sizeof(one)) < 0)
		return;
}

Call *
receiver_collect(Receiver *receiver)
{
	Call *newest;
	Call *oldest = NULL;
	uint64_t count;

	/* nothing to read: nothing was given back since */
	if (read(receiver->wake_fd, &count, sizeof(count)) < 0)
		count = 0;
	pthread_mutex_lock(&receiver->lock);
	newest = receiver->given_back;
	receiver->given_back = NULL;
	pthread_mutex_unlock(&receiver->lock);
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
receiver_stop_workers(Receiver *receiver)
{
	pthread_mutex_lock(&receiver->lock);
	receiver->is_stopping = true;
	pthread_cond_broadcast(&receiver->wanted);
	pthread_mutex_unlock(&receiver->lock);
}
