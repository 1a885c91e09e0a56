/*
 * source.h
 *		Sources of samples: the table of the BPF programs' callers.
 *
 * The sampler knows no source by name. It uses the table to prepare the programs before they are
 * loaded, to attach them, to follow CPUs, to reduce the rate of frequent events, and to report. To
 * add a source:
 *
 * 1. Add its kinds and counters to bpf/events.h, and its programs to bpf/, in a header that
 *    profiler.bpf.c includes.
 * 2. Add its settings to SourceSettings and its row to SAMPLE_SOURCES, below, and the flags of its
 *    settings to agent/agent_options.c.
 * 3. Define its SampleSource in a file of its own in this directory.
 */
#ifndef COLLECTOR_SOURCE_H
#define COLLECTOR_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "batch/losses.h"
#include "events.h"
#include "kernel/probe_list.h"
#include "process/mapped_file.h"
#include "program/failure.h"

struct profiler; /* the skeleton of the BPF programs */

/* X(name): the SampleSource is NAME_source. Sources are attached in this order. */
#define SAMPLE_SOURCES(X) \
	X(on_cpu) X(off_cpu) X(page_faults) X(allocations) X(gpu_launches) X(gpu_kernels)

enum
{
#define SOURCE_NUMBER(name) SOURCE_NUMBER_##name,
	SAMPLE_SOURCES(SOURCE_NUMBER)
#undef SOURCE_NUMBER
	SOURCE_COUNT
};

/*
 * Settings of the sources. If they are zeroed, only the sampling clock is used. The types of
 * numbers are those of flags.
 */
typedef struct SourceSettings
{
	/*
	 * Waits are sampled with this period: each wait of this length or more is kept. 0: waits are
	 * not sampled.
	 */
	uint64_t off_cpu_period_ns;
	int64_t off_cpu_rate; /* limit of wait samples per second, to which the period is adapted */
	/* limit of switches per second, above which a part of them is watched; 0: no limit */
	uint64_t off_cpu_switches;
	ProbeList probes; /* its texts must outlive the sampler */
	/* limit of samples per second of each probe, to which the period is adapted */
	int64_t probe_rate;
	/* the files in which GPU libraries are searched for, if calls of them are to be probed */
	MappedFileTable *files;
} SourceSettings;

/* Called with one record, in the format of the ring buffer. */
typedef void (*RecordHandler)(void *context, const void *record, size_t length_bytes);

/* State that all sources share. It outlives them. */
typedef struct SourceHost
{
	struct profiler *skeleton;
	SourceSettings settings;
	uint32_t frequency_hz;
	uint64_t interval_ns; /* time between two calls of SampleSource.tend */
	int possible_cpus;
	Losses *losses;
	RecordHandler on_tended; /* tend calls it with samples that bypass the ring buffer */
	void *context;			 /* context of on_tended */
} SourceHost;

/* A requested source. The structure of each source must begin with this structure. */
typedef struct Source
{
	const SourceHost *host;
} Source;

/* Position of a CPU among the CPUs that are attached together. They start one after the other. */
typedef struct CpuTurn
{
	int64_t begin_ns; /* CLOCK_MONOTONIC */
	uint32_t number;
	uint32_t count;
} CpuTurn;

/* A line of the summary: a counter, or the smallest fraction that a source has sampled. */
typedef struct SourceFigure
{
	const char *name;
	uint64_t value;
} SourceFigure;

#define SOURCE_FIGURES_MAX 4

/*
 * A row of the table. A NULL function means that there is nothing to do. The main thread calls all
 * functions, except pace and tend if is_tended is set: these may be delayed by a sampled process,
 * so the tender calls them, for which no other thread waits.
 */
typedef struct SampleSource
{
	const char *name; /* name of the line in "check"; NULL: the source has none */
	/*
	 * Counter of the events of this source. One source has EVENTS, the events that no other source
	 * counts.
	 */
	enum pfs_counter events;
	/* Number of levels at which its programs can interrupt those of other sources on a CPU. */
	uint32_t levels;
	bool is_tended;

	bool (*wanted)(const SourceSettings *settings); /* NULL: always requested */
	/* Returns the number of scratches that the source needs in addition to those of the levels. */
	uint32_t (*slots)(int possible_cpus);
	void (*choose)(struct profiler *skeleton, bool wanted); /* selects which programs are loaded */

	/*
	 * Sets constants of the programs before they are loaded. slot is the source's first scratch.
	 * Failures: EXIT_PRIVILEGE if the kernel lacks a feature, EXIT_CONFIG for a setting.
	 */
	ExitCode (*prepare)(const SourceHost *host, uint32_t slot, Source **source, Failure *failure);
	void (*free)(Source *source); /* called after detach */

	ExitCode (*attach)(Source *source, Failure *failure); /* EXIT_BPF if the kernel refuses */
	void (*detach)(Source *source);						  /* no sample is taken afterwards */

	/*
	 * Starts to sample a CPU, at its turn or, if turn is NULL, at once; restarts if the source
	 * samples it already. Returns 0 or -errno.
	 */
	int (*attach_cpu)(Source *source, uint32_t cpu, const CpuTurn *turn);
	void (*detach_cpu)(Source *source, uint32_t cpu);
	/* Returns true if the CPU was online without interruption since the last call. */
	bool (*cpu_lives)(Source *source, uint32_t cpu);
	/* Called after the states of all CPUs were followed. */
	void (*followed)(Source *source, const uint64_t counters[PFS_COUNTER_COUNT]);

	/* Ends a window. If last is true, nothing is watched afterwards. */
	void (*tend)(Source *source, bool last);

	/*
	 * Adapts the period if the counters since the start show too many events. Called about twice a
	 * second.
	 */
	void (*pace)(Source *source, const uint64_t counters[PFS_COUNTER_COUNT], int64_t now_ns);

	/* Reduces the source's rate to part/whole of its settings. */
	void (*restrain)(Source *source, uint32_t part, uint32_t whole);

	/* Returns the CPU time used while other processes ran, apart from the time for samples. */
	uint64_t (*looking_ns)(const uint64_t counters[PFS_COUNTER_COUNT]);

	/*
	 * Fills in lines of the summary and returns their number. source is NULL if the source was not
	 * requested.
	 */
	size_t (*figures)(const Source *source, const uint64_t counters[PFS_COUNTER_COUNT],
					  SourceFigure figures[SOURCE_FIGURES_MAX]);

	/*
	 * Returns the feature that this kernel lacks, or NULL; for "check". If there are several ways,
	 * *how names the one that is used.
	 */
	const char *(*missing)(const char **how);
} SampleSource;

#define DECLARE_SOURCE(name) extern const SampleSource name##_source;
SAMPLE_SOURCES(DECLARE_SOURCE)
#undef DECLARE_SOURCE

extern const SampleSource *const sample_sources[SOURCE_COUNT];

/*
 * Returns, from these counters, the number of timer ticks that reached the BPF program, including
 * ticks of idle CPUs.
 */
uint64_t source_ticks(const uint64_t counters[PFS_COUNTER_COUNT]);

#endif
