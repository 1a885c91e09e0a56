/*
 * receive_metrics.c
 *		Collects the figures of /metrics.
 */
#include "receive/receive_metrics.h"

#include "metrics/writer_figures.h"

void
receive_metrics_add(const ReceiveMetrics *metrics, const HostMetrics *host, size_t used_bytes,
					const WriterStats *writer, Figures *figures)
{
	metrics_put_host(figures, host, used_bytes);
#define X(name, help) figures_add_counter(figures, #name, help, atomic_load(&metrics->name));
	RECEIVE_METRICS(X)
#undef X
	writer_figures_add(figures, writer);
	figures_add_counter(figures, "receipts_met_total",
						"Requests that were stored already, by the database's receipts.",
						writer->batches_repeated);
}
