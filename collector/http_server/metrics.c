/*
 * metrics.c
 *		Prints numbers in Prometheus' text format.
 */
#include "http_server/metrics.h"

#include <stdio.h>

void
metrics_put(Buffer *text, const char *part, const char *name, const char *help, const char *type,
			uint64_t value)
{
	char line[512];
	int length =
		snprintf(line, sizeof(line),
				 "# HELP profstore_%s_%s %s\n# TYPE profstore_%s_%s %s\n"
				 "profstore_%s_%s %llu\n",
				 part, name, help, part, name, type, part, name, (unsigned long long) value);

	buffer_put_bytes(text, line, (size_t) length);
}

void
metrics_put_writer(Buffer *text, const char *part, const WriterStats *writer)
{
	metrics_put(text, part, "queued_bytes", "Bytes of batches that wait for the database.", "gauge",
				writer->queued_bytes);
	metrics_put(text, part, "database_ready", "1 if the database accepts samples, otherwise 0.",
				"gauge", writer->state == RETRY_READY);
	metrics_put(text, part, "rows_stored_total", "Rows that were stored.", "counter",
				writer->samples_written);
	metrics_put(text, part, "transactions_total", "Transactions that stored rows.", "counter",
				writer->transactions);
	metrics_put(text, part, "spooled_batches", "Batches that wait in the spool directory.", "gauge",
				writer->spooled_batches);
	metrics_put(text, part, "spooled_bytes", "Bytes of files in the spool directory.", "gauge",
				writer->spooled_bytes);
	metrics_put(text, part, "spool_failures_total", "Writes to the spool directory that failed.",
				"counter", writer->spool_failures);
	metrics_put(text, part, "rows_dropped_total",
				"Rows dropped from queue or spool, or left at the end.", "counter",
				writer->samples_dropped);
	metrics_put(text, part, "batches_refused_total", "Batches that the database refused.",
				"counter", writer->batches_refused);
}

void
metrics_put_host(Buffer *text, const char *part, const HostMetrics *metrics, size_t used_bytes)
{
	const size_t connection_bytes = atomic_load(&metrics->connection_bytes);

#define X(name, help) metrics_put(text, part, #name, help, "counter", atomic_load(&metrics->name));
	HOST_METRICS(X)
#undef X
	metrics_put(text, part, "open_connections", "Connections that are open.", "gauge",
				(uint64_t) atomic_load(&metrics->open_connections));
	metrics_put(text, part, "bytes_under_way",
				"Bytes of requests that arrive or are being decoded.", "gauge",
				used_bytes > connection_bytes ? used_bytes - connection_bytes : 0);
	metrics_put(text, part, "connection_bytes",
				"Bytes of connections, headers and output buffers, part of --max-memory.", "gauge",
				connection_bytes);
}
