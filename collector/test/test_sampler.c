/*
 * test_sampler.c
 *		The BPF program in this machine's kernel: it loads, and its records add up.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/io_uring.h>

#include <bpf/bpf.h>

#include "base/clock.h"
#include "kernel/bpf_tables.h"
#include "kernel/features.h"
#include "kernel/sampler.h"
#include "process/proc_file.h"
#include "process/sideband.h"
#include "stop_events.h"
#include "unwind/unwinder.h"

static Losses losses; /* losses of all tests */

#define FREQUENCY_HZ	   199
#define OTHER_FREQUENCY_HZ 49
#define OTHER_SPINS		   4 /* number of other processes that spin */
/* duration in CPU time, however busy the machine is */
#define SPIN_NS			   UINT64_C(500000000)

/* Limits of the BPF program: verifiers of older kernels may not accept more. */
#define MOST_INSTRUCTIONS 11000
#define MOST_VERIFIED	  200000

typedef struct Seen
{
	uint64_t records;
	uint64_t of_period;		  /* samples with the first frequency */
	uint64_t of_other_period; /* samples with the other frequency */
	uint64_t own;
	uint64_t own_of_other_period;
	uint64_t of_parent; /* samples of processes whose parent is this one */
	uint64_t of_comm;	/* samples of processes with this one's name */
	uint64_t own_with_user_stack;
	uint64_t own_with_leaf;
	uint64_t own_in_spin;
	uint64_t workers; /* samples of this process's threads that work for the kernel */
	uint64_t workers_with_user_side;
	uint64_t judged; /* records of the process judged_pid */
	uint64_t judged_with_stack;
	uint64_t own_walked; /* own samples whose walk the kernel finished */
	double sines[2];	 /* sums of sines of the samples' phases in the period, on two CPUs */
	double cosines[2];
	uint32_t phase_cpus[2];
	struct pfs_sample last_own;
	const Sampler *judge; /* sets verdict for judged_pid; NULL: does not */
	uint32_t verdict;	  /* the verdict */
	pid_t judged_pid;	  /* process that gets the verdict when it is first sampled */
} Seen;

__attribute__((noinline)) static void
spin(void)
{
	uint64_t until = (uint64_t) clock_ns(CLOCK_PROCESS_CPUTIME_ID) + SPIN_NS;

	while ((uint64_t) clock_ns(CLOCK_PROCESS_CPUTIME_ID) < until)
	{
		for (volatile int i = 0; i < 1000000; i++)
			;
	}
}

static void
on_record(void *context, const void *record, size_t length_bytes)
{
	Seen *seen = context;
	const struct pfs_sample *sample = record;
	const uint64_t *stack = (const uint64_t *) (const void *) (sample + 1);
	uint64_t begin = (uint64_t) (uintptr_t) spin;

	seen->records++;
	seen->of_period += sample->period == UINT64_C(1000000000) / FREQUENCY_HZ;
	seen->of_other_period += sample->period == UINT64_C(1000000000) / OTHER_FREQUENCY_HZ;
	assert_true(length_bytes >= sizeof(*sample) + ((size_t) sample->kernel_count +
												   pfs_walk_kept(sample->user_count)) *
													  sizeof(uint64_t));
	assert_int_not_equal(sample->tid, 0);
	seen->of_parent += sample->parent_pid == (uint32_t) getpid();
	seen->of_comm += strcmp(sample->process_comm, "test_sampler") == 0;
	for (int i = 0; i < 2; i++)
	{
		double phase =
			2 * M_PI * (double) (sample->time_ns % sample->period) / (double) sample->period;

		if (sample->cpu != seen->phase_cpus[i])
			continue;
		seen->sines[i] += sin(phase);
		seen->cosines[i] += cos(phase);
	}
	if (seen->judged_pid != 0 && sample->pid == (uint32_t) seen->judged_pid)
	{
		const ExecImage image = { sample->pid, sample->start_time_ns, sample->exec_id };

		if (seen->judged++ == 0)
			sampler_set_verdict(seen->judge, &image, seen->verdict);
		seen->judged_with_stack += (sample->flags & PFS_SAMPLE_LATE) != 0;
	}
	if (sample->pid == (uint32_t) getpid() && strncmp(sample->comm, "iou-", 4) == 0)
	{
		seen->workers++;
		seen->workers_with_user_side +=
			sample->user_count > 0 || sample->flags != PFS_SAMPLE_WORKER;
		assert_int_not_equal(sample->arg_start, 0);
		return;
	}
	if (sample->pid != (uint32_t) getpid())
		return;
	seen->own++;
	seen->own_of_other_period += sample->period == UINT64_C(1000000000) / OTHER_FREQUENCY_HZ;
	seen->last_own = *sample;
	seen->own_walked += sample->user_count > 0 && !(sample->flags & PFS_SAMPLE_LATE) &&
						sample->user_status != PFS_WALK_NO_PROCESS;
	/* this process was not described to the walker: the stack arrives as a copy */
	if (sample->flags & PFS_SAMPLE_LATE)
	{
		const uint64_t *frames = stack + sample->kernel_count;
		const struct pfs_late *late = (const void *) (frames + sample->user_count);
		uint64_t leaf = late->at.pc;

		seen->own_with_user_stack += late->length > 0;
		seen->own_with_leaf += sample->user_count == 1 && PFS_FRAME_ADDRESS(frames[0]) == leaf;
		seen->own_in_spin += leaf >= begin && leaf < begin + 256;
	}
}

