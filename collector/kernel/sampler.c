/*
 * sampler.c
 *		Loader of the BPF program, perf events, ring buffer.
 *
 * 1. sampler_create sizes the ring by frequency and CPUs, loads the program, maps its tables.
 * 2. sampler_attach opens an event on each CPU that is online and gives the program to it.
 * 3. sampler_follow_cpus closes and opens events as CPUs go and come.
 * 4. sampler_set_frequency exchanges the period of the events that are open.
 * 5. sampler_stop closes them, after which the ring is emptied.
 *
 * The clock is the software CPU clock: it exists in every virtual machine, and its period is exact.
 */
#include "kernel/sampler.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/perf_event.h>

#include "base/clock.h"
#include "base/log.h"
#include "kernel/bpf_tables.h"
#include "kernel/features.h"
#include "kernel/group_roots.h"
#include "kernel/off_cpu.h"
#include "process/cpu_event.h"
#include "process/cpu_list.h"
#include "process/proc_file.h"
#include "profiler.skel.h"

#define NS_PER_S		   UINT64_C(1000000000)
#define FDINFO_LIMIT_BYTES 4096
#define SPREAD_MOST_NS	   INT64_C(100000000)
/* a tick may be that late when its clock is looked at */
#define TICK_SLACK_NS	   UINT64_C(10000000)
#define SCRATCH_LEVELS	   1 /* programs that may meet on a CPU: the clock's alone … */
#define WITH_WAITS_LEVELS  2 /* … which comes into the one that sees waits */
#define STAT_FILE		   "/proc/stat"
#define STAT_LIMIT_BYTES   (1 << 20)
#define ONLINE_CPUS_FILE   "/sys/devices/system/cpu/online"

/* The ring holds one second of samples of this size each, more than the mean of real stacks. */
#define RING_SAMPLE_BYTES 2048
#define RING_MIN_BYTES	  (1u << 21) /* room for the copies of stacks when all is new */
#define RING_MAX_BYTES	  (1u << 28)

typedef enum CpuState
{
	CPU_OFF,
	CPU_SAMPLED,
	CPU_FAILED, /* online without a perf event; tried again */
} CpuState;

struct Sampler
{
	uint32_t frequency_hz;
	uint32_t asked_hz; /* which self-restraint lowers */
	SamplerHandler handler;
	void *context;
	struct profiler *skeleton;
	OffCpu *off_cpu;
	Probes *probes;
	bool paces_faults; /* page faults are sampled */
	bool tends;		   /* waits or calls are */
	struct ring_buffer *ring;
	KernelTables *tables;
	BpfTableLimits table_limits;
	size_t maps_bytes; /* of the maps that stay as they are */
	struct bpf_link *links[CPU_LIST_MAX];
	int fds[CPU_LIST_MAX]; /* the links' perf events */
	CpuEventClock clocks[CPU_LIST_MAX];
	uint8_t states[CPU_LIST_MAX]; /* CpuState */
	uint64_t periods_ns[CPU_LIST_MAX];
	uint64_t ended_ticks; /* that were due by clocks that are no more */
	uint64_t missed_ticks;
	uint64_t missing_ticks; /* at the last look */
	uint64_t reopened;
	int possible_cpus;
};

static int
on_record(void *context, void *record, size_t length_bytes)
{
	Sampler *sampler = context;

	sampler->handler(sampler->context, record, length_bytes);
	return 0;
}

/*
 * Kernels before 5.11 charge BPF memory against this limit; later ones ignore it, so failure is no
 * matter.
 */
static void
raise_memlock(void)
{
	struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };

	if (setrlimit(RLIMIT_MEMLOCK, &limit) != 0)
		log_event(LOG_DEBUG, "sampler", "could not raise the limit of locked memory",
				  log_text("detail", strerror(errno)));
}

uint32_t
sampler_ring_bytes(uint32_t frequency_hz, uint32_t cpus, size_t memory_bytes)
{
	uint64_t wanted = (uint64_t) frequency_hz * cpus * RING_SAMPLE_BYTES;
	uint64_t bytes = RING_MIN_BYTES;

	while (bytes < wanted && bytes < RING_MAX_BYTES && 2 * bytes <= memory_bytes / 8)
		bytes *= 2;
	return (uint32_t) bytes;
}

