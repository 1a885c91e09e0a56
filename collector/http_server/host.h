/*
 * host.h
 *		What all parts of a running HTTP server share.
 *
 * Threads: the loop (sockets, protocols, answers: loop.h), and workers (workers.c) for calls whose
 * service takes long. A call goes from the loop to a worker, to whoever else the service hands it
 * to, and back to the loop by host_give_back, which any thread may call.
 */
#ifndef COLLECTOR_HTTP_SERVER_HOST_H
#define COLLECTOR_HTTP_SERVER_HOST_H

#include <pthread.h>

#include "base/memory_share.h"
#include "http_server/call.h"
#include "http_server/clients.h"
#include "http_server/metrics.h"
#include "writer/writer.h"

typedef struct HostOptions
{
	const char *listen; /* HOST:PORT, several separated by commas */
	const char *cert;	/* PEM files; NULL: no TLS */
	const char *key;
	const char *client_ca; /* whoever connects must have a certificate of it; NULL: nobody */
	const char *tokens;	   /* file of bearer tokens and tenants; NULL: none */
	size_t max_message;	   /* bytes of a request, unpacked */
	size_t max_memory;	   /* of requests that are under way */
	int64_t max_connections;
	int64_t client_connections; /* of one address */
	int64_t client_requests;	/* a second, of one tenant or address */
	int64_t answer_ms;			/* until whoever waits is asked to come again */
	int64_t idle_ms;			/* until a connection without requests is closed */
} HostOptions;

/* Who answers which path: service.h. */
typedef struct ServiceTable
{
	const Service *items;
	size_t count;

	/* The client has a good answer to this call, or has gone before it. NULL: nothing to do. */
	void (*told)(Host *host, Call *call);
	void (*left)(Host *host, Call *call, int64_t now_ns);
} ServiceTable;

#define TOO_MUCH_UNDER_WAY "too much is under way"

/* Whoever has more to share with its services begins its own structure with this. */
struct Host
{
	const HostOptions *options;
	const ServiceTable *services;
	Writer *writer; /* not owned: work is refused while its database is away */
	HostMetrics metrics;
	MemoryPool memory; /* of requests, from their bytes to their batches */
	MemoryTurns turns; /* of workers */

	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t wanted;
	WorkQueue work; /* for workers */
	bool is_stopping;
	Call *given_back; /* for the loop, newest first */

	int wake_fd; /* eventfd: the loop has something given back */
};

/* EXIT_OK, or with *failure. To be given back in either case. */
ExitCode host_init(Host *host, const HostOptions *options, const ServiceTable *services,
				   Writer *writer, Failure *failure);
void host_fini(Host *host); /* after the calls that workers took have been given back */

/* Hands a call, which has a client, to the workers. */
void host_want(Host *host, Call *call);

/* Takes back a call that no worker has begun with; false if one has. */
bool host_withdraw(Host *host, Call *call);

/*
 * Returns the next call for a worker, who waits for it; NULL: stop, whatever waits. host_done()
 * ends its work, with the processor time that it took: the call may be gone by then.
 */
Call *host_take(Host *host, ClientWork **work);
void host_done(Host *host, ClientWork *work, uint64_t cpu_ns);

/* The call has its answer. */
void host_give_back(Host *host, Call *call);

/* All that were given back, oldest first; for the loop. */
Call *host_collect(Host *host);

void host_stop_workers(Host *host);

#endif
