/*
 * sampler.h
 *		Loads the BPF programs, opens a perf event on each online CPU, and reads the ring buffer.
 *
 * sampler_poll() belongs to the reader thread. Functions marked "Tender" belong to a separate
 * thread, the tender, because a sampled process can delay them. All other functions belong to the
 * main thread; those that may be called while the reader polls use perf events and counters only,
 * never the ring.
 */
#ifndef COLLECTOR_SAMPLER_H
#define COLLECTOR_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "events.h"
#include "kernel/source.h"
#include "process/exec_image.h"
#include "program/failure.h"
#include "unwind/kernel_tables.h"

typedef struct Sampler Sampler;

typedef struct SamplerOptions
{
	uint32_t frequency_hz;
	bool exclude_self;		  /* do not sample this process and its children, the symbol workers */
	bool allow_unsafe_kernel; /* see kernel_version.h */
	/*
	 * Limit of the agent's memory: the ring may use an eighth of it, the unwind tables a quarter.
	 */
	size_t memory_bytes;
	/* limit of the mappings of processes in the unwind tables; 0: derived from memory_bytes */
	uint64_t max_mappings;
	/* limit of the code of binaries in the unwind tables; 0: derived from memory_bytes */
	uint64_t max_code_bytes;
	/* cgroup v1 controller whose group is stored in pfs_sample.controller_cgroup_id */
	enum pfs_controller controller;
	uint64_t interval_ns; /* time between two calls of sampler_tend() */
	/* called by the tender with records of ongoing waits; NULL: handler is called instead */
	RecordHandler on_tended;
	SourceSettings sources; /* its texts must outlive the sampler */
	Losses *losses;			/* receives the losses of the BPF programs */
} SamplerOptions;

/*
 * Loads the programs. Fails with EXIT_PRIVILEGE if the kernel lacks a feature or the process a
 * capability, with EXIT_BPF if the kernel refuses a program.
 */
ExitCode sampler_create(const SamplerOptions *options, RecordHandler handler, void *context,
						Sampler **sampler, Failure *failure);
void sampler_free(Sampler *sampler); /* accepts NULL */

/*
 * Opens a perf event on each online CPU that has none. Returns EXIT_BPF if no event could be
 * opened.
 */
ExitCode sampler_attach(Sampler *sampler, Failure *failure);

/*
 * Follows CPUs that went online or offline since the last call, even for a moment. Call it about
 * once a second. Returns the number of online CPUs that cannot be sampled; each of them was logged
 * once.
 */
uint32_t sampler_follow_cpus(Sampler *sampler);

uint32_t sampler_cpu_count(const Sampler *sampler); /* CPUs with a perf event */

/*
 * Sets the samples per second of each CPU. Each sample carries its own period; the part of the
 * current period that has passed is lost. If the clock of a CPU cannot be replaced, the CPU keeps
 * its frequency.
 */
void sampler_set_frequency(Sampler *sampler, uint32_t frequency_hz);

/*
 * Sets the verdict (PFS_VERDICT_*) on the future samples of an exec image. Any thread. The kernel
 * keeps some thousands of verdicts. If it has dropped this one, samples arrive as if there were
 * none, and the caller must set it again.
 */
void sampler_set_verdict(const Sampler *sampler, const ExecImage *image, uint32_t verdict);

/* Returns true if sampler_tend() has work to do. */
bool sampler_has_tending(const Sampler *sampler);

/* Ends the current interval of the sources that need it: stores ongoing waits. Tender. */
void sampler_tend(Sampler *sampler);

/* Like sampler_tend(), for the last time. Tender, or main thread after the tender has ended. */
void sampler_end_tending(Sampler *sampler);

/* Adapts the sampling periods of frequent events. Call it about twice a second. */
void sampler_pace(Sampler *sampler, int64_t now_ns);

/* Like sampler_pace(), for sources whose pacing may block. Tender. */
void sampler_pace_tended(Sampler *sampler, int64_t now_ns);

/*
 * Adds to the losses what the BPF programs lost since the last call, and the CPUs that are not
 * sampled.
 */
void sampler_count_losses(Sampler *sampler);

/* Closes all perf events and stops watching waits; the ring gets no further record. */
void sampler_stop(Sampler *sampler);

/*
 * Returns a descriptor that is readable while sampler_poll() would not wait. It is valid as long as
 * the sampler.
 */
int sampler_descriptor(const Sampler *sampler);

/*
 * Waits for at most timeout_ms and gives the records to the handler. Returns their number, or
 * -errno.
 */
int sampler_poll(Sampler *sampler, int timeout_ms);

/* Returns the tables of the BPF program; the sampler owns them. Reader thread. */
KernelTables *sampler_tables(Sampler *sampler);

/*
 * Returns the present kernel memory: the ring, a scratch of 80 KiB for each possible CPU, and the
 * tables. Any thread.
 */
size_t sampler_kernel_bytes(const Sampler *sampler);

/*
 * Returns the size of the ring: one second of samples, a power of two, at most an eighth of
 * memory_bytes.
 */
uint32_t sampler_ring_bytes(uint32_t frequency_hz, uint32_t cpus, size_t memory_bytes);

/* Sums the counters of all CPUs since the start. Returns 0 or -ENOMEM. */
int sampler_counters(const Sampler *sampler, uint64_t counters[PFS_COUNTER_COUNT]);

/* Fills in the summary lines of all sources and returns their number. */
#define SAMPLER_FIGURES_MAX (SOURCE_COUNT * SOURCE_FIGURES_MAX)
size_t sampler_figures(const Sampler *sampler, const uint64_t counters[PFS_COUNTER_COUNT],
					   SourceFigure figures[SAMPLER_FIGURES_MAX]);

/* Cost of the BPF program, as the kernel reports it; 0 if the kernel does not. */
typedef struct SamplerCost
{
	uint64_t runs; /* counted if kernel.bpf_stats_enabled is on */
	uint64_t time_ns;
	uint32_t instructions;
	/* Reported since Linux 5.16; the verifier's limit is a million. */
	uint32_t instructions_verified;
} SamplerCost;

/*
 * Returns, from these counters, the CPU time that BPF programs took while other processes ran: for
 * samples, and for examining switches and calls, kept or not.
 */
uint64_t sampler_foreign_ns(const uint64_t counters[PFS_COUNTER_COUNT]);

void sampler_cost(const Sampler *sampler, SamplerCost *cost);

#endif