/* The kernel's own account of a map. */
static size_t
map_memory(int fd)
{
	char path[64];
	char *text;
	const char *line;
	size_t bytes = 0;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	if (proc_file_read(path, FDINFO_LIMIT_BYTES, &text, NULL) != 0)
		return 0;
	line = strstr(text, "memlock:");
	if (line != NULL)
		bytes = strtoull(line + strlen("memlock:"), NULL, 10);
	free(text);
	return bytes;
}

static size_t
maps_memory(const Sampler *sampler)
{
	size_t bytes = 0;
	struct bpf_map *map;

	bpf_object__for_each_map(map, sampler->skeleton->obj) bytes += map_memory(bpf_map__fd(map));
	return bytes;
}

size_t
sampler_kernel_bytes(const Sampler *sampler)
{
	return sampler->maps_bytes + bpf_tables_bytes(sampler->tables);
}

static ExitCode
load_program(Sampler *sampler, const SamplerOptions *options, Failure *failure)
{
	uint32_t bytes = sampler_ring_bytes(sampler->frequency_hz, (uint32_t) sampler->possible_cpus,
										options->memory_bytes);
	const OffCpuOptions off_cpu = {
		.period_ns = options->off_cpu_period_ns,
		.samples_a_second = options->off_cpu_rate,
		.interval_ns = options->interval_ns,
		.switches_a_second = options->off_cpu_switches,
		.handler = options->on_wait != NULL ? options->on_wait : sampler->handler,
		.context = sampler->context,
	};
	uint32_t levels = off_cpu.period_ns > 0 ? WITH_WAITS_LEVELS : SCRATCH_LEVELS;
	uint32_t scratches = (uint32_t) sampler->possible_cpus * levels;
	uint32_t all_scratches = scratches + (off_cpu.period_ns > 0) +
							 probes_slots(&options->probes, sampler->possible_cpus);
	int result;

	sampler->skeleton = profiler__open();
	if (sampler->skeleton == NULL)
	{
		failure_set(failure, EXIT_BPF, "could not open the BPF program");
		failure_detail(failure, "%s.", strerror(errno));
		return failure->code;
	}
	sampler->skeleton->rodata->pfs_wakeup_bytes = bytes / 4;
	sampler->skeleton->rodata->pfs_late_limit_bytes = bytes / 2;
	sampler->skeleton->rodata->pfs_excluded_pid = options->exclude_self ? (uint32_t) getpid() : 0;
	sampler->skeleton->rodata->pfs_controller = options->controller;
	sampler->skeleton->rodata->pfs_levels = levels;
	if (off_cpu_create(sampler->skeleton, &off_cpu, scratches, &sampler->off_cpu, failure) !=
		EXIT_OK)
		return failure->code;
	if (probes_create(sampler->skeleton, &options->probes, scratches + (off_cpu.period_ns > 0),
					  &sampler->probes, failure) != EXIT_OK)
		return failure->code;
	sampler->paces_faults = options->probes.page_faults;
	sampler->tends = off_cpu.period_ns > 0 || options->probes.file_count > 0;
	bpf_table_limits(options->memory_bytes / 4, options->max_mappings, options->max_code_bytes,
					 &sampler->table_limits);
	bpf_map__set_max_entries(sampler->skeleton->maps.pfs_lines, sampler->table_limits.chunks);
	bpf_map__set_max_entries(sampler->skeleton->maps.pfs_ring, bytes);
	bpf_map__set_max_entries(sampler->skeleton->maps.pfs_scratches, all_scratches);
	(void) bpf_program__set_autoload(sampler->skeleton->progs.pfs_read_group_root,
									 group_roots_wanted());
	result = profiler__load(sampler->skeleton);
	if (result == 0)
	{
		if (group_roots_wanted())
			group_roots_find(sampler->skeleton);
		return EXIT_OK;
	}
	if (result == -EPERM && features_check(options->allow_unsafe_kernel, failure) != EXIT_OK)
		return failure->code;
	failure_set(failure, EXIT_BPF, "could not load the BPF program");
	failure_detail(failure, "%s.", strerror(-result));
	failure_hint(failure, "Run \"profstore-collector check\", or again with --log-level debug to "
						  "see what the kernel's verifier says.");
	return failure->code;
}

