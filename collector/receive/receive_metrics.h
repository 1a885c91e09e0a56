/*
 * receive_metrics.h
 *		What the services of "receive" count beside their server. Any thread adds.
 */
#ifndef COLLECTOR_RECEIVE_RECEIVE_METRICS_H
#define COLLECTOR_RECEIVE_RECEIVE_METRICS_H

#include "http_server/metrics.h"

/* name in /metrics after profstore_receive_, help */
#define RECEIVE_METRICS(X)                                                                    \
	X(requests_stored_total, "Requests that were stored.")                                    \
	X(requests_repeated_total, "Requests that were stored before.")                           \
	X(requests_beyond_series_total, "Requests of clients with more series than are allowed.") \
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
} ReceiveMetrics;

/* Prints all of it. used_bytes: of --max-memory, those of connections included. */
void receive_metrics_print(const ReceiveMetrics *metrics, const HostMetrics *host,
						   size_t used_bytes, const WriterStats *writer, Buffer *text);

#endif
