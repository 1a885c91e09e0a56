/*
 * agent_report.c
 *		Progress bar and summary file.
 */
#include "agent/agent_report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/time.h>

#include "program/progress.h"

void
report_progress(int64_t elapsed_ms, int64_t duration_ms, uint64_t samples)
{
	char text[96];

	snprintf(text, sizeof(text), "%" PRId64 " of %" PRId64 " s, %" PRIu64 " samples",
			 elapsed_ms / 1000, duration_ms / 1000, samples);
	progress_draw(elapsed_ms, duration_ms, text);
}

static int64_t
timeval_us(struct timeval time)
{
	return (int64_t) time.tv_sec * 1000000 + time.tv_usec;
}

void
report_own_cost(Report *report)
{
	struct rusage own;
	struct rusage workers;

	if (getrusage(RUSAGE_SELF, &own) != 0 || getrusage(RUSAGE_CHILDREN, &workers) != 0)
		return;
	report->cpu_us = timeval_us(own.ru_utime) + timeval_us(own.ru_stime) +
					 timeval_us(workers.ru_utime) + timeval_us(workers.ru_stime);
	report->max_resident_kb = own.ru_maxrss;
}

static void
write_code_files(FILE *file, const char *kind, const char *piece, const JitFileStats *stats)
{
	fprintf(file, "%ss=%" PRIu64 "\n", kind, stats->files);
	fprintf(file, "%ss_refused=%" PRIu64 "\n", kind, stats->refused);
	fprintf(file, "%s_%ss=%" PRIu64 "\n", kind, piece, stats->pieces);
	fprintf(file, "%s_%ss_bad=%" PRIu64 "\n", kind, piece, stats->bad);
	fprintf(file, "%ss_timed_out=%" PRIu64 "\n", kind, stats->timeouts);
}

static void
write_runtimes(FILE *file, const RuntimesStats *stats)
{
	fprintf(file, "interpreters=%" PRIu64 "\n", stats->attached);
	fprintf(file, "interpreters_placed=%" PRIu64 "\n", stats->placed);
	fprintf(file, "interpreter_stacks=%" PRIu64 "\n", stats->merged);
	fprintf(file, "interpreter_codes=%" PRIu64 "\n", stats->codes);
}