typedef struct Polling
{
	Sampler *sampler;
	atomic_bool stopping;
} Polling;

/* Reads the ring, which copies of stacks would otherwise fill within a second. */
static void *
poll_until_stopped(void *argument)
{
	Polling *polling = argument;
	bool stopping;

	do
	{
		stopping = atomic_load(&polling->stopping);
		while (sampler_poll(polling->sampler, stopping ? 0 : 20) > 0)
			;
	} while (!stopping);
	return NULL;
}

/*
 * Returns the id of this process's control group in a controller's hierarchy, from its directory.
 */
static uint64_t
own_group(const char *controller)
{
	char path[4096];
	char line[2048];
	struct stat status;
	uint64_t id = 0;
	FILE *file = fopen("/proc/self/cgroup", "re");

	assert_non_null(file);
	while (fgets(line, sizeof(line), file) != NULL)
	{
		const char *name = strchr(line, ':');
		const char *group = name != NULL ? strchr(name + 1, ':') : NULL;

		line[strcspn(line, "\n")] = '\0';
		if (group == NULL || (size_t) (group - name - 1) != strlen(controller) ||
			strncmp(name + 1, controller, strlen(controller)) != 0)
			continue;
		snprintf(path, sizeof(path), "/sys/fs/cgroup/%s%s", controller, group + 1);
		if (stat(path, &status) == 0)
			id = status.st_ino;
	}
	fclose(file);
	return id;
}

