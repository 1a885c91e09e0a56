/*
 * metrics.c
 *		Prometheus' text format.
 */
#include "receive/metrics.h"

#include <stdio.h>

static void
put(Buffer *text, const char *name, const char *help, const char *type, uint64_t value)
{
	char line[512];
	int length = snprintf(line, sizeof(line),
						  "# HELP profstore_receive_%s %s\n# TYPE profstore_receive_%s %s\n"
						  "profstore_receive_%s %llu\n",
						  name, help, name, type, name, (unsigned long long) value);

	buffer_put_bytes(text, line, (size_t) length);
}

void
metrics_print(const ReceiveMetrics *metrics, const WriterStats *writer, Buffer *text)
{
#define X(name, help) put(text, #name, help, "counter", atomic_load(&metrics->name));
	RECEIVE_METRICS(X)
#undef X
	put(text, "open_connections", "Connections that are open.", "gauge",
		(uint64_t) atomic_load(&metrics->open_connections));
	put(text, "bytes_under_way", "Bytes of requests that are under way.", "gauge",
		(uint64_t) atomic_load(&metrics->bytes_under_way));
	put(text, "queued_bytes", "Bytes that wait for the database.", "gauge", writer->queued_bytes);
	put(text, "database_ready", "1 where the database takes samples.", "gauge",
		writer->state == RETRY_READY);
	put(text, "rows_stored_total", "Rows that were stored.", "counter", writer->samples_written);
	put(text, "transactions_total", "Transactions that stored rows.", "counter",
		writer->transactions);
	put(text, "receipts_met_total", "Requests whose receipt the database had.", "counter",
		writer->batches_repeated);
	put(text, "batches_refused_total", "Requests that the database refused.", "counter",
		writer->batches_refused);
}