int
report_write(FILE *file, const Report *report, Losses *losses)
{
	uint64_t lost = report->writer.samples_dropped + report->writer.samples_refused;
	int failed;

	for (Loss loss = 0; loss < LOSS_COUNT; loss++)
	{
		/* Rows that the writer has lost are in its own statistics, so LOSS_ROWS is not added. */
		if (loss_facts(loss)->kind == LOSS_LOST)
			lost += losses_total(losses, loss);
	}
	fprintf(file, "duration_ms=%" PRId64 "\n", report->duration_ms);
	fprintf(file, "frequency_hz=%" PRId64 "\n", report->frequency_hz);
	fprintf(file, "cpus=%" PRIu32 "\n", report->cpus);
	fprintf(file, "ticks=%" PRIu64 "\n", source_ticks(report->counters));
	fprintf(file, "ticks_idle=%" PRIu64 "\n", report->counters[PFS_COUNTER_IDLE]);
	fprintf(file, "ticks_self=%" PRIu64 "\n", report->counters[PFS_COUNTER_SELF]);
	fprintf(file, "ticks_dropped=%" PRIu64 "\n", report->dropped);
	for (size_t i = 0; i < report->figure_count; i++)
		fprintf(file, "%s=%" PRIu64 "\n", report->figures[i].name, report->figures[i].value);
	fprintf(file, "gpu_devices=%" PRIu32 "\n", report->gpu.devices);
	fprintf(file, "gpu_readings=%" PRIu64 "\n", report->gpu.readings);
	fprintf(file, "gpu_amounts=%" PRIu64 "\n", report->gpu.amounts);
	fprintf(file, "gpu_cpu_us=%" PRIu64 "\n", report->gpu.cpu_ns / 1000);
	fprintf(file, "gpu_windows=%" PRIu64 "\n", report->gpu_windows.windows);
	fprintf(file, "gpu_observed_ms=%" PRIu64 "\n",
			report->gpu_windows.observed_ns / (uint64_t) NS_PER_MS);
	fprintf(file, "samples=%" PRIu64 "\n", report->resolved.samples);
	fprintf(file, "samples_lost=%" PRIu64 "\n", lost);
	for (Loss loss = 0; loss < LOSS_COUNT; loss++)
	{
		if (loss_facts(loss)->kind != LOSS_ROWS)
			fprintf(file, "%s.%s=%" PRIu64 "\n",
					loss_facts(loss)->kind == LOSS_LOST ? "lost" : "incomplete",
					loss_facts(loss)->reason, losses_total(losses, loss));
	}
	fprintf(file, "lost.queue_full=%" PRIu64 "\n", report->writer.samples_dropped);
	fprintf(file, "spooled=%" PRIu64 "\n", report->writer.spooled_batches);
	fprintf(file, "lost.database_refused=%" PRIu64 "\n", report->writer.samples_refused);
	fprintf(file, "stacks=%" PRIu64 "\n", report->resolved.user_samples);
	fprintf(file, "stacks_complete=%" PRIu64 "\n", report->resolved.complete);
	fprintf(file, "stacks_copied=%" PRIu64 "\n", report->counters[PFS_COUNTER_LATE]);
	fprintf(file, "stacks_not_copied=%" PRIu64 "\n", report->counters[PFS_COUNTER_LATE_SKIPPED]);
	fprintf(file, "processes=%" PRIu64 "\n", report->processes.created);
	fprintf(file, "binaries=%" PRIu64 "\n", report->files.opened);
	fprintf(file, "binaries_unreadable=%" PRIu64 "\n", report->files.unreadable);
	fprintf(file, "binaries_leaked=%zu\n", report->binaries_leaked);
	fprintf(file, "tables=%" PRIu64 "\n", report->unwinder.loaded);
	fprintf(file, "tables_cached=%" PRIu64 "\n", report->unwinder.cached);
	fprintf(file, "table_parts=%" PRIu64 "\n", report->unwinder.parts);
	fprintf(file, "tables_unloaded=%" PRIu64 "\n", report->unwinder.unloaded);
	fprintf(file, "tables_put_off=%" PRIu64 "\n", report->unwinder.put_off);
	fprintf(file, "generated_put_off=%" PRIu64 "\n", report->unwinder.generated_put_off);
	fprintf(file, "generated_displaced=%" PRIu64 "\n", report->unwinder.generated_displaced);
	fprintf(file, "generated_refused=%" PRIu64 "\n", report->unwinder.generated_refused);
	fprintf(file, "memory_put_off=%" PRIu64 "\n", report->unwinder.memory_put_off);
	fprintf(file, "stalls_displaced=%" PRIu64 "\n", report->unwinder.stalls_displaced);
	fprintf(file, "methods_displaced=%" PRIu64 "\n", report->unwinder.methods_displaced);
	write_code_files(file, "perf_map", "line", &report->names.maps);
	write_code_files(file, "jitdump", "record", &report->names.dumps);
	fprintf(file, "generated_frames_unnamed=%" PRIu64 "\n", report->names.unnamed);
	write_runtimes(file, &report->runtimes);
	fprintf(file, "probes_timed_out=%" PRIu64 "\n",
			report->processes.timeouts + report->unwinder.timeouts + report->runtimes.timeouts +
				report->files.timeouts + report->symbol_timeouts);
	fprintf(file, "rereads_put_off=%" PRIu64 "\n", report->processes.put_off);
	fprintf(file, "processes_evicted=%" PRIu64 "\n", report->processes.evicted);
	fprintf(file, "rows_stored=%" PRIu64 "\n", report->writer.samples_written);
	fprintf(file, "batches_stored=%" PRIu64 "\n", report->writer.batches_written);
	fprintf(file, "database_away=%" PRIu64 "\n", report->writer.away_count);
	fprintf(file, "database_denied=%" PRIu64 "\n", report->writer.denied_count);
	fprintf(file, "database_retries=%" PRIu64 "\n", report->writer.retries);
	fprintf(file, "bpf_runs=%" PRIu64 "\n", report->bpf.runs);
	fprintf(file, "bpf_time_us=%" PRIu64 "\n", report->bpf.time_ns / 1000);
	fprintf(file, "bpf_instructions=%" PRIu32 "\n", report->bpf.instructions);
	fprintf(file, "bpf_instructions_verified=%" PRIu32 "\n", report->bpf.instructions_verified);
	fprintf(file, "sampling_time_us=%" PRIu64 "\n", report->counters[PFS_COUNTER_TIME_NS] / 1000);
	fprintf(file, "looking_time_us=%" PRIu64 "\n",
			(sampler_foreign_ns(report->counters) - report->counters[PFS_COUNTER_TIME_NS]) / 1000);
	fprintf(file, "sampling_time_late_us=%" PRIu64 "\n",
			report->counters[PFS_COUNTER_LATE_NS] / 1000);
	fprintf(file, "frequency_lowest_hz=%" PRId64 "\n", report->restraint.frequency_lowest_hz);
	fprintf(file, "frequency_changes=%" PRIu64 "\n", report->restraint.frequency_changes);
	fprintf(file, "cache_shrinks=%" PRIu64 "\n", report->restraint.shrinks);
	fprintf(file, "collector_cpu_ms=%" PRId64 "\n", report->cpu_us / 1000);
	fprintf(file, "collector_max_rss_kb=%" PRId64 "\n", report->max_resident_kb);
	fprintf(file, "kernel_memory_kb=%zu\n", report->kernel_bytes / 1024);
	/*
	 * fclose() writes the rest of the buffer, so an error such as a full disk may show only there.
	 */
	failed = ferror(file) != 0 ? EIO : 0;
	if (fclose(file) != 0 && failed == 0)
		failed = errno;
	return -failed;
}
