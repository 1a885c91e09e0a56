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
#include "kernel/probe_list.h"
#include "process/exec_image.h"
#include "unwind/kernel_tables.h"

typedef struct Sampler Sampler;

/* Called for each ring buffer record; length_bytes is the record's. */
typedef void (*SamplerHandler)(void *context, const void *record, size_t length_bytes);

typedef struct SamplerOptions
{
	uint32_t frequency_hz;
	bool exclude_self;		  /* no samples of this process and its children, the symbol workers */
	bool allow_unsafe_kernel; /* see kernel_version.h */
	size_t memory_bytes;	  /* the ring may take an eighth of this, tables a quarter */
	uint64_t max_mappings;	  /* of processes, that can be walked; 0: by memory_bytes */
	uint64_t max_code_bytes;  /* of binaries; 0: likewise */
	enum pfs_controller controller; /* of pfs_sample.controller_cgroup_id */
	uint64_t off_cpu_period_ns;		/* see off_cpu.h; 0: waits are not sampled */
	uint32_t off_cpu_rate;			/* samples a second that lengthen it */
	uint64_t off_cpu_switches;		/* a second; beyond, a part of them is looked at; 0: all are */
	uint64_t interval_ns;			/* between two calls of sampler_tend_waits */
	SamplerHandler on_wait; /* called in the tender for waits that go on; NULL: the handler is */
	ProbeOptions probes;	/* whose texts live as long as the sampler */
} SamplerOptions;

/*
 * Loads the program. Failures: EXIT_PRIVILEGE where the kernel lacks something or the process a
 * right, EXIT_BPF where the kernel refuses the program.
 */
ExitCode sampler_create(const SamplerOptions *options, SamplerHandler handler, void *context,
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

/* Times that a CPU was found to have been away, and its event opened anew. */
uint64_t sampler_reopened(const Sampler *sampler);
/*
 * Ticks that were due by the CPUs' clocks and did not come, because another BPF program ran, or
 * interrupts were off. Known as of the last sampler_follow_cpus().
 */
uint64_t sampler_missed_ticks(const Sampler *sampler);

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

/* Closes the waits that go on at the end of an interval. Tender. */
void sampler_tend_waits(Sampler *sampler);

/* Like sampler_tend_waits(), for the last time. Tender, or main thread once that has ended. */
void sampler_end_waits(Sampler *sampler);

/* Waits that were stored without their stack, because it could not be read. Any thread. */
uint64_t sampler_unread_waits(const Sampler *sampler);

/* Samples page faults more thinly if there are too many; about twice a second. */
void sampler_pace(Sampler *sampler, int64_t now_ns);

/* Is there anything that a tender has to do? */
bool sampler_has_tending(const Sampler *sampler);

/* Samples waits and allocations more thinly if there are too many; about twice a second. Tender. */
void sampler_pace_tended(Sampler *sampler, int64_t now_ns);
uint64_t sampler_longest_wait_period_ns(const Sampler *sampler);
uint32_t sampler_fewest_switches(const Sampler *sampler); /* one in so many was looked at */
void sampler_probe_stats(const Sampler *sampler, ProbeStats *stats);

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

/* Sums over CPUs since the start. */
int sampler_counters(const Sampler *sampler, uint64_t counters[PFS_COUNTER_COUNT]);

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
