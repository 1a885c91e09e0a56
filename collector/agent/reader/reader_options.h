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

typedef struct ReaderOptions
{
	LabellerOptions labels;
	uint32_t cgroup_hierarchy; /* hierarchy of the samples' controller_cgroup_id; 0: none */
	/* each sample keeps its own time; otherwise samples are summed per window */
	bool keep_times;
	int64_t window_us;	   /* length of a window; windows are aligned to the epoch */
	int64_t start_us;	   /* start of sampling, which begins the first window */
	size_t interval_bytes; /* limit of the samples between two flushes */
	size_t memory_bytes;   /* --max-memory; a part of it is the limit of making unwind tables */
	/* --max-cpu, percent of one CPU; a part of it is the limit of making unwind tables */
	uint64_t cpu_percent;
	size_t process_limit;
	size_t mapping_bytes;	 /* limit of mappings of processes */
	size_t past_bytes;		 /* limit of the past images from the side-band */
	size_t sideband_bytes;	 /* limit of the side-band's buffers in the kernel */
	TableCache *table_cache; /* NULL: no cache; must outlive the reader */
	CodeNamer namer;		 /* names generated and interpreted code */
	Runtimes *runtimes;		 /* stacks of interpreters; NULL: interpreters are ignored */
	bool fold_native;		 /* leave out frames of runtimes between those of their code */
	CustomLabels custom;	 /* labels of threads that samples get */
	SchedulerCode scheduler; /* functions to leave out of the stacks of threads that waited */
} ReaderOptions;

#endif