static void
test_live(void **state)
{
	const SamplerOptions options = { .frequency_hz = FREQUENCY_HZ,
									 .controller = PFS_CONTROLLER_MEMORY,
									 .losses = &losses };
	Sampler *sampler;
	Polling polling = { 0 };
	pthread_t thread;
	Failure failure;
	Seen seen = { 0 };
	uint64_t counters[PFS_COUNTER_COUNT];
	ProcStat stat;
	uint64_t tick_ns = UINT64_C(1000000000) / (uint64_t) sysconf(_SC_CLK_TCK);

	if (sampler_create(&options, on_record, &seen, &sampler, &failure) != EXIT_OK)
	{
		print_message("skipped: %s: %s\n", failure.message, failure.detail);
		assert_int_equal(failure.code, EXIT_PRIVILEGE);
		skip();
	}
	polling.sampler = sampler;
	assert_int_equal(sampler_attach(sampler, &failure), EXIT_OK);
	assert_int_equal(sampler_cpu_count(sampler), sysconf(_SC_NPROCESSORS_ONLN));
	assert_int_equal(sampler_follow_cpus(sampler), 0);
	assert_int_equal(pthread_create(&thread, NULL, poll_until_stopped, &polling), 0);
	spin();
	sampler_stop(sampler);
	atomic_store(&polling.stopping, true);
	pthread_join(thread, NULL);
	assert_int_equal(sampler_cpu_count(sampler), 0);
	assert_int_equal(sampler_counters(sampler, counters), 0);
	assert_int_equal(counters[PFS_COUNTER_SAMPLES], seen.records);
	assert_int_equal(counters[PFS_COUNTER_EVENTS],
					 counters[PFS_COUNTER_IDLE] + counters[PFS_COUNTER_SAMPLES] +
						 counters[PFS_COUNTER_RING_FULL] + counters[PFS_COUNTER_NO_SCRATCH]);
	assert_int_equal(counters[PFS_COUNTER_SELF], 0);
	assert_in_range(counters[PFS_COUNTER_TIME_NS] / (counters[PFS_COUNTER_SAMPLES] + 1), 100,
					10 * 1000 * 1000);
	assert_int_equal(seen.of_period, seen.records);

	/*
	 * Each tick of the clock during this process's CPU time is a sample. If other processes run in
	 * turn with it, that is a hundred at random, plus or minus ten: twice or half as many are
	 * outside these bounds.
	 */
	assert_in_range(seen.own, FREQUENCY_HZ / 2 * 55 / 100, FREQUENCY_HZ / 2 * 145 / 100);
	assert_int_equal(seen.own_with_user_stack, seen.own);
	assert_int_equal(seen.own_with_leaf, seen.own);
	assert_true(seen.own_in_spin * 2 > seen.own);
	assert_int_equal(proc_stat_read((uint32_t) getpid(), &stat), 0);
	assert_int_equal(seen.last_own.start_time_ns / tick_ns, stat.start_ticks);
	assert_int_equal(seen.last_own.arg_start, stat.arg_start);
	assert_int_equal(seen.last_own.parent_pid, getppid());
	assert_string_equal(seen.last_own.process_comm, "test_sampler");
	if (own_group("memory") != 0)
		assert_int_equal(seen.last_own.controller_cgroup_id, own_group("memory"));
	sampler_free(sampler);
}

/* The kernel runs no program at a tick during the change of a map: such ticks are counted. */
static void
test_missed_ticks(void **state)
{
	static uint8_t value[1 << 16];
	const SamplerOptions options = { .frequency_hz = FREQUENCY_HZ, .losses = &losses };
	const uint64_t before = losses_total(&losses, LOSS_TICKS_MISSED);
	LIBBPF_OPTS(bpf_map_create_opts, map_options);
	int64_t begin_ns;
	Sampler *sampler;
	Failure failure;
	Seen seen = { 0 };
	int map;

	if (sampler_create(&options, on_record, &seen, &sampler, &failure) != EXIT_OK)
	{
		print_message("skipped: %s: %s\n", failure.message, failure.detail);
		assert_int_equal(failure.code, EXIT_PRIVILEGE);
		skip();
	}
	map = bpf_map_create(BPF_MAP_TYPE_HASH, "pfs_test", sizeof(uint32_t), sizeof(value), 4,
						 &map_options);
	assert_true(map >= 0);
	assert_int_equal(sampler_attach(sampler, &failure), EXIT_OK);
	begin_ns = clock_ns(CLOCK_MONOTONIC);
	while (clock_ns(CLOCK_MONOTONIC) - begin_ns < 1000000000)
	{
		for (uint32_t i = 0; i < 1000; i++)
		{
			uint32_t key = i & 3;

			assert_int_equal(bpf_map_update_elem(map, &key, value, BPF_ANY), 0);
		}
		(void) sampler_poll(sampler, 0);
	}
	assert_int_equal(sampler_follow_cpus(sampler), 0);
	assert_int_equal(sampler_follow_cpus(sampler), 0);
	print_message("%llu ticks missed\n",
				  (unsigned long long) (losses_total(&losses, LOSS_TICKS_MISSED) - before));
	assert_true(losses_total(&losses, LOSS_TICKS_MISSED) > before);
	sampler_stop(sampler);
	sampler_free(sampler);
	close(map);
}

/*
 * Each sample has the period with which it was taken, so a change of frequency makes no value
 * wrong.
 */
