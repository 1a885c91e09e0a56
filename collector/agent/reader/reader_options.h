/*
 * reader_options.h
 *		Parameters of reader_create().
 */
#ifndef COLLECTOR_READER_OPTIONS_H
#define COLLECTOR_READER_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "code/code_namer.h"
#include "kernel/scheduler_code.h"
#include "labels/labeller.h"
#include "runtimes/runtimes.h"
#include "threads/custom_labels.h"
#include "unwind/table_cache.h"

typedef struct Reader Reader;

/* Sums over the windows that the GPU libraries of programs have reported. */
typedef struct ReaderGpuStats
{
	uint64_t windows;
	uint64_t observed_ns;
} ReaderGpuStats;

typedef struct ReaderOptions
{
	LabellerOptions labels;
	uint32_t cgroup_hierarchy; /* hierarchy of the samples' controller_cgroup_id; 0: none */
	/* True: each sample is stored with its own time. False: samples are summed by window. */
	bool keep_times;
	int64_t window_us;	   /* length of a window; windows are aligned to the epoch */
	int64_t start_us;	   /* start of sampling; the first window begins at this time */
	size_t interval_bytes; /* limit of the memory of the samples between two flushes */
	size_t memory_bytes;   /* --max-memory; unwind tables are made in a part of it */
	/* --max-cpu in percent of one CPU; unwind tables are made in a part of it. */
	uint64_t cpu_percent;
	size_t process_limit;
	size_t mapping_bytes;	 /* limit of mappings of processes */
	size_t past_bytes;		 /* limit of the past images from the side-band */
	size_t sideband_bytes;	 /* limit of the side-band's buffers in the kernel */
	TableCache *table_cache; /* NULL: no cache; must outlive the reader */
	CodeNamer namer;		 /* names generated and interpreted code */
	Runtimes *runtimes;		 /* reads stacks of interpreters; NULL: interpreters are ignored */
	/* leave out the runtime's native frames between frames of the code that it executes */
	bool fold_native;
	bool gpu_label_stream;	  /* distinguish the streams of GPU kernels by a label */
	bool gpu_launches_probed; /* a probe counts launches, so windows of GPU libraries do not */
	CustomLabels custom;	  /* labels of threads that samples are given */
	SchedulerCode scheduler;  /* functions to leave out of the stacks of threads that waited */
} ReaderOptions;

#endif
