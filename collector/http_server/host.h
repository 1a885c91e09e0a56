/*
 * host.h
 *		State that all parts of a running HTTP server share.
 *
 * Threads: the loop (sockets, protocols, answers: loop.h), and workers (workers.c) for calls whose
 * service takes long. A call goes from the loop to a worker, from there to other threads if the
 * service does so, and back to the loop with host_give_back(), which any thread may call.
 */
#ifndef COLLECTOR_HTTP_SERVER_HOST_H
#define COLLECTOR_HTTP_SERVER_HOST_H

#include <pthread.h>

#include "base/memory_share.h"
#include "http_server/call.h"
#include "http_server/clients.h"
#include "http_server/metrics.h"
#include "writer/writer.h"

/* When a request is answered as stored. */
enum
{
	ACKNOWLEDGE_DATABASE, /* when the transaction of its samples is committed */
	ACKNOWLEDGE_SPOOL	  /* when its samples are committed or in the writer's spool */
};

typedef struct HostOptions
{
	const char *module; /* module of log messages, a literal */
	const char *listen; /* addresses HOST:PORT, separated by commas */
	const char *cert;	/* PEM files; NULL: no TLS */
	const char *key;
	/* Clients must have a certificate signed by this authority; NULL: no client certificates. */
	const char *client_ca;
	const char *tokens; /* file of bearer tokens and tenants; NULL: no tokens */
	bool passes_login;	/* leave Basic authentication in the call, because a worker checks it */
	/* the header X-Scope-OrgID names the client's tenant, because a trusted proxy sets it */
	bool trusts_scope;
	size_t max_message; /* limit of the bytes of an unpacked request */
	size_t max_memory;	/* limit of the bytes of all current requests */
	int64_t max_connections;
	int64_t client_connections; /* limit of connections from one address */
	int64_t client_requests;	/* limit of requests per second of one tenant or address */
	int64_t answer_ms;			/* time after which a waiting client is asked to retry */
	int acknowledge;			/* ACKNOWLEDGE_* */
	int64_t idle_ms;			/* time after which a connection without requests is closed */
} HostOptions;

/* The services of a server by path: service.h. */
typedef struct ServiceTable
{
	const Service *items;
	size_t count;

	/*
	 * Called when the client has received a successful answer, or has disconnected before. NULL:
	 * not needed.
	 */
	void (*told)(Host *host, Call *call);
	void (*left)(Host *host, Call *call, int64_t now_ns);

	/* Called with each answer of a worker that is sent and is no error. NULL: not needed. */
	void (*answered)(Host *host);
} ServiceTable;

#define TOO_MUCH_UNDER_WAY "too many requests are in progress"

/* A server with more shared state begins its own structure with this one. */
struct Host
{
	const HostOptions *options;
	const ServiceTable *services;
	Writer *writer; /* not owned; NULL: no service stores anything, so all services have is_apart */
	HostMetrics metrics;
	MemoryPool memory; /* memory of requests until they become batches */
	MemoryTurns turns; /* decides which worker may wait for memory */

	pthread_mutex_t lock; /* guards the fields below */
	pthread_cond_t wanted;
	WorkQueue work; /* calls for the workers */
	bool is_stopping;
	Call *given_back; /* calls for the loop, newest first */

	int wake_fd; /* eventfd that is readable when a call was given back to the loop */
};

/* Returns EXIT_OK, or another code with *failure set. Call host_fini() in either case. */
ExitCode host_init(Host *host, const HostOptions *options, const ServiceTable *services,
				   Writer *writer, Failure *failure);
void host_fini(Host *host); /* call after all calls that workers took were given back */

/* Queues a call for the workers. The call must have a client. */
void host_want(Host *host, Call *call);

/* Removes a call from the queue for the workers; returns false if a worker has it already. */
bool host_withdraw(Host *host, Call *call);

/*
 * Blocks until a call is queued and returns the next one; NULL: the worker must exit. The worker
 * reports the end with host_done() and the CPU time that it used; the call may be freed by then.
 */
Call *host_take(Host *host, ClientWork **work);
void host_done(Host *host, ClientWork *work, uint64_t cpu_ns);

/* Returns an answered call to the loop. */
void host_give_back(Host *host, Call *call);

/* Returns all calls that were given back, oldest first. Called by the loop. */
Call *host_collect(Host *host);

void host_stop_workers(Host *host);

#endif
