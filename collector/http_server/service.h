/*
 * service.h
 *		Who answers a path.
 */
#ifndef COLLECTOR_HTTP_SERVER_SERVICE_H
#define COLLECTOR_HTTP_SERVER_SERVICE_H

#include "http_server/host.h"

struct Service
{
	const char *path;
	const char *method; /* of HTTP */
	bool is_grpc;
	bool is_open;  /* for whoever connects, without a token */
	bool is_parca; /* its clients send again what exhausts resources */

	/*
	 * A stream: a message, one back, another one, the end. Its clients do not send again what was
	 * refused, so it waits for a database that is away.
	 */
	bool is_exchange;

	/* One of both. At once, in the loop's thread: sets the answer. */
	void (*answer)(Host *host, Call *call);

	/* By a worker, which calls host_give_back sooner or later. */
	void (*work)(Host *host, Call *call);
};

/* NULL: nobody does. */
const Service *service_find(const ServiceTable *table, const char *path, bool is_grpc);

/* Pages that any server may have: it is alive; its writer's database is there. */
void page_healthy(Host *host, Call *call);
void page_ready(Host *host, Call *call);

/* Is its writer's database there? */
bool host_is_ready(Host *host);

#endif
