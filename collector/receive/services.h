/*
 * services.h
 *		Who answers which path.
 */
#ifndef COLLECTOR_RECEIVE_SERVICES_H
#define COLLECTOR_RECEIVE_SERVICES_H

#include "receive/receiver.h"

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
	void (*answer)(Receiver *receiver, Call *call);

	/* By a worker, which calls receiver_give_back sooner or later. Body: unpacked, see submit.h. */
	void (*work)(Receiver *receiver, Call *call);
};

/* NULL: nobody does. */
const Service *service_find(const ServiceTable *table, const char *path, bool is_grpc);

/* Of "receive". */
extern const ServiceTable receive_services;

/* otlp_service.c, parca_service.c, arrow_service.c, pages.c */
void otlp_export(Receiver *receiver, Call *call);
void parca_write_raw(Receiver *receiver, Call *call);
void parca_write_arrow(Receiver *receiver, Call *call);
void parca_write(Receiver *receiver, Call *call);
void parca_decline_upload(Receiver *receiver, Call *call);
void page_healthy(Receiver *receiver, Call *call);
void page_ready(Receiver *receiver, Call *call);
void page_metrics(Receiver *receiver, Call *call);
void health_check(Receiver *receiver, Call *call);

#endif
