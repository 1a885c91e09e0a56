/*
 * serve_metrics.h
 *		Counters of "serve", in addition to those of the server. Any thread may add.
 */
#ifndef COLLECTOR_SERVE_METRICS_H
#define COLLECTOR_SERVE_METRICS_H

#include "http_server/metrics.h"

/* X(name, help). On /metrics the name has the prefix profstore_serve_. */
#define SERVE_METRICS(X)                                                                  \
	X(questions_answered_total, "Queries that were answered.")                            \
	X(questions_refused_total, "Queries that the database or their limits refused.")      \
	X(questions_timed_out_total, "Queries that took longer than --query-timeout.")        \
	X(questions_cancelled_total, "Queries that ended because their client disconnected.") \
	X(logins_refused_total, "Logins that the database rejected.")                         \
	X(database_connections_total, "Connections to the database that were opened.")

typedef struct ServeMetrics
{
#define X(name, help) atomic_uint_fast64_t name;
	SERVE_METRICS(X)
#undef X
} ServeMetrics;

#endif
