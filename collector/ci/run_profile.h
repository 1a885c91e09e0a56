/*
 * run_profile.h
 *		The samples and the cost of runs as a batch for the database.
 *
 * All rows of a run have the time at which the run began, so the time identifies the run. Functions
 * are named while the files that were run still exist.
 */
#ifndef COLLECTOR_RUN_PROFILE_H
#define COLLECTOR_RUN_PROFILE_H

#include "batch/batch.h"
#include "ci/benchmark.h"
#include "ci/run_frames.h"
#include "symbols/symbolizer.h"

/* Profile types: samples of CPU time; the CPU time and the duration of a run, each as one row. */
#define CI_CPU_TYPE		 "ci:cpu:nanoseconds:cpu:nanoseconds:delta"
#define CI_RUN_CPU_TYPE	 "ci_run:cpu:nanoseconds:cpu:nanoseconds:delta"
#define CI_RUN_WALL_TYPE "ci_run:wall:nanoseconds:wall:nanoseconds:delta"

/* Profile types of marks: one row at the time of a job's first run. */
#define CI_RUN_FAILED_TYPE	 "ci_run:failed:count:failed:count:delta"
#define CI_RUN_ACCEPTED_TYPE "ci_run:accepted:count:accepted:count:delta"

typedef struct RunProfiler
{
	Symbolizer *symbolizer;
	RunFiles files;
	Binary **binaries; /* binaries by file; NULL: not opened, or not readable */
	size_t binary_capacity;
	uint32_t opened_count; /* files that were opened for the current run, or could not be read */
} RunProfiler;

/* Returns EXIT_OK, or EXIT_INTERNAL with *failure set. */
ExitCode run_profiler_init(RunProfiler *profiler, Failure *failure);
void run_profiler_fini(RunProfiler *profiler);

/* Adds a run to the batch, with these labels. Returns 0, or an error of batch.h. */
int run_profile_add(RunProfiler *profiler, const BenchmarkRun *run, const BatchLabel *labels,
					size_t label_count, Batch *batch);

/* Adds a mark to the batch. Returns 0, or an error of batch.h. */
int run_profile_mark(const char *type, int64_t time_us, const BatchLabel *labels,
					 size_t label_count, Batch *batch);

#endif