static void
test_frequency(void **state)
{
	const SamplerOptions options = { .frequency_hz = FREQUENCY_HZ, .losses = &losses };
	Polling polling = { 0 };
	pthread_t thread;
	Failure failure;
	Seen seen = { 0 };

	if (sampler_create(&options, on_record, &seen, &polling.sampler, &failure) != EXIT_OK)
		skip();
	assert_int_equal(sampler_attach(polling.sampler, &failure), EXIT_OK);
	assert_int_equal(pthread_create(&thread, NULL, poll_until_stopped, &polling), 0);
	spin();
	sampler_set_frequency(polling.sampler, OTHER_FREQUENCY_HZ);
	assert_int_equal(sampler_cpu_count(polling.sampler), sysconf(_SC_NPROCESSORS_ONLN));
	for (int i = 0; i < OTHER_SPINS; i++)
		spin();
	sampler_stop(polling.sampler);
	atomic_store(&polling.stopping, true);
	pthread_join(thread, NULL);
	assert_true(seen.of_period > 0 && seen.of_other_period > 0);
	assert_int_equal(seen.of_period + seen.of_other_period, seen.records);
	assert_in_range(seen.own_of_other_period, OTHER_FREQUENCY_HZ * OTHER_SPINS / 2 * 55 / 100,
					OTHER_FREQUENCY_HZ * OTHER_SPINS / 2 * 145 / 100);
	sampler_free(polling.sampler);
}

/*
 * This process and its child are excluded and counted; a grandchild is not part of the collector.
 */
static void
test_exclude_self(void **state)
{
	const SamplerOptions options = { .frequency_hz = FREQUENCY_HZ,
									 .exclude_self = true,
									 .losses = &losses };
	Polling polling = { 0 };
	pthread_t thread;
	Failure failure;
	Seen seen = { 0 };
	uint64_t counters[PFS_COUNTER_COUNT];
	pid_t child;

	if (sampler_create(&options, on_record, &seen, &polling.sampler, &failure) != EXIT_OK)
		skip();
	assert_int_equal(sampler_attach(polling.sampler, &failure), EXIT_OK);
	assert_int_equal(pthread_create(&thread, NULL, poll_until_stopped, &polling), 0);
	child = fork();
	if (child == 0)
	{
		pid_t grandchild = fork();

		spin();
		if (grandchild > 0)
			(void) waitpid(grandchild, NULL, 0);
		_exit(0);
	}
	spin();
	assert_int_equal(waitpid(child, NULL, 0), child);
	sampler_stop(polling.sampler);
	atomic_store(&polling.stopping, true);
	pthread_join(thread, NULL);
	assert_int_equal(sampler_counters(polling.sampler, counters), 0);
	assert_int_equal(seen.own, 0);
	assert_int_equal(seen.of_parent, 0);
	assert_true(seen.of_comm > 0);
	assert_true(counters[PFS_COUNTER_SELF] >=
				FREQUENCY_HZ * 6 / 10); /* this process and the child ran half a second each */
	assert_int_equal(counters[PFS_COUNTER_EVENTS],
					 counters[PFS_COUNTER_IDLE] + counters[PFS_COUNTER_SELF] +
						 counters[PFS_COUNTER_SAMPLES] + counters[PFS_COUNTER_RING_FULL] +
						 counters[PFS_COUNTER_NO_SCRATCH]);
	sampler_free(polling.sampler);
}

