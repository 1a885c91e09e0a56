/*
 * source.h
 *		Sources of samples: what the BPF programs are called by, as a table.
 *
 * The sampler knows no source by name. It walks the table to prepare the programs before they are
 * loaded, to attach them, to follow CPUs, to thin out what comes too often, and to report. To add a
 * source:
 *
 * 1. Add its kinds and counters to bpf/events.h, and its programs to bpf/, in a header that
 *    profiler.bpf.c includes.
 * 2. Add its settings to SourceSettings and its row to SAMPLE_SOURCES, below, and the flags of its
 *    settings to agent/options.c.
 * 3. Define its SampleSource in a file of its own here.
 */
#ifndef COLLECTOR_SOURCE_H
#define COLLECTOR_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/failure.h"
#include "batch/losses.h"
#include "events.h"
#include "kernel/probe_list.h"

struct profiler; /* the skeleton */

/* X(name): NAME_source is the SampleSource. Sources are attached in this order. */
#define SAMPLE_SOURCES(X) X(on_cpu) X(off_cpu) X(page_faults) X(allocations)

enum
{
#define SOURCE_NUMBER(name) SOURCE_NUMBER_##name,
	SAMPLE_SOURCES(SOURCE_NUMBER)
#undef SOURCE_NUMBER
	SOURCE_COUNT
};

/* What the sources are asked for; zeroed: the clock alone. Numbers have the types of flags. */
typedef struct SourceSettings
{
	uint64_t off_cpu_period_ns; /* a wait of this length is kept for certain; 0: none is */
	int64_t off_cpu_rate;		/* samples of waits a second; more lengthen the period */
	uint64_t off_cpu_switches;	/* a second; beyond, a part of them is looked at; 0: all are */
	ProbeList probes;			/* its texts must live as long as the sampler */
	int64_t probe_rate;			/* samples a second of each of these; more lengthen its period */
} SourceSettings;

/* Called with a record as the ring buffer has it. */
typedef void (*RecordHandler)(void *context, const void *record, size_t length_bytes);

/* What all sources share. Lives as long as they do. */
typedef struct SourceHost
{
	struct profiler *skeleton;
	SourceSettings settings;
	uint32_t frequency_hz;
	uint64_t interval_ns; /* between two calls of SampleSource.tend */
	int possible_cpus;
	Losses *losses;
	RecordHandler on_tended; /* called by tend with samples that do not come by the ring buffer */
	void *context;			 /* of on_tended */
} SourceHost;

/* A source that is wanted. Each one begins its own structure with this. */
typedef struct Source
{
	const SourceHost *host;
} Source;

/* The place of a CPU among those that begin together: they begin one after the other. */
typedef struct CpuTurn
{
	int64_t begin_ns; /* CLOCK_MONOTONIC */
	uint32_t number;
	uint32_t count;
} CpuTurn;

/* A line of the summary: a counter, or how thinly a source sampled at most. */
typedef struct SourceFigure
{
	const char *name;
	uint64_t value;
} SourceFigure;

#define SOURCE_FIGURES_MAX 4

/*
 * A row of the table. A function that is NULL has nothing to do. The main thread calls them, but
 * for pace and tend if is_tended: these may wait for whoever controls a process, so a thread calls
 * them for which no other waits.
 */
typedef struct SampleSource
{
	const char *name;		 /* of its line in "check", if it has one */
	enum pfs_counter events; /* counts its part of EVENTS; EVENTS: what the others do not count */
	uint32_t levels;		 /* by which its programs nest in those of others, on each CPU */
	bool is_tended;

	bool (*wanted)(const SourceSettings *settings); /* NULL: always */
	uint32_t (*slots)(int possible_cpus);			/* scratches of its own beside the levels' */
	void (*choose)(struct profiler *skeleton, bool wanted); /* which programs are loaded */

	/*
	 * Sets the knobs of the programs before they are loaded. slot is its first scratch.
	 * Failures: EXIT_PRIVILEGE if the kernel lacks something, EXIT_CONFIG for a setting.
	 */
	ExitCode (*prepare)(const SourceHost *host, uint32_t slot, Source **source, Failure *failure);
	void (*free)(Source *source); /* called after detach */

	ExitCode (*attach)(Source *source, Failure *failure); /* EXIT_BPF if the kernel refuses */
	void (*detach)(Source *source);						  /* no sample is taken from here on */

	/*
	 * Samples a CPU from now on, in its turn or, if that is NULL, at once; anew if the source did
	 * already. Returns 0 or -errno.
	 */
	int (*attach_cpu)(Source *source, uint32_t cpu, const CpuTurn *turn);
	void (*detach_cpu)(Source *source, uint32_t cpu);
	bool (*cpu_lives)(Source *source, uint32_t cpu); /* has it been online since the last call? */
	void (*followed)(Source *source, const uint64_t counters[PFS_COUNTER_COUNT]); /* all CPUs */

	/* Closes what goes on at the end of a window; last: nothing is seen from here on. */
	void (*tend)(Source *source, bool last);

	/* Samples more thinly if the counters since the start show too much; about twice a second. */
	void (*pace)(Source *source, const uint64_t counters[PFS_COUNTER_COUNT], int64_t now_ns);

	/* Does with part of whole of what its settings allow, from now on. */
	void (*restrain)(Source *source, uint32_t part, uint32_t whole);

	/* CPU time that it took in other processes' name, beside that for samples. */
	uint64_t (*looking_ns)(const uint64_t counters[PFS_COUNTER_COUNT]);

	/* Lines of the summary; their number. source is NULL if it is not wanted. */
	size_t (*figures)(const Source *source, const uint64_t counters[PFS_COUNTER_COUNT],
					  SourceFigure figures[SOURCE_FIGURES_MAX]);

	/* What this kernel lacks, or NULL: for "check". *how says which of several ways it has. */
	const char *(*missing)(const char **how);
} SampleSource;

#define DECLARE_SOURCE(name) extern const SampleSource name##_source;
SAMPLE_SOURCES(DECLARE_SOURCE)
#undef DECLARE_SOURCE

extern const SampleSource *const sample_sources[SOURCE_COUNT];

/* Timer ticks that reached the BPF program, those of idle CPUs included, by these counters. */
uint64_t source_ticks(const uint64_t counters[PFS_COUNTER_COUNT]);

#endif
