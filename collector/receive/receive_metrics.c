/*
 * receive_metrics.c
 *		Prints the numbers of /metrics.
 */
#include "receive/receive_metrics.h"

#define PART "receive"

void
receive_metrics_print(const ReceiveMetrics *metrics, const HostMetrics *host, size_t used_bytes,
					  const WriterStats *writer, Buffer *text)
{
	metrics_put_host(text, PART, host, used_bytes);
#define X(name, help) metrics_put(text, PART, #name, help, "counter", atomic_load(&metrics->name));
	RECEIVE_METRICS(X)
#undef X
	metrics_put_writer(text, PART, writer);
	metrics_put(text, PART, "receipts_met_total",
				"Requests that were stored already, by the database's receipts.", "counter",
				writer->batches_repeated);
}
