/*
 * off_cpu.h
 *		Sampling of the time that threads wait: what of the BPF program serves it, how densely.
 *
 * Belongs to the sampler. One thread at a time calls it; what it reads of other processes may take
 * a while, so that this is none that others wait for.
 */
#ifndef COLLECTOR_OFF_CPU_H
#define COLLECTOR_OFF_CPU_H

#include <stdbool.h>
#include <stdint.h>

#include "base/failure.h"
#include "kernel/wait_round.h"

struct profiler; /* the skeleton */

/* The programs count with 32 bits; a wait stands for this long at least where waits are many. */
#define OFF_CPU_PERIOD_NS_MAX UINT64_C(4000000000)

typedef struct OffCpuOptions
{
	uint64_t period_ns;			/* a wait of this length is kept for certain; 0: none are */
	uint32_t samples_a_second;	/* more than these lengthen the period */
	uint64_t interval_ns;		/* between two calls of off_cpu_tend */
	uint64_t switches_a_second; /* of all CPUs; beyond, they are looked at for a part of the time */
	WaitHandler handler; /* called with the waits that go on, by the thread that tends them */
	void *context;		 /* of the handler */
} OffCpuOptions;

typedef struct OffCpu OffCpu;

/*
 * Says before the program is loaded what of it is wanted: the entry points that this kernel can
 * call, or none where the period is 0. slot is the scratch that none of the CPUs has. Failures:
 * EXIT_PRIVILEGE where the kernel lacks something.
 */
ExitCode off_cpu_create(struct profiler *skeleton, const OffCpuOptions *options, uint32_t slot,
						OffCpu **off_cpu, Failure *failure);
void off_cpu_free(OffCpu *off_cpu);	  /* accepts NULL; detaches */
void off_cpu_detach(OffCpu *off_cpu); /* no wait is seen from here on */

/* From now on. EXIT_BPF where the kernel refuses. Nothing where the period is 0. */
ExitCode off_cpu_attach(OffCpu *off_cpu, Failure *failure);

/*
 * How many of the waits that go on may be stored in a round of that length. No more than half of
 * the samples; and of very many threads fewer, because the round visits all threads once for each
 * batch of waits: a million visits in 10 s, some 100 ns each, are 1 % of a CPU.
 */
uint64_t off_cpu_allowed_waits(uint64_t samples_a_second, uint64_t round_ns, uint64_t threads);

/* Closes the waits that go on, so that what they are until now belongs to this moment's window. */
void off_cpu_tend(OffCpu *off_cpu);

/* Like off_cpu_tend(), for the last time: no switch is seen from here on. */
void off_cpu_end(OffCpu *off_cpu);

/* Waits that were stored without their stack, because it could not be read. Any thread. */
uint64_t off_cpu_unread(const OffCpu *off_cpu);

/*
 * Looks whether so many waits, and so many switches of all CPUs, since ever, are too many; about
 * twice a second.
 */
void off_cpu_pace(OffCpu *off_cpu, uint64_t waits, uint64_t switches, int64_t now_ns);

/*
 * From now on switches are looked at for part of the time if they are more than part of whole of
 * what was allowed. Any thread.
 */
void off_cpu_look_less(OffCpu *off_cpu, uint32_t part, uint32_t whole);

/* How thinly waits were sampled, and switches looked at, at most. */
uint64_t off_cpu_longest_period_ns(const OffCpu *off_cpu);
uint32_t off_cpu_fewest_switches(const OffCpu *off_cpu); /* one in so many */

/* What this kernel lacks, or NULL: for "check". how says which way waits are seen. */
const char *off_cpu_missing(const char **how);

#endif
