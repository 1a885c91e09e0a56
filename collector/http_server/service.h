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
	const char *method; /* HTTP method */
	bool is_grpc;
	bool is_open;			/* the service needs no token */
	bool retries_exhausted; /* clients of the service retry RESOURCE_EXHAUSTED */

	/*
	 * The call is a stream of: the client's message, our answer, the client's second message, the
	 * end. Its clients do not retry, so such a call waits while the database is unavailable.
	 */
	bool is_exchange;

	/*
	 * The call is a stream: work is given each message of the client or, without gRPC, each part of
	 * at most INTAKE_PART_BYTES of its body; it sets wants_more or an answer. The end of the stream
	 * is given with is_end.
	 */
	bool is_stream;

	bool is_prefix;	 /* path is the beginning of the paths */
	bool is_connect; /* speaks the Connect protocol: errors in JSON */
	bool takes_json; /* Connect: accepts JSON as well as protobuf */
	/* the service examines content type and query string itself, so all are accepted */
	bool takes_any;
	bool is_apart;	 /* the service works even while the writer's database is unavailable */
	int64_t late_ms; /* time limit for the worker and for storing; 0: --answer-timeout */

	/* Called in the loop's thread when a call ends, for whatever reason. NULL: not needed. */
	void (*left)(Host *host, Call *call);

	/* Either answer or work is set. answer sets the answer at once, in the loop's thread. */
	void (*answer)(Host *host, Call *call);

	/* Runs in a worker, and calls host_give_back() sooner or later. */
	void (*work)(Host *host, Call *call);
};

/* Returns NULL if no service has the path. */
const Service *service_find(const ServiceTable *table, const char *path, bool is_grpc);

/*
 * Pages for any server: page_healthy() reports that the server is alive, page_ready() whether the
 * database is available.
 */
void page_healthy(Host *host, Call *call);
void page_ready(Host *host, Call *call);

/* Answers with figures in the format that the client accepts. */
void page_figures(Call *call, const char *part, FiguresFill fill, void *context);

/* Returns true if the writer's database is available. */
bool host_is_ready(Host *host);

#endif
