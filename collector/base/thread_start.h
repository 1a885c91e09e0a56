/*
 * thread_start.h
 *		Starts a thread with all signals blocked, so that only the caller's thread handles them.
 */
#ifndef COLLECTOR_THREAD_START_H
#define COLLECTOR_THREAD_START_H

#include <pthread.h>
#include <signal.h>

/* Starts the thread. Returns 0 or -errno. */
static inline int
thread_start(pthread_t *thread, void *(*main)(void *), void *argument)
{
	sigset_t all;
	sigset_t before;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(thread, NULL, main, argument);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -error;
}

#endif