static ExitCode
map_tables(Sampler *sampler, Failure *failure)
{
	const BpfTableMaps maps = {
		.lines = bpf_map__fd(sampler->skeleton->maps.pfs_lines),
		.entries = bpf_map__fd(sampler->skeleton->maps.pfs_entries),
		.mappings = bpf_map__fd(sampler->skeleton->maps.pfs_mappings),
		.rules = bpf_map__fd(sampler->skeleton->maps.pfs_rules),
		.recent = bpf_map__fd(sampler->skeleton->maps.pfs_recent),
		.processes = bpf_map__fd(sampler->skeleton->maps.pfs_processes),
	};
	int result = bpf_tables_create(&maps, &sampler->table_limits, &sampler->tables);

	sampler->maps_bytes = maps_memory(sampler);

	if (result == 0)
		return EXIT_OK;
	failure_set(failure, EXIT_BPF, "could not map the unwind tables");
	failure_detail(failure, "%s.", strerror(-result));
	return failure->code;
}

ExitCode
sampler_create(const SamplerOptions *options, SamplerHandler handler, void *context,
			   Sampler **result, Failure *failure)
{
	Sampler *sampler;
	ExitCode code;

	libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
	code = features_check(options->allow_unsafe_kernel, failure);
	if (code != EXIT_OK)
		return code;
	sampler = calloc(1, sizeof(*sampler));
	if (sampler == NULL)
		return failure_set(failure, EXIT_INTERNAL, "out of memory");
	sampler->frequency_hz = options->frequency_hz;
	sampler->asked_hz = options->frequency_hz;
	sampler->handler = handler;
	sampler->context = context;
	sampler->possible_cpus = libbpf_num_possible_cpus();
	raise_memlock();
	code = load_program(sampler, options, failure);
	if (code == EXIT_OK)
		code = map_tables(sampler, failure);
	if (code == EXIT_OK)
	{
		sampler->ring = ring_buffer__new(bpf_map__fd(sampler->skeleton->maps.pfs_ring), on_record,
										 sampler, NULL);
		if (sampler->ring == NULL)
		{
			code = failure_set(failure, EXIT_BPF, "could not map the ring buffer");
			failure_detail(failure, "%s.", strerror(errno));
		}
	}
	if (code != EXIT_OK)
	{
		sampler_free(sampler);
		return code;
	}
	*result = sampler;
	return EXIT_OK;
}

void
sampler_free(Sampler *sampler)
{
	if (sampler == NULL)
		return;
	sampler_stop(sampler);
	off_cpu_free(sampler->off_cpu);
	probes_free(sampler->probes);
	ring_buffer__free(sampler->ring);
	bpf_tables_free(sampler->tables);
	profiler__destroy(sampler->skeleton);
	free(sampler);
}

/*
 * CPUs that tick at the same moment would all want the same cache lines, and fill the ring, at
 * once: their clocks begin one after the other, spread over a period or what may be waited for.
 */
static void
wait_for_turn(int64_t begin_ns, uint32_t frequency_hz, uint32_t turn, uint32_t turns)
{
	int64_t spread_ns = (int64_t) (NS_PER_S / frequency_hz);
	struct timespec until;

	if (spread_ns > SPREAD_MOST_NS)
		spread_ns = SPREAD_MOST_NS;
	begin_ns += spread_ns * turn / turns;
	until = (struct timespec){ begin_ns / (int64_t) NS_PER_S, begin_ns % (int64_t) NS_PER_S };
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
}

/* Ticks that a CPU's clock owed us when it was looked at last. */
static uint64_t
ticks_due(const Sampler *sampler, uint32_t cpu)
{
	uint64_t period_ns = sampler->periods_ns[cpu];
	uint64_t slack_ns = period_ns / 2 < TICK_SLACK_NS ? period_ns / 2 : TICK_SLACK_NS;

	if (sampler->links[cpu] == NULL || sampler->clocks[cpu].enabled_ns < slack_ns)
		return 0;
	return (sampler->clocks[cpu].enabled_ns - slack_ns) / period_ns;
}

/*
 * The kernel does not run our program while another BPF program, or a call that changes a map, is
 * under way on the CPU, and says nothing of it. Nor do ticks come while interrupts are off for
 * longer than a period.
 */
