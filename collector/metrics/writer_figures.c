/*
 * writer_figures.c
 *		Adds the figures of a writer.
 */
#include "metrics/writer_figures.h"

void
writer_figures_add(Figures *figures, const WriterStats *writer)
{
	figures_add_gauge(figures, "queued_bytes", "Bytes of batches that wait for the database.",
					  writer->queued_bytes);
	figures_add_gauge(figures, "database_ready", "1 if the database accepts samples, otherwise 0.",
					  writer->state == RETRY_READY);
	figures_add_gauge(figures, "newest_sample_timestamp_seconds",
					  "Time of the newest stored sample, in seconds since 1970; 0: none.",
					  (uint64_t) writer->newest_sample_us / 1000000);
	figures_add_counter(figures, "rows_stored_total", "Rows that were stored.",
						writer->samples_written);
	figures_add_counter(figures, "transactions_total", "Transactions that stored rows.",
						writer->transactions);
	figures_add_counter(figures, "database_away_total",
						"How often the database became unavailable or denied access.",
						writer->away_count);
	figures_add_gauge(figures, "spooled_batches", "Batches that wait in the spool directory.",
					  writer->spooled_batches);
	figures_add_gauge(figures, "spooled_bytes", "Bytes of files in the spool directory.",
					  writer->spooled_bytes);
	figures_add_gauge(figures, "spool_limit_bytes", "Limit of spooled_bytes; 0: no spool.",
					  writer->spool_limit_bytes);
	figures_add_counter(figures, "spool_failures_total",
						"Writes to the spool directory, and removals, that failed.",
						writer->spool_failures);
	figures_add_counter(figures, "rows_dropped_total",
						"Rows dropped from queue or spool, or left at the end.",
						writer->samples_dropped);
	figures_add_counter(figures, "batches_refused_total", "Batches that the database refused.",
						writer->batches_refused);
}