/* A CPU that was offline for a moment has lost its event, so it gets another one. */
static void
test_away_for_a_moment(void **state)
{
	const SamplerOptions options = { .frequency_hz = FREQUENCY_HZ, .losses = &losses };
	const uint64_t before = losses_total(&losses, LOSS_CPU_REOPENED);
	Polling polling = { 0 };
	pthread_t thread;
	Failure failure;
	Seen seen = { 0 };
	uint32_t cpus;

	if (sampler_create(&options, on_record, &seen, &polling.sampler, &failure) != EXIT_OK)
		skip();
	assert_int_equal(sampler_attach(polling.sampler, &failure), EXIT_OK);
	cpus = sampler_cpu_count(polling.sampler);
	assert_int_equal(sampler_follow_cpus(polling.sampler), 0);
	assert_int_equal(losses_total(&losses, LOSS_CPU_REOPENED), before);
	assert_int_equal(stop_events(), cpus);
	usleep(AWAY_US);
	assert_int_equal(sampler_follow_cpus(polling.sampler), 0);
	assert_int_equal(losses_total(&losses, LOSS_CPU_REOPENED), before + cpus);
	assert_int_equal(sampler_cpu_count(polling.sampler), cpus);
	assert_int_equal(pthread_create(&thread, NULL, poll_until_stopped, &polling), 0);
	spin();
	sampler_stop(polling.sampler);
	atomic_store(&polling.stopping, true);
	pthread_join(thread, NULL);
	assert_true(seen.own > FREQUENCY_HZ / 8);
	sampler_free(polling.sampler);
}

static void
run_on(uint32_t cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	(void) sched_setaffinity(0, sizeof(set), &set);
	spin();
	_exit(0);
}

/* The first CPU and the middle one tick half a period apart. */
static void
test_staggered(void **state)
{
	const SamplerOptions options = { .frequency_hz = FREQUENCY_HZ, .losses = &losses };
	const uint32_t cpus = (uint32_t) sysconf(_SC_NPROCESSORS_ONLN);
	Seen seen = { .phase_cpus = { 0, cpus / 2 } };
	Polling polling = { 0 };
	pid_t children[2];
	pthread_t thread;
	Failure failure;
	double apart;

	if (cpus < 2 ||
		sampler_create(&options, on_record, &seen, &polling.sampler, &failure) != EXIT_OK)
		skip();
	assert_int_equal(sampler_attach(polling.sampler, &failure), EXIT_OK);
	assert_int_equal(pthread_create(&thread, NULL, poll_until_stopped, &polling), 0);
	for (int i = 0; i < 2; i++)
	{
		children[i] = fork();
		if (children[i] == 0)
			run_on(seen.phase_cpus[i]);
	}
	for (int i = 0; i < 2; i++)
		assert_int_equal(waitpid(children[i], NULL, 0), children[i]);
	sampler_stop(polling.sampler);
	atomic_store(&polling.stopping, true);
	pthread_join(thread, NULL);
	apart = (atan2(seen.sines[1], seen.cosines[1]) - atan2(seen.sines[0], seen.cosines[0])) /
			(2 * M_PI);
	apart -= floor(apart);
	print_message("%.2f of a period apart\n", apart);
	assert_true(apart > 0.3 && apart < 0.7);
	sampler_free(polling.sampler);
}

/* More mappings than the first array holds: the array grows while walks continue. */
static void
test_tables_grow(void **state)
{
	const uint32_t count = 3 * PFS_UNWIND_MAPPINGS_FIRST;
	const SamplerOptions options = { .frequency_hz = FREQUENCY_HZ,
									 .max_mappings = 4 * count,
									 .losses = &losses };
	UnwindSpan *spans = calloc(count + 1, sizeof(*spans));
	Polling polling = { 0 };
	Unwinder *unwinder;
	pthread_t thread;
	Failure failure;
	Seen seen = { 0 };
	ExecImage self;
	size_t bytes;

	if (sampler_create(&options, on_record, &seen, &polling.sampler, &failure) != EXIT_OK)
		skip();
	assert_int_equal(sampler_attach(polling.sampler, &failure), EXIT_OK);
	assert_int_equal(unwinder_create(sampler_tables(polling.sampler), &unwinder), 0);
	assert_int_equal(pthread_create(&thread, NULL, poll_until_stopped, &polling), 0);
	spin();
	assert_true(seen.own > 0);
	assert_int_equal(seen.own_walked, 0);
	self = (ExecImage){ (uint32_t) getpid(), seen.last_own.start_time_ns, seen.last_own.exec_id };
	for (uint32_t i = 0; i < count; i++)
		spans[i] = (UnwindSpan){ .start = 4096 * (i + 1), .end = 4096 * (i + 2) };
	/* the last span is all real code, which has frame pointers */
	spans[count] = (UnwindSpan){ .start = 4096ULL * (count + 2), .end = 1ULL << 47 };
	bytes = sampler_kernel_bytes(polling.sampler);
	assert_int_equal(unwinder_process_set(unwinder, &self, spans, count + 1, 0), 0);
	assert_true(sampler_kernel_bytes(polling.sampler) >=
				bytes + 3 * PFS_UNWIND_MAPPINGS_FIRST * sizeof(struct pfs_unwind_mapping));
	assert_int_equal(unwinder_mapping(unwinder, 0)->start, 4096);
	assert_int_equal(unwinder_mapping(unwinder, count)->end, 1ULL << 47);
	spin();
	sampler_stop(polling.sampler);
	atomic_store(&polling.stopping, true);
	pthread_join(thread, NULL);
	assert_true(seen.own_walked > FREQUENCY_HZ / 8);
	unwinder_free(unwinder);
	sampler_free(polling.sampler);
	free(spans);
}

