/*
 * workers.c
 *		Each takes the oldest call that waits.
 */
#include "receive/workers.h"

#include <signal.h>
#include <stdlib.h>

#include "receive/services.h"

/*
 * What came is charged already. What this worker needs beside it goes with its work: unpacked
 * bodies with the answer or before the writer's turn, whose queue counts batches itself.
 */
static void
work(Receiver *receiver, Call *call)
{
	const size_t came = call->charged;
	MemoryShare memory;

	share_begin(&memory, &receiver->memory, came);
	call->memory = &memory;
	call->service->work(receiver, call);
	share_end(&memory, came);
}

static void *
worker_main(void *argument)
{
	Receiver *receiver = argument;
	Call *call;

	while ((call = receiver_take(receiver)) != NULL)
		work(receiver, call);
	return NULL;
}

bool
workers_start(Workers *workers, Receiver *receiver, size_t count)
{
	sigset_t all;
	sigset_t before;

	*workers = (Workers){ .receiver = receiver };
	workers->threads = calloc(count, sizeof(pthread_t));
	if (workers->threads == NULL)
		return false;

	/* signals are for the main thread */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (workers->count < count &&
		   pthread_create(&workers->threads[workers->count], NULL, worker_main, receiver) == 0)
		workers->count++;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return workers->count == count;
}

void
workers_stop(Workers *workers)
{
	if (workers->receiver != NULL)
		receiver_stop_workers(workers->receiver);
	for (size_t i = 0; i < workers->count; i++)
		pthread_join(workers->threads[i], NULL);
	free(workers->threads);
	*workers = (Workers){ .threads = NULL };
}
