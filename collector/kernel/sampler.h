/*
 * sampler.h
 *		The BPF program: load it, give it a perf event on each online CPU, read its ring buffer.
 *
 * sampler_poll belongs to the reader thread. Functions that are marked so belong to a thread of
 * their own, the tender: they may wait for whoever controls a process. All else belongs to the main
 * thread. The functions that are called while the reader polls touch perf events and counters only,
 * never the ring.
 */
#ifndef COLLECTOR_SAMPLER_H
#define COLLECTOR_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/failure.h"
#include "events.h"
#include "kernel/source.h"
#include "process/exec_image.h"
#include "unwind/kernel_tables.h"

typedef struct Sampler Sampler;

typedef struct SamplerOptions
{
	uint32_t frequency_hz;
	bool exclude_self;		  /* no samples of this process and its children, the symbol workers */
	bool allow_unsafe_kernel; /* see kernel_version.h */
	size_t memory_bytes;	  /* the ring may take an eighth of this, tables a quarter */
	uint64_t max_mappings;	  /* of processes, that can be walked; 0: by memory_bytes */
	uint64_t max_code_bytes;  /* of binaries; 0: likewise */
	enum pfs_controller controller; /* of pfs_sample.controller_cgroup_id */
	uint64_t interval_ns;			/* between two calls of sampler_tend */
	RecordHandler on_tended;		/* called in the tender; NULL: the handler is */
	SourceSettings sources;			/* whose texts live as long as the sampler */
	Losses *losses;					/* what the kernel's side loses is added to these */
} SamplerOptions;

/*
 * Loads the program. Failures: EXIT_PRIVILEGE where the kernel lacks something or the process a
 * right, EXIT_BPF where the kernel refuses the program.
 */
ExitCode sampler_create(const SamplerOptions *options, RecordHandler handler, void *context,
						Sampler **sampler, Failure *failure);
void sampler_free(Sampler *sampler); /* accepts NULL */

/*
 * Opens a perf event on each CPU that is online and has none. EXIT_BPF where none could be opened
 * at all.
 */
ExitCode sampler_attach(Sampler *sampler, Failure *failure);

/*
 * Follows CPUs that came or went since, or were away for a moment; to be called about once a
 * second. Returns the number of online CPUs that cannot be sampled, each of which was logged once.
 */
uint32_t sampler_follow_cpus(Sampler *sampler);

uint32_t sampler_cpu_count(const Sampler *sampler); /* with a perf event */

/*
 * From now on as many samples a second on each CPU. Each sample carries the period that it was
 * taken with; of the period that is running a part is lost. A CPU whose clock cannot be exchanged
 * keeps its own.
 */
void sampler_set_frequency(Sampler *sampler, uint32_t frequency_hz);

/*
 * What becomes of the image's samples from now on: PFS_VERDICT_*. Any thread. Of thousands of
 * images the kernel forgets some, and samples come as if there were no verdict: then it is to be
 * told again.
 */
void sampler_set_verdict(const Sampler *sampler, const ExecImage *image, uint32_t verdict);

/* Does anything have to be tended? */
bool sampler_has_tending(const Sampler *sampler);

/* Closes what goes on at the end of an interval, such as waits. Tender. */
void sampler_tend(Sampler *sampler);

/* Like sampler_tend(), for the last time. Tender, or main thread once that has ended. */
void sampler_end_tending(Sampler *sampler);

/* Samples more thinly what comes too often; about twice a second. */
void sampler_pace(Sampler *sampler, int64_t now_ns);

/* Like sampler_pace(), for sources whose pacing may take long. Tender. */
void sampler_pace_tended(Sampler *sampler, int64_t now_ns);

/* Adds what the BPF programs lost since the last call, and the CPUs that are not sampled. */
void sampler_count_losses(Sampler *sampler);

/* Closes all perf events, and sees no more waits: no sample is taken from here on. */
void sampler_stop(Sampler *sampler);

/* Readable when sampler_poll would not wait. Valid as long as the sampler. */
int sampler_descriptor(const Sampler *sampler);

/* Waits for at most timeout_ms, hands over what is there. Number of records, or -errno. */
int sampler_poll(Sampler *sampler, int timeout_ms);

/* The walker's tables; the sampler's own. Reader thread. */
KernelTables *sampler_tables(Sampler *sampler);

/*
 * What the kernel has for it now: the ring, a scratch of 80 KiB for each possible CPU, tables. Any
 * thread.
 */
size_t sampler_kernel_bytes(const Sampler *sampler);

/* Bytes of the ring: a second of samples, a power of two, an eighth of memory_bytes at most. */
uint32_t sampler_ring_bytes(uint32_t frequency_hz, uint32_t cpus, size_t memory_bytes);

/* Sums over CPUs since the start. 0 or -ENOMEM. */
int sampler_counters(const Sampler *sampler, uint64_t counters[PFS_COUNTER_COUNT]);

/* What all sources have for the summary: the number of lines. */
#define SAMPLER_FIGURES_MAX (SOURCE_COUNT * SOURCE_FIGURES_MAX)
size_t sampler_figures(const Sampler *sampler, const uint64_t counters[PFS_COUNTER_COUNT],
					   SourceFigure figures[SAMPLER_FIGURES_MAX]);

/* What the kernel says of the BPF program; 0 where it does not. */
typedef struct SamplerCost
{
	uint64_t runs; /* where kernel.bpf_stats_enabled is on, and their time */
	uint64_t time_ns;
	uint32_t instructions;
	uint32_t instructions_verified; /* from 5.16; what counts against the verifier's million */
} SamplerCost;

/*
 * CPU time that the BPF programs have taken in other processes' name, by these counters: for
 * samples, and for looking at switches and calls, kept or not.
 */
uint64_t sampler_foreign_ns(const uint64_t counters[PFS_COUNTER_COUNT]);

void sampler_cost(const Sampler *sampler, SamplerCost *cost);

#endif