/* Documented sizes for large hosts: some 250 KiB for each CPU, and less if that is too much. */
static void
test_memory(void **state)
{
	const size_t mib = 1 << 20;
	const SamplerOptions options = { .frequency_hz = 19,
									 .memory_bytes = 384 * mib,
									 .losses = &losses };
	const size_t possible = (size_t) sysconf(_SC_NPROCESSORS_CONF);
	BpfTableLimits limits;
	Sampler *sampler;
	Failure failure;
	Seen seen = { 0 };

	assert_int_equal(sampler_ring_bytes(19, 2, 384 * mib), 2 * mib);
	assert_int_equal(sampler_ring_bytes(19, 256, 384 * mib), 16 * mib);
	assert_int_equal(sampler_ring_bytes(97, 256, 384 * mib), 32 * mib);
	assert_int_equal(sampler_ring_bytes(97, 256, 96 * mib), 8 * mib);
	assert_int_equal(sideband_buffer_bytes(48 * mib, 2), 128 << 10);
	assert_int_equal(sideband_buffer_bytes(48 * mib, 256), 128 << 10);
	assert_int_equal(sideband_buffer_bytes(12 * mib, 256), 32 << 10);
	assert_int_equal(sideband_buffer_bytes(12 * mib, 4096), 16 << 10);

	/* a quarter of the memory, unless the sizes are given */
	bpf_table_limits(96 * mib, 0, 0, &limits);
	assert_int_equal(limits.mappings, 16 * mib / sizeof(struct pfs_unwind_mapping));
	assert_int_equal(limits.entries, 16 * mib / sizeof(union pfs_unwind_entry));
	assert_int_equal(limits.chunks, 256);
	bpf_table_limits(0, 0, 0, &limits);
	assert_int_equal(limits.mappings, PFS_UNWIND_MAPPINGS);
	assert_int_equal(limits.entries, PFS_UNWIND_ENTRIES);
	assert_int_equal(limits.chunks, PFS_UNWIND_CHUNKS);
	bpf_table_limits(0, 1000000, 32ULL << 30, &limits);
	assert_int_equal(limits.mappings, 1 << 20);
	assert_int_equal(limits.entries, 8 << 20);
	assert_int_equal(limits.chunks, 1024);

	if (sampler_create(&options, on_record, &seen, &sampler, &failure) != EXIT_OK)
		skip();
	print_message("%zu kB with %zu CPUs\n", sampler_kernel_bytes(sampler) / 1024, possible);
	assert_in_range(sampler_kernel_bytes(sampler), possible * 80000 + 2 * mib,
					possible * 100000 + 10 * mib);
	sampler_free(sampler);
}

