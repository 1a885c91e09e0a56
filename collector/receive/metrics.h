/*
 * metrics.h
 *		What the receiver counts. Any thread adds; /metrics shows all of it.
 */
#ifndef COLLECTOR_RECEIVE_METRICS_H
#define COLLECTOR_RECEIVE_METRICS_H

#include <stdatomic.h>
#include <stdint.h>

#include "database/wire.h"
#include "writer/writer.h"

#define METRICS_CONTENT "text/plain; version=0.0.4; charset=utf-8"

/* name in /metrics after profstore_receive_, help */
#define RECEIVE_METRICS(X)                                                                    \
	X(connections_total, "Connections that were accepted.")                                   \
	X(connections_refused_total, "Connections beyond the limits, closed at once.")            \
	X(connections_timed_out_total, "Connections that were closed as idle or too slow.")       \
	X(connections_flooded_total, "Connections that were closed for too many control frames.") \
	X(tls_failures_total, "TLS handshakes that failed.")                                      \
	X(requests_total, "Requests that came whole.")                                            \
	X(requests_stored_total, "Requests that were stored.")                                    \
	X(requests_repeated_total, "Requests that were stored before.")                           \
	X(requests_invalid_total, "Requests that cannot be read.")                                \
	X(requests_too_large_total, "Requests beyond the limits of size.")                        \
	X(requests_beyond_series_total, "Requests of clients with more series than are allowed.") \
	X(requests_unauthenticated_total, "Requests without a valid token or certificate.")       \
	X(requests_throttled_total, "Requests beyond a client's rate or memory.")                 \
	X(requests_unavailable_total, "Requests that were told to come again.")                   \
	X(requests_cancelled_total, "Requests whose client went away.")                           \
	X(bytes_total, "Bytes of requests, as they came.")                                        \
	X(otlp_profiles_total, "OTLP profiles that were read.")                                   \
	X(otlp_profiles_rejected_total, "OTLP profiles that were rejected.")                      \
	X(otlp_attributes_skipped_total, "OTLP attributes of which not all is kept.")             \
	X(arrow_labels_skipped_total, "Labels of Arrow records that were too many or cut.")       \
	X(otlp_payloads_skipped_total, "Original payloads beside OTLP profiles.")                 \
	X(samples_total, "Samples in requests that were read.")

typedef struct ReceiveMetrics
{
#define X(name, help) atomic_uint_fast64_t name;
	RECEIVE_METRICS(X)
#undef X
	atomic_int_fast64_t open_connections;
	atomic_size_t connection_bytes; /* of what connection_charge() counts */
} ReceiveMetrics;

static inline void
metric_add(atomic_uint_fast64_t *metric, uint64_t count)
{
	atomic_fetch_add_explicit(metric, count, memory_order_relaxed);
}

/*
 * One number in Prometheus' text format, named profstore_PART_NAME; type: "counter" or "gauge".
 */
void metrics_put(Buffer *text, const char *part, const char *name, const char *help,
				 const char *type, uint64_t value);

/* What a writer has stored and holds. */
void metrics_put_writer(Buffer *text, const char *part, const WriterStats *writer);

/* Prints all of it. used_bytes: of --max-memory, those of connections included. */
void metrics_print(const ReceiveMetrics *metrics, size_t used_bytes, const WriterStats *writer,
				   Buffer *text);

#endif
