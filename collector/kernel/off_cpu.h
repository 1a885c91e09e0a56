/*
 * off_cpu.h
 *		Sampling of the time that threads wait: what of the BPF program serves it, how densely.
 *
 * Belongs to the sampler, and to the main thread as that does.
 */
#ifndef COLLECTOR_OFF_CPU_H
#define COLLECTOR_OFF_CPU_H

#include <stdbool.h>
#include <stdint.h>

#include "base/failure.h"

struct profiler; /* the skeleton */

/* The programs count with 32 bits; a wait stands for this long at least where waits are many. */
#define OFF_CPU_PERIOD_NS_MAX UINT64_C(4000000000)

typedef struct OffCpuOptions
{
	uint64_t period_ns;			/* a wait of this length is kept for certain; 0: none are */
	uint32_t samples_a_second;	/* more than these lengthen the period */
	uint64_t interval_ns;		/* between two calls of off_cpu_tend */
	uint64_t switches_a_second; /* of all CPUs; beyond, they are looked at for a part of the time */
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
 * Closes the waits that go on, so that what they are until now belongs to this moment's window.
 * False where some are left, because the ring is filling up: to be called again when it has been
 * read. They lose nothing by it but their window.
 */
bool off_cpu_tend(OffCpu *off_cpu);

/* The same for the last time: waits for room in the ring, up to 0.2 s. */
void off_cpu_end(OffCpu *off_cpu);

/* Waits that went on when they were seen last, and found no room in the ring even so. */
uint64_t off_cpu_lost(const OffCpu *off_cpu);

/*
 * Looks whether so many waits, and so many switches of all CPUs, since ever, are too many; about
 * twice a second.
 */
void off_cpu_pace(OffCpu *off_cpu, uint64_t waits, uint64_t switches, int64_t now_ns);

/* How thinly waits were sampled, and switches looked at, at most. */
uint64_t off_cpu_longest_period_ns(const OffCpu *off_cpu);
uint32_t off_cpu_fewest_switches(const OffCpu *off_cpu); /* one in so many */

/* What this kernel lacks, or NULL: for "check". how says which way waits are seen. */
const char *off_cpu_missing(const char **how);

#endif
