/*
 * serve_metrics.h
 *		Counters of "serve", beside those of the server. Any thread adds.
 */
#ifndef COLLECTOR_SERVE_METRICS_H
#define COLLECTOR_SERVE_METRICS_H

#include "http_server/metrics.h"

/* X(name, help): /metrics shows the name with the prefix profstore_serve_. */
#define SERVE_METRICS(X)                                                                    \
	X(questions_answered_total, "Questions that were answered.")                            \
	X(questions_refused_total, "Questions that the database or their limits refused.")      \
	X(questions_timed_out_total, "Questions that took longer than --query-timeout.")        \
	X(questions_cancelled_total, "Questions that ended because their client disconnected.") \
	X(logins_refused_total, "Users whom the database did not let in.")                      \
	X(database_connections_total, "Connections to the database that were opened.")

typedef struct ServeMetrics
{
#define X(name, help) atomic_uint_fast64_t name;
	SERVE_METRICS(X)
#undef X
} ServeMetrics;

#endif
