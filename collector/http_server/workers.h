/*
 * workers.h
 *		Threads that decode.
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

/* False without threads or memory. */
bool workers_start(Workers *workers, Host *host, size_t count);

/* Ends them when all that was wanted is done. */
void workers_stop(Workers *workers);

#endif
