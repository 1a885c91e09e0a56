/*
 * service.h
 *		The services of a server.
 */
#ifndef COLLECTOR_HTTP_SERVER_SERVICE_H
#define COLLECTOR_HTTP_SERVER_SERVICE_H

#include "http_server/host.h"

struct Service
{
	const char *path;
	const char *method; /* method of HTTP */
	bool is_grpc;
	bool is_open;			/* needs no token */
	bool retries_exhausted; /* its clients retry RESOURCE_EXHAUSTED */

	/*
	 * A stream: the client's message, ours, the client's second message, the end. Its clients do
	 * not retry, so a call waits while the database is unavailable.
	 */
	bool is_exchange;

	/*
	 * A stream: work gets each of the client's messages, or without gRPC each part of at most
	 * INTAKE_PART_BYTES of its body, and sets wants_more or an answer. It gets the end as is_end.
	 */
	bool is_stream;

	bool is_prefix;	 /* path is the beginning of the paths */
	bool is_connect; /* speaks the Connect protocol: errors in JSON */
	bool takes_json; /* of Connect: JSON as well as protobuf */
	bool takes_any;	 /* any content type, which the service looks at, and the query string */
	bool is_apart;	 /* works while the writer's database is unavailable */
	int64_t late_ms; /* time for a worker and what follows; 0: --answer-timeout */

	/* Called in the loop's thread when a call ends in whatever way. NULL: not needed. */
	void (*left)(Host *host, Call *call);

	/* Either answer or work is set. answer sets the answer at once, in the loop's thread. */
	void (*answer)(Host *host, Call *call);

	/* Runs in a worker, and calls host_give_back() sooner or later. */
	void (*work)(Host *host, Call *call);
};

/* Returns NULL if no service has the path. */
const Service *service_find(const ServiceTable *table, const char *path, bool is_grpc);

/* Pages for any server: whether it is alive, and whether the database is available. */
void page_healthy(Host *host, Call *call);
void page_ready(Host *host, Call *call);

/* Answers with figures in the format that the client accepts. */
void page_figures(Call *call, const char *part, FiguresFill fill, void *context);

/* Returns true if the writer's database is available. */
bool host_is_ready(Host *host);

#endif