/* Runs a process that spins; counts of its samples are in seen. */
static void
judge(uint32_t verdict, Seen *seen, uint64_t counters[PFS_COUNTER_COUNT])
{
	const SamplerOptions options = { .frequency_hz = FREQUENCY_HZ, .losses = &losses };
	Polling polling = { 0 };
	pthread_t thread;
	Failure failure;
	int fds[2];
	char byte = 0;

	if (sampler_create(&options, on_record, seen, &polling.sampler, &failure) != EXIT_OK)
		skip();
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	seen->judge = polling.sampler;
	seen->verdict = verdict;
	seen->judged_pid = fork();
	if (seen->judged_pid == 0)
	{
		if (read(fds[0], &byte, 1) == 1)
			spin();
		_exit(0);
	}
	assert_int_equal(sampler_attach(polling.sampler, &failure), EXIT_OK);
	assert_int_equal(pthread_create(&thread, NULL, poll_until_stopped, &polling), 0);
	assert_int_equal(write(fds[1], &byte, 1), 1);
	assert_int_equal(waitpid(seen->judged_pid, NULL, 0), seen->judged_pid);
	sampler_stop(polling.sampler);
	atomic_store(&polling.stopping, true);
	pthread_join(thread, NULL);
	close(fds[0]);
	close(fds[1]);
	assert_int_equal(sampler_counters(polling.sampler, counters), 0);
	assert_int_equal(counters[PFS_COUNTER_EVENTS],
					 counters[PFS_COUNTER_IDLE] + counters[PFS_COUNTER_DROPPED] +
						 counters[PFS_COUNTER_SAMPLES] + counters[PFS_COUNTER_RING_FULL] +
						 counters[PFS_COUNTER_NO_SCRATCH]);
	sampler_free(polling.sampler);
}

/* The first record or a few more arrive before the verdict is set. */
static void
test_dropped(void **state)
{
	uint64_t counters[PFS_COUNTER_COUNT];
	Seen seen = { 0 };

	judge(PFS_VERDICT_DROP, &seen, counters);
	assert_in_range(seen.judged, 1, FREQUENCY_HZ / 4);
	assert_in_range(counters[PFS_COUNTER_DROPPED], FREQUENCY_HZ / 8, FREQUENCY_HZ);
}

static void
test_no_copy(void **state)
{
	uint64_t counters[PFS_COUNTER_COUNT];
	Seen seen = { 0 };

	judge(PFS_VERDICT_NO_COPY, &seen, counters);
	assert_true(seen.judged > FREQUENCY_HZ / 8);
	assert_in_range(seen.judged_with_stack, 1, seen.judged / 2);
	assert_in_range(counters[PFS_COUNTER_LATE_USELESS], seen.judged / 2, seen.judged);
	assert_int_equal(counters[PFS_COUNTER_DROPPED], 0);
}

/* A ring of io_uring, whose work the kernel's threads do for this process. */
typedef struct Uring
{
	int fd;
	struct io_uring_params params;
	char *ring;
	struct io_uring_sqe *entries;
} Uring;

static bool
uring_open(Uring *uring)
{
	memset(uring, 0, sizeof(*uring));
	uring->fd = (int) syscall(__NR_io_uring_setup, 4, &uring->params);
	if (uring->fd < 0 || !(uring->params.features & IORING_FEAT_SINGLE_MMAP))
		return false;
	uring->ring =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, uring->fd, IORING_OFF_SQ_RING);
	uring->entries =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, uring->fd, IORING_OFF_SQES);
	return uring->ring != MAP_FAILED && (void *) uring->entries != MAP_FAILED;
}

static unsigned *
uring_word(const Uring *uring, uint32_t offset)
{
	return (unsigned *) (void *) (uring->ring + offset);
}

/* Reads a file by a worker thread, and waits for the result. */
static void
uring_read(const Uring *uring, int file, void *to, uint32_t length)
{
	const struct io_sqring_offsets *queue = &uring->params.sq_off;
	unsigned tail = *uring_word(uring, queue->tail);
	unsigned slot = tail & *uring_word(uring, queue->ring_mask);

	uring->entries[slot] = (struct io_uring_sqe){ .opcode = IORING_OP_READ,
												  .flags = IOSQE_ASYNC,
												  .fd = file,
												  .addr = (uint64_t) (uintptr_t) to,
												  .len = length };
	uring_word(uring, queue->array)[slot] = slot;
	__atomic_store_n(uring_word(uring, queue->tail), tail + 1, __ATOMIC_RELEASE);
	assert_int_equal(syscall(__NR_io_uring_enter, uring->fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0),
					 1);
	__atomic_store_n(uring_word(uring, uring->params.cq_off.head),
					 __atomic_load_n(uring_word(uring, uring->params.cq_off.tail),
									 __ATOMIC_ACQUIRE),
					 __ATOMIC_RELEASE);
}

