/*
 * agent_report.h
 *		Output for users: the progress bar, and the summary at the end.
 */
#ifndef COLLECTOR_AGENT_REPORT_H
#define COLLECTOR_AGENT_REPORT_H

#include <stdint.h>
#include <stdio.h>

#include "agent/flusher/resolve.h"
#include "agent/gpu_meter.h"
#include "agent/restraint.h"
#include "batch/losses.h"
#include "events.h"
#include "jit/jit_names.h"
#include "kernel/sampler.h"
#include "process/process.h"
#include "runtimes/runtimes.h"
#include "unwind/unwinder.h"
#include "writer/writer.h"

typedef struct Report
{
	int64_t duration_ms;
	int64_t frequency_hz;
	uint32_t cpus;
	uint64_t counters[PFS_COUNTER_COUNT];
	GpuMeterStats gpu;
	ReaderGpuStats gpu_windows;
	JitNamesStats names;
	RuntimesStats runtimes;
	SourceFigure figures[SAMPLER_FIGURES_MAX];
	size_t figure_count;
	ResolveStats resolved;
	ProcessTableStats processes;
	UnwinderStats unwinder;
	uint64_t dropped; /* ticks in processes that must not be sampled */
	MappedFileStats files;
	uint64_t symbol_timeouts; /* times that a file did not answer while it was opened for symbols */
	/* Number of files that are still referenced after all their users have ended. */
	size_t binaries_leaked;
	WriterStats writer;
	RestraintStats restraint;
	SamplerCost bpf;
	int64_t cpu_us; /* CPU time of the collector, including its symbol workers */
	int64_t max_resident_kb;
	size_t kernel_bytes; /* kernel memory of rings, scratch space and tables */
} Report;

/* Redraws the bar on standard error. Does nothing if standard error is not a terminal. */
void report_progress(int64_t elapsed_ms, int64_t duration_ms, uint64_t samples);

/*
 * Writes key=value lines and closes the file; agent/README.md lists the keys. Returns 0 or -errno.
 */
int report_write(FILE *file, const Report *report, Losses *losses);

/* Fills in cpu_us and max_resident_kb. Symbol workers are included once they have ended. */
void report_own_cost(Report *report);

#endif
