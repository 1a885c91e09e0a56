/*
 * workers.h
 *		Threads that decode the bodies of calls.
 */
#ifndef COLLECTOR_HTTP_SERVER_WORKERS_H
#define COLLECTOR_HTTP_SERVER_WORKERS_H

#include "http_server/host.h"

typedef struct Workers
{
	pthread_t *threads;
	size_t count;
	Host *host;
} Workers;

/* Returns false if threads or memory are not available. */
bool workers_start(Workers *workers, Host *host, size_t count);

/* Ends the threads after all queued calls are done. */
void workers_stop(Workers *workers);

#endif