/*
 * A thread that works for io_uring has this process's memory but never runs its code: no user side.
 */
static void
test_kernel_worker(void **state)
{
	const SamplerOptions options = { .frequency_hz = FREQUENCY_HZ, .losses = &losses };
	const uint32_t length = 8 << 20;
	Polling polling = { 0 };
	pthread_t thread;
	Failure failure;
	Seen seen = { 0 };
	void *memory = malloc(length);
	int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	uint64_t until;
	Uring uring;

	if (!uring_open(&uring) ||
		sampler_create(&options, on_record, &seen, &polling.sampler, &failure) != EXIT_OK)
		skip();
	assert_int_equal(sampler_attach(polling.sampler, &failure), EXIT_OK);
	assert_int_equal(pthread_create(&thread, NULL, poll_until_stopped, &polling), 0);
	until = (uint64_t) clock_ns(CLOCK_PROCESS_CPUTIME_ID) + SPIN_NS;
	while ((uint64_t) clock_ns(CLOCK_PROCESS_CPUTIME_ID) < until)
		uring_read(&uring, zero, memory, length);
	sampler_stop(polling.sampler);
	atomic_store(&polling.stopping, true);
	pthread_join(thread, NULL);
	assert_true(seen.workers > 0);
	assert_int_equal(seen.workers_with_user_side, 0);
	sampler_free(polling.sampler);
	close(uring.fd);
	close(zero);
	free(memory);
}

/* Kernels before 5.16 do not report the verifier's work, but have the limit of a million, too. */
static void
test_size(void **state)
{
	const SamplerOptions options = { .frequency_hz = FREQUENCY_HZ, .losses = &losses };
	Sampler *sampler;
	SamplerCost cost;
	Failure failure;
	Seen seen = { 0 };

	if (sampler_create(&options, on_record, &seen, &sampler, &failure) != EXIT_OK)
		skip();
	sampler_cost(sampler, &cost);
	sampler_free(sampler);
	print_message("%u instructions, %u verified\n", cost.instructions, cost.instructions_verified);
	assert_in_range(cost.instructions, 1, MOST_INSTRUCTIONS);
	assert_true(cost.instructions_verified <= MOST_VERIFIED);
}

/* A missing feature is reported by its name. */
static void
test_features(void **state)
{
	Feature features[FEATURES_MAX];
	size_t count = features_probe(false, features);
	Failure failure;
	bool all = true;

	assert_true(count > 8);
	for (size_t i = 0; i < count; i++)
	{
		assert_true(features[i].consequence[0] != '\0');
		all = all && (features[i].present || features[i].need != FEATURE_REQUIRED);
	}
	assert_int_equal(features_check(false, &failure), all ? EXIT_OK : EXIT_PRIVILEGE);
}

/*
 * Ticks are counted below, and happen at moments that depend on the scheduler: if other processes
 * want this processor, too, a process gets far more or fewer of them than its share of the time. So
 * this one must not be interrupted.
 */
static int
take_precedence(void **state)
{
	const struct sched_param first = { .sched_priority = 1 };

	if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &first) != 0 &&
		setpriority(PRIO_PROCESS, 0, -20) != 0)
		print_message("without precedence over other processes\n");
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_missed_ticks),  cmocka_unit_test(test_live),
		cmocka_unit_test(test_frequency),	  cmocka_unit_test(test_exclude_self),
		cmocka_unit_test(test_size),		  cmocka_unit_test(test_features),
		cmocka_unit_test(test_dropped),		  cmocka_unit_test(test_no_copy),
		cmocka_unit_test(test_kernel_worker), cmocka_unit_test(test_away_for_a_moment),
		cmocka_unit_test(test_staggered),	  cmocka_unit_test(test_tables_grow),
		cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests(tests, take_precedence, NULL);
}
