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
 *    settings to agent/options.c.
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

struct profiler; /* the skeleton */

/* X(name): NAME_source is the SampleSource. Sources are attached in this order. */
#define SAMPLE_SOURCES(X) X(on_cpu) X(off_cpu) X(page_faults) X(allocations) X(gpu_launches)

enum
{
#define SOURCE_NUMBER(name) SOURCE_NUMBER_##name,
	SAMPLE_SOURCES(SOURCE_NUMBER)
#undef SOURCE_NUMBER
	SOURCE_COUNT
};

/* Settings of the sources. If zeroed, only the clock is used. Numbers have the types of flags. */
typedef struct SourceSettings
{
	/* each wait of this length or more is kept; 0: waits are not sampled */
	uint64_t off_cpu_period_ns;
	int64_t off_cpu_rate; /* limit of wait samples per second; the period is adapted to it */
	/* switches per second above which only a part of them is watched; 0: no limit */
	uint64_t off_cpu_switches;
	ProbeList probes; /* its texts must live as long as the sampler */
	/* limit of samples per second of each probe; the period is adapted to it */
	int64_t probe_rate;
	MappedFileTable *files; /* where libraries of GPUs are found; used if they are to be probed */
} SourceSettings;

/* Called with a record as the ring buffer has it. */
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
	RecordHandler on_tended; /* called by tend with samples that bypass the ring buffer */
	void *context;			 /* context of on_tended */
} SourceHost;

/* A requested source. The structure of each source begins with this one. */
typedef struct Source
{
	const SourceHost *host;
} Source;

/* Position of a CPU among those that are attached together, which start one after the other. */
typedef struct CpuTurn
{
	int64_t begin_ns; /* CLOCK_MONOTONIC */
	uint32_t number;
	uint32_t count;
} CpuTurn;

/* A line of the summary: a counter, or the lowest fraction that a source sampled. */
typedef struct SourceFigure
{
	const char *name;
	uint64_t value;
} SourceFigure;

#define SOURCE_FIGURES_MAX 4

/*
 * A row of the table. A NULL function has nothing to do. The main thread calls the functions,
 * except pace and tend if is_tended is set: a sampled process can delay these, so the tender calls
 * them, which no other thread waits for.
 */
typedef struct SampleSource
{
	const char *name; /* name of its line in "check", if it has one */
	/* counter of its part of EVENTS; EVENTS: the events that other sources do not count */
	enum pfs_counter events;
	/* levels by which its programs can interrupt those of other sources on a CPU */
	uint32_t levels;
	bool is_tended;

	bool (*wanted)(const SourceSettings *settings); /* NULL: always requested */
	/* number of scratches in addition to those of the levels */
	uint32_t (*slots)(int possible_cpus);
	void (*choose)(struct profiler *skeleton, bool wanted); /* selects the programs to load */

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
	/* returns true if the CPU was online without a break since the last call */
	bool (*cpu_lives)(Source *source, uint32_t cpu);
	/* called after all CPUs were followed */
	void (*followed)(Source *source, const uint64_t counters[PFS_COUNTER_COUNT]);

	/* Ends a window; last: nothing is watched afterwards. */
	void (*tend)(Source *source, bool last);

	/*
	 * Adapts the period if the counters since the start show too many events; called about twice a
	 * second.
	 */
	void (*pace)(Source *source, const uint64_t counters[PFS_COUNTER_COUNT], int64_t now_ns);

	/* Restrains the source to part of whole of its settings. */
	void (*restrain)(Source *source, uint32_t part, uint32_t whole);

	/* CPU time used while other processes ran, in addition to that for samples. */
	uint64_t (*looking_ns)(const uint64_t counters[PFS_COUNTER_COUNT]);

	/*
	 * Fills in lines of the summary and returns their number. source is NULL if it was not
	 * requested.
	 */
	size_t (*figures)(const Source *source, const uint64_t counters[PFS_COUNTER_COUNT],
					  SourceFigure figures[SOURCE_FIGURES_MAX]);

	/*
	 * Returns the missing feature of this kernel, or NULL: for "check". *how names the way that is
	 * used if there are several.
	 */
	const char *(*missing)(const char **how);
} SampleSource;

#define DECLARE_SOURCE(name) extern const SampleSource name##_source;
SAMPLE_SOURCES(DECLARE_SOURCE)
#undef DECLARE_SOURCE

extern const SampleSource *const sample_sources[SOURCE_COUNT];

/*
 * Returns the timer ticks that reached the BPF program, including those of idle CPUs, by these
 * counters.
 */
uint64_t source_ticks(const uint64_t counters[PFS_COUNTER_COUNT]);

#endif
