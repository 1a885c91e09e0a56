/*
 * metrics.c
 *		Adds the counters of an HTTP server to figures.
 */
#include "http_server/metrics.h"

void
metrics_put_host(Figures *figures, const HostMetrics *metrics, size_t used_bytes)
{
	const size_t connection_bytes = atomic_load(&metrics->connection_bytes);

#define X(name, help) figures_add_counter(figures, #name, help, atomic_load(&metrics->name));
	HOST_METRICS(X)
#undef X
	figures_add_gauge(figures, "open_connections", "Connections that are open.",
					  (uint64_t) atomic_load(&metrics->open_connections));
	/* The two numbers were read at different times, so the difference may be negative. */
	figures_add_gauge(figures, "bytes_under_way",
					  "Bytes of requests that arrive or are being decoded.",
					  used_bytes > connection_bytes ? used_bytes - connection_bytes : 0);
	figures_add_gauge(figures, "connection_bytes",
					  "Bytes of connections, headers and output buffers, part of --max-memory.",
					  connection_bytes);
}