static void
count_missed_ticks(Sampler *sampler)
{
	uint64_t due = sampler->ended_ticks;
	uint64_t counters[PFS_COUNTER_COUNT];
	uint64_t missed;
	uint64_t ticks;

	for (uint32_t cpu = 0; cpu < CPU_LIST_MAX; cpu++)
		due += ticks_due(sampler, cpu);
	if (sampler_counters(sampler, counters) != 0)
		return;
	ticks = counters[PFS_COUNTER_EVENTS] - counters[PFS_COUNTER_WAITS] -
			counters[PFS_COUNTER_FAULTS] - counters[PFS_COUNTER_ALLOCATIONS];
	/* counters are read one after the other: what two looks agree on has been missed */
	missed = due > ticks ? due - ticks : 0;
	if (missed > sampler->missed_ticks && sampler->missing_ticks > sampler->missed_ticks)
		sampler->missed_ticks = MIN(missed, sampler->missing_ticks);
	sampler->missing_ticks = missed;
}

/* The CPU's clock is to be closed: what it owed counts on. */
static void
end_clock(Sampler *sampler, uint32_t cpu)
{
	if (sampler->links[cpu] == NULL)
		return;
	(void) cpu_event_lives(sampler->fds[cpu], &sampler->clocks[cpu]);
	sampler->ended_ticks += ticks_due(sampler, cpu);
	bpf_link__destroy(sampler->links[cpu]);
	sampler->links[cpu] = NULL;
}

/*
 * Opens the clock of one CPU and attaches the program, in the place of the clock that it had. 0 or
 * -errno.
 */
static int
attach_cpu(Sampler *sampler, uint32_t cpu)
{
	struct perf_event_attr attributes = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attributes),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = NS_PER_S / sampler->frequency_hz,
	};
	struct bpf_link *link;
	int fd = cpu_event_open(&attributes, cpu);

	if (fd < 0)
		return fd;
	link = bpf_program__attach_perf_event(sampler->skeleton->progs.pfs_on_cpu, fd);
	if (link == NULL)
	{
		int result = -errno;

		close(fd);
		return result;
	}
	end_clock(sampler, cpu);
	sampler->links[cpu] = link; /* owns the descriptor */
	sampler->periods_ns[cpu] = attributes.sample_period;
	sampler->fds[cpu] = fd;
	sampler->clocks[cpu] = (CpuEventClock){ 0 };
	return 0;
}

static void
detach_cpu(Sampler *sampler, uint32_t cpu)
{
	end_clock(sampler, cpu);
	sampler->states[cpu] = CPU_OFF;
	if (sampler->probes != NULL)
		probes_detach_cpu(sampler->probes, cpu);
}

void
sampler_set_frequency(Sampler *sampler, uint32_t frequency_hz)
{
	int64_t begin_ns = clock_ns(CLOCK_MONOTONIC);
	uint32_t cpus = sampler_cpu_count(sampler);
	uint32_t turn = 0;

	sampler->frequency_hz = frequency_hz;
	off_cpu_look_less(sampler->off_cpu, frequency_hz, sampler->asked_hz);
	probes_look_less(sampler->probes, frequency_hz, sampler->asked_hz);
	for (uint32_t cpu = 0; cpu < CPU_LIST_MAX; cpu++)
	{
		int result;

		if (sampler->states[cpu] != CPU_SAMPLED)
			continue;
		wait_for_turn(begin_ns, frequency_hz, turn++, cpus);
		result = attach_cpu(sampler, cpu);
		if (result != 0)
			log_event(LOG_WARNING, "sampler", "could not change a CPU's frequency",
					  log_number("cpu", cpu), log_text("detail", strerror(-result)));
	}
}

void
sampler_set_verdict(const Sampler *sampler, const ExecImage *image, uint32_t verdict)
{
	/* who is judged is no longer young */
	struct pfs_image record = { image->start_time_ns, image->exec_id, UINT32_MAX / 2, verdict };
	uint32_t pid = image->pid;

	if (verdict & PFS_VERDICT_DROP)
		sampler->skeleton->bss->pfs_drops = 1;
	if (bpf_map_update_elem(bpf_map__fd(sampler->skeleton->maps.pfs_images), &pid, &record,
							BPF_ANY) != 0)
		log_event(LOG_DEBUG, "sampler", "could not tell a verdict on a process",
				  log_number("pid", pid), log_text("detail", strerror(errno)));
}

