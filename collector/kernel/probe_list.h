/*
 * probe_list.h
 *		What is sampled where it is asked for by name: page faults, memory that programs allocate.
 *
 * Belongs to the sampler, and to the main thread as that does.
 */
#ifndef COLLECTOR_PROBES_H
#define COLLECTOR_PROBES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/failure.h"
#include "events.h"

struct profiler; /* the skeleton */

#define PROBE_FILES_MAX 8

typedef struct ProbeOptions
{
	bool page_faults;
	const char *files[PROBE_FILES_MAX]; /* whose functions allocate */
	size_t file_count;
	uint32_t samples_a_second; /* of each kind; more lengthen its period */
} ProbeOptions;

/*
 * Reads a list such as "page-faults,allocations=FILE"; the files' names are the list's. Failures:
 * EXIT_CONFIG; text was written into even so.
 */
ExitCode probes_parse(char *text, ProbeOptions *options, Failure *failure);

/* What a call that is probed costs the program that makes it, kept or not: mostly the trap. */
#define PROBE_CALL_NS 400

typedef struct Probes Probes;

/*
 * Says before the program is loaded what of it is wanted. slot is the first scratch that none of
 * the CPUs has; it takes as many as probes_slots says. Failures: EXIT_PRIVILEGE where the kernel
 * lacks something, EXIT_CONFIG where a file has no such functions.
 */
ExitCode probes_create(struct profiler *skeleton, const ProbeOptions *options, uint32_t slot,
					   Probes **probes, Failure *failure);
void probes_free(Probes *probes); /* accepts NULL; detaches */
uint32_t probes_slots(const ProbeOptions *options, int possible_cpus);

/*
 * Allocations are seen from now on. EXIT_BPF where the kernel refuses. Nothing where none are.
 *
 * To attach and detach probes the kernel takes a lock of each process that maps the file, and waits
 * as long as one of these likes. A thread is left behind after PROBES_ATTACH_NS. Allocations are
 * then not seen until it has returned and probes_pace_calls() has tried once more.
 */
#define PROBES_ATTACH_NS UINT64_C(10000000000)
ExitCode probes_attach(Probes *probes, Failure *failure);
void probes_detach(Probes *probes); /* accepts NULL: of all CPUs */

/*
 * Page faults of a CPU are seen from now on, or no more; where they were already they are anew. 0
 * or -errno.
 */
int probes_attach_cpu(Probes *probes, uint32_t cpu);
void probes_detach_cpu(Probes *probes, uint32_t cpu);

/*
 * Samples page faults more thinly if the program's counters since the start show too many; about
 * twice a second.
 */
void probes_pace_faults(Probes *probes, const uint64_t counters[PFS_COUNTER_COUNT], int64_t now_ns);

/* Does that for calls; may take as long as probes_attach(). */
void probes_pace_calls(Probes *probes, const uint64_t counters[PFS_COUNTER_COUNT], int64_t now_ns);

/*
 * From now on calls are looked at for part of the time if they are more than part of whole of what
 * was allowed. Any thread.
 */
void probes_look_less(Probes *probes, uint32_t part, uint32_t whole);

/* How thinly it was sampled at most; 0 where it was not. */
typedef struct ProbeStats
{
	uint64_t fault_period;
	uint64_t allocation_period;
	uint32_t calls_one_in;
	uint64_t held_up; /* times that a process kept the kernel from attaching probes in time */
} ProbeStats;

void probes_stats(const Probes *probes, ProbeStats *stats);

/* What this kernel lacks to sample allocations, or NULL: for "check". */
const char *probes_missing(void);

#endif
