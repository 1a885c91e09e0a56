/*
 * metrics.h
 *		Counters of an HTTP server. Any thread may add to them.
 */
#ifndef COLLECTOR_HTTP_SERVER_METRICS_H
#define COLLECTOR_HTTP_SERVER_METRICS_H

#include <stdatomic.h>
#include <stdint.h>

#include "program/figures.h"

/* X(name, help). On /metrics the name has the prefix profstore_PART_. */
#define HOST_METRICS(X)                                                                       \
	X(connections_total, "Connections that were accepted.")                                   \
	X(connections_refused_total, "Connections beyond the limits, closed at once.")            \
	X(connections_timed_out_total, "Connections that were closed as idle or too slow.")       \
	X(connections_flooded_total, "Connections that were closed for too many control frames.") \
	X(tls_failures_total, "TLS handshakes that failed.")                                      \
	X(requests_total, "Requests that arrived completely.")                                    \
	X(requests_invalid_total, "Requests that were malformed.")                                \
	X(requests_too_large_total, "Requests beyond the limits of size.")                        \
	X(requests_unauthenticated_total, "Requests without a valid token or certificate.")       \
	X(requests_throttled_total, "Requests beyond a client's rate or memory.")                 \
	X(requests_unavailable_total, "Requests whose client was asked to retry.")                \
	X(requests_late_total, "Requests that were not answered before their deadline.")          \
	X(requests_cancelled_total, "Requests whose client disconnected.")                        \
	X(bytes_total, "Bytes of requests as received.")

typedef struct HostMetrics
{
#define X(name, help) atomic_uint_fast64_t name;
	HOST_METRICS(X)
#undef X
	atomic_int_fast64_t open_connections;
	atomic_size_t connection_bytes; /* bytes that connection_charge() has charged */
} HostMetrics;

static inline void
metric_add(atomic_uint_fast64_t *metric, uint64_t count)
{
	atomic_fetch_add_explicit(metric, count, memory_order_relaxed);
}

/* Adds the server's figures. used_bytes is the server's used memory, including connections. */
void metrics_put_host(Figures *figures, const HostMetrics *metrics, size_t used_bytes);

#endif
