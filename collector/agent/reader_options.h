/*
 * reader_options.h
 *		What a reader is made with.
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
	uint32_t cgroup_hierarchy; /* of the samples' controller_cgroup_id; 0: none */
	bool keep_times;		   /* each sample keeps its own time; else … */
	int64_t window_us;	   /* samples are summed per window; windows are aligned to the epoch … */
	int64_t start_us;	   /* … but the first begins here, when sampling does */
	size_t interval_bytes; /* budget of the samples between two flushes */
	size_t memory_bytes;   /* --max-memory, of which making unwind tables gets a part */
	uint64_t cpu_percent;  /* --max-cpu, of one CPU, of which unwind tables get a part */
	size_t process_limit;
	size_t mapping_bytes;	 /* that mappings of processes may take */
	size_t past_bytes;		 /* that what the side-band told may take */
	size_t sideband_bytes;	 /* that its buffers in the kernel may take */
	TableCache *table_cache; /* NULL: none; outlives the reader */
	CodeNamer namer;		 /* of generated and interpreted code */
	Runtimes *runtimes;		 /* interpreters' stacks; NULL: they are not looked for */
	CustomLabels custom;	 /* labels of threads that samples get */
	SchedulerCode scheduler; /* left out of the stacks of threads that waited */
} ReaderOptions;

#endif