ExitCode
sampler_attach(Sampler *sampler, Failure *failure)
{
	uint32_t failed = sampler_follow_cpus(sampler);
	ExitCode code;

	if (sampler_cpu_count(sampler) > 0)
	{
		code = off_cpu_attach(sampler->off_cpu, failure);
		return code == EXIT_OK ? probes_attach(sampler->probes, failure) : code;
	}
	failure_set(failure, EXIT_BPF, "could not open a perf event on any CPU");
	failure_detail(failure, "%u online CPUs were tried.", failed);
	failure_hint(failure, "Run \"profstore-collector check\" to see what is missing.");
	return failure->code;
}

/* A CPU that is online has an event that lives, or is told of once. */
static void
follow_cpu(Sampler *sampler, uint32_t cpu)
{
	CpuState before = sampler->states[cpu];
	int result;

	if (before == CPU_SAMPLED)
	{
		if (cpu_event_lives(sampler->fds[cpu], &sampler->clocks[cpu]))
			return;
		sampler->reopened++;
		log_event(LOG_INFO, "sampler", "a CPU was away, and is sampled again",
				  log_number("cpu", cpu));
	}
	result = attach_cpu(sampler, cpu);
	if (result == 0)
		result = probes_attach_cpu(sampler->probes, cpu);
	if (result == 0)
		sampler->states[cpu] = CPU_SAMPLED;
	else
	{
		detach_cpu(sampler, cpu);
		sampler->states[cpu] = CPU_FAILED;
		if (before != CPU_FAILED)
			log_event(LOG_WARNING, "sampler", "could not sample a CPU", log_number("cpu", cpu),
					  log_text("detail", strerror(-result)));
	}
}

static uint32_t
count_cpus(const CpuList *list)
{
	uint32_t count = 0;

	for (uint32_t cpu = 0; cpu < CPU_LIST_MAX; cpu++)
		count += cpu_list_has(list, cpu);
	return count;
}

uint32_t
sampler_follow_cpus(Sampler *sampler)
{
	int64_t begin_ns = clock_ns(CLOCK_MONOTONIC);
	CpuList online;
	uint32_t failed = 0;
	uint32_t turn = 0;
	int result = cpu_list_read(ONLINE_CPUS_FILE, &online);

	if (result != 0)
	{
		log_event(LOG_WARNING, "sampler", "could not read the list of online CPUs",
				  log_text("detail", strerror(-result)));
		return 0;
	}
	for (uint32_t cpu = 0; cpu < CPU_LIST_MAX; cpu++)
	{
		if (!cpu_list_has(&online, cpu))
		{
			if (sampler->states[cpu] != CPU_OFF)
				detach_cpu(sampler, cpu);
			continue;
		}
		if (sampler->states[cpu] == CPU_OFF)
			wait_for_turn(begin_ns, sampler->frequency_hz, turn, count_cpus(&online));
		turn++;
		follow_cpu(sampler, cpu);
		failed += sampler->states[cpu] == CPU_FAILED;
	}
	count_missed_ticks(sampler);
	return failed;
}

uint64_t
sampler_missed_ticks(const Sampler *sampler)
{
	return sampler->missed_ticks;
}

uint64_t
sampler_reopened(const Sampler *sampler)
{
	return sampler->reopened;
}

uint32_t
sampler_cpu_count(const Sampler *sampler)
{
	uint32_t count = 0;

	for (uint32_t cpu = 0; cpu < CPU_LIST_MAX; cpu++)
		count += sampler->states[cpu] == CPU_SAMPLED;
	return count;
}

void
sampler_tend_waits(Sampler *sampler)
{
	off_cpu_tend(sampler->off_cpu);
}

/* Switches of all CPUs since the machine started; 0 where the kernel does not say. */
static uint64_t
count_switches(void)
{
	char *text;
	const char *line;
	uint64_t switches = 0;

	if (proc_file_read(STAT_FILE, STAT_LIMIT_BYTES, &text, NULL) != 0)
		return 0;
	line = strstr(text, "\nctxt ");
	if (line != NULL)
		switches = strtoull(line + strlen("\nctxt "), NULL, 10);
	free(text);
	return switches;
}

