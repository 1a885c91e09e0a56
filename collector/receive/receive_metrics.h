/*
 * receive_metrics.h
 *		Counters of the services of "receive", in addition to those of the server. Any thread may
 *		add.
 */
#ifndef COLLECTOR_RECEIVE_RECEIVE_METRICS_H
#define COLLECTOR_RECEIVE_RECEIVE_METRICS_H

#include "http_server/metrics.h"
#include "writer/writer_stats.h"

/* X(name, help). On /metrics the name has the prefix profstore_receive_. */
#define RECEIVE_METRICS(X)                                                                       \
	X(requests_stored_total, "Requests that were stored.")                                       \
	X(requests_repeated_total, "Requests that had been stored before.")                          \
	X(requests_beyond_series_total, "Requests of clients with more series than are allowed.")    \
	X(otlp_profiles_total, "OTLP profiles that were read.")                                      \
	X(otlp_profiles_rejected_total, "OTLP profiles that were rejected.")                         \
	X(otlp_attributes_skipped_total, "OTLP attributes that were dropped or cut.")                \
	X(pyroscope_profiles_total, "Profiles of Pyroscope's clients that were read.")               \
	X(pyroscope_profiles_rejected_total, "Profiles of Pyroscope's clients that were invalid.")   \
	X(pyroscope_labels_skipped_total, "Labels of Pyroscope's clients that were dropped or cut.") \
	X(arrow_labels_skipped_total, "Labels of Arrow records that were dropped or cut.")           \
	X(otlp_payloads_skipped_total, "Original payloads of OTLP profiles, which are not kept.")    \
	X(samples_total, "Samples in requests that were read.")                                      \
	X(uploads_stored_total, "Files with debug information that were stored.")                    \
	X(uploads_known_total, "Uploads that were not needed because the debug information exists.") \
	X(uploads_put_off_total, "Uploads whose client was asked to retry later.")                   \
	X(uploads_refused_total, "Uploads that were refused or declined for good.")                  \
	X(upload_bytes_total, "Bytes of debug information that were received.")

typedef struct ReceiveMetrics
{
#define X(name, help) atomic_uint_fast64_t name;
	RECEIVE_METRICS(X)
#undef X
} ReceiveMetrics;

/* Adds all figures. used_bytes is the used part of --max-memory, including connections. */
void receive_metrics_add(const ReceiveMetrics *metrics, const HostMetrics *host, size_t used_bytes,
						 const WriterStats *writer, Figures *figures);

#endif