void
sampler_pace(Sampler *sampler, int64_t now_ns)
{
	uint64_t counters[PFS_COUNTER_COUNT];

	if (sampler->paces_faults && sampler_counters(sampler, counters) == 0)
		probes_pace_faults(sampler->probes, counters, now_ns);
}

bool
sampler_has_tending(const Sampler *sampler)
{
	return sampler->tends;
}

void
sampler_pace_tended(Sampler *sampler, int64_t now_ns)
{
	uint64_t counters[PFS_COUNTER_COUNT];

	if (!sampler->tends || sampler_counters(sampler, counters) != 0)
		return;
	off_cpu_pace(sampler->off_cpu, counters[PFS_COUNTER_WAITS], count_switches(), now_ns);
	probes_pace_calls(sampler->probes, counters, now_ns);
}

void
sampler_end_waits(Sampler *sampler)
{
	off_cpu_end(sampler->off_cpu);
}

uint64_t
sampler_unread_waits(const Sampler *sampler)
{
	return off_cpu_unread(sampler->off_cpu);
}

uint64_t
sampler_longest_wait_period_ns(const Sampler *sampler)
{
	return off_cpu_longest_period_ns(sampler->off_cpu);
}

uint32_t
sampler_fewest_switches(const Sampler *sampler)
{
	return off_cpu_fewest_switches(sampler->off_cpu);
}

void
sampler_probe_stats(const Sampler *sampler, ProbeStats *stats)
{
	probes_stats(sampler->probes, stats);
}

void
sampler_stop(Sampler *sampler)
{
	if (sampler->off_cpu != NULL)
		off_cpu_detach(sampler->off_cpu);
	probes_detach(sampler->probes);
	for (uint32_t cpu = 0; cpu < CPU_LIST_MAX; cpu++)
		detach_cpu(sampler, cpu);
}

int
sampler_descriptor(const Sampler *sampler)
{
	return ring_buffer__epoll_fd(sampler->ring);
}

int
sampler_poll(Sampler *sampler, int timeout_ms)
{
	int result = timeout_ms != 0 ? ring_buffer__poll(sampler->ring, timeout_ms) : 0;

	/* the program seldom wakes us: on a timeout there may be records all the same */
	if (result == 0)
		result = ring_buffer__consume(sampler->ring);
	return result == -EINTR ? 0 : result;
}

KernelTables *
sampler_tables(Sampler *sampler)
{
	return sampler->tables;
}

int
sampler_counters(const Sampler *sampler, uint64_t counters[PFS_COUNTER_COUNT])
{
	int map = bpf_map__fd(sampler->skeleton->maps.pfs_counters);
	uint64_t *values = calloc((size_t) sampler->possible_cpus, sizeof(*values));

	if (values == NULL)
		return -ENOMEM;
	for (uint32_t counter = 0; counter < PFS_COUNTER_COUNT; counter++)
	{
		counters[counter] = 0;
		if (bpf_map_lookup_elem(map, &counter, values) != 0)
			continue;
		for (int cpu = 0; cpu < sampler->possible_cpus; cpu++)
			counters[counter] += values[cpu];
	}
	free(values);
	return 0;
}

uint64_t
sampler_foreign_ns(const uint64_t counters[PFS_COUNTER_COUNT])
{
	return counters[PFS_COUNTER_TIME_NS] + counters[PFS_COUNTER_LOOK_NS] +
		   counters[PFS_COUNTER_CALLS] * PROBE_CALL_NS;
}

void
sampler_cost(const Sampler *sampler, SamplerCost *cost)
{
	struct bpf_prog_info info = { 0 };
	uint32_t length = sizeof(info);

	*cost = (SamplerCost){ 0 };
	if (bpf_obj_get_info_by_fd(bpf_program__fd(sampler->skeleton->progs.pfs_on_cpu), &info,
							   &length) == 0)
		*cost =
			(SamplerCost){ info.run_cnt, info.run_time_ns,
						   info.xlated_prog_len / sizeof(struct bpf_insn), info.verified_insns };
}
