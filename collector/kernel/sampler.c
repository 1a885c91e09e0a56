/*
 * sampler.c
 *		Loads the BPF programs with their sources and the ring buffer.
 *
 * 1. sampler_create() sizes the ring by frequency and CPUs, lets the sources prepare their
 *    programs, loads them and maps the tables.
 * 2. sampler_attach() attaches the sources to each online CPU, then those that watch the whole
 *    machine.
 * 3. sampler_follow_cpus() closes and opens events as CPUs go offline and online.
 * 4. sampler_set_frequency() restrains all sources, including the clock.
 * 5. sampler_stop() detaches them, after which the ring is emptied.
 */
#include "kernel/sampler.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/clock.h"
#include "base/log.h"
#include "kernel/bpf_tables.h"
#include "kernel/features.h"
#include "kernel/group_roots.h"
#include "process/cpu_list.h"
#include "process/proc_file.h"
#include "profiler.skel.h"

#define FDINFO_LIMIT_BYTES 4096
#define ONLINE_CPUS_FILE   "/sys/devices/system/cpu/online"

/* The ring holds one second of samples of this size, which is above the mean of real samples. */
#define RING_SAMPLE_BYTES 2048
/* room for copies of stacks while all code is new to the agent */
#define RING_MIN_BYTES	  (1u << 21)
#define RING_MAX_BYTES	  (1u << 28)

typedef enum CpuState
{
	CPU_OFF,
	CPU_SAMPLED,
	CPU_FAILED, /* the CPU is online but its perf event cannot be opened; it is tried again */
} CpuState;

struct Sampler
{
	SourceHost host;
	Source *sources[SOURCE_COUNT]; /* NULL: the source was not requested */
	RecordHandler handler;
	void *context;
	struct profiler *skeleton;
	struct ring_buffer *ring;
	KernelTables *tables;
	BpfTableLimits table_limits;
	size_t maps_bytes;			  /* bytes of the maps of constant size */
	uint8_t states[CPU_LIST_MAX]; /* CpuState */
	uint32_t failed_cpus;		  /* number of CPUs in state CPU_FAILED at the last check */
	/* values of the counters that were already added to the losses */
	uint64_t counted[PFS_COUNTER_COUNT];
};

/*
 * Runs the following block for each requested source whose table entry has this function; i is the
 * source's number.
 */
#define foreach_source(i, sampler, function)  \
	for (size_t i = 0; i < SOURCE_COUNT; i++) \
		if ((sampler)->sources[i] != NULL && sample_sources[i]->function != NULL)

static int
on_record(void *context, void *record, size_t length_bytes)
{
	Sampler *sampler = context;

	sampler->handler(sampler->context, record, length_bytes);
	return 0;
}

/*
 * Raises the limit of locked memory, against which kernels before 5.11 charge BPF memory. Later
 * kernels ignore the limit, so a failure is not reported.
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

	/*
	 * The kernel wants a power of two. Above its minimum the ring takes at most an eighth of the
	 * memory.
	 */
	while (bytes < wanted && bytes < RING_MAX_BYTES && 2 * bytes <= memory_bytes / 8)
		bytes *= 2;
	return (uint32_t) bytes;
}

/* Returns the memory that the kernel accounts for a map. */
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

static bool
source_wanted(const Sampler *sampler, size_t number)
{
	const SampleSource *row = sample_sources[number];

	return row->wanted == NULL || row->wanted(&sampler->host.settings);
}

/*
 * Lets all requested sources prepare their programs, and computes the number of scratches: for each
 * CPU one for each level of nesting, then the scratches of the sources.
 */
static ExitCode
prepare_sources(Sampler *sampler, Failure *failure)
{
	uint32_t levels = 0;
	uint32_t slot;

	for (size_t i = 0; i < SOURCE_COUNT; i++)
	{
		bool wanted = source_wanted(sampler, i);

		levels += wanted ? sample_sources[i]->levels : 0;
		if (sample_sources[i]->choose != NULL)
			sample_sources[i]->choose(sampler->skeleton, wanted);
	}
	sampler->skeleton->rodata->pfs_levels = levels;
	/*
	 * The first scratches are those of the levels, so the sources' own scratches begin behind them.
	 */
	slot = (uint32_t) sampler->host.possible_cpus * levels;
	for (size_t i = 0; i < SOURCE_COUNT; i++)
	{
		const SampleSource *row = sample_sources[i];

		if (!source_wanted(sampler, i))
			continue;
		if (row->prepare(&sampler->host, slot, &sampler->sources[i], failure) != EXIT_OK)
			return failure->code;
		slot += row->slots != NULL ? row->slots(sampler->host.possible_cpus) : 0;
	}
	bpf_map__set_max_entries(sampler->skeleton->maps.pfs_scratches, slot);
	return EXIT_OK;
}

/*
 * Opens the BPF programs, sets constants and sizes of maps, and loads them. If the kernel refuses
 * for lack of permission, the missing capabilities are reported.
 */
static ExitCode
load_program(Sampler *sampler, const SamplerOptions *options, Failure *failure)
{
	uint32_t bytes =
		sampler_ring_bytes(options->frequency_hz, (uint32_t) sampler->host.possible_cpus,
						   options->memory_bytes);
	int result;

	sampler->skeleton = profiler__open();
	if (sampler->skeleton == NULL)
	{
		failure_set(failure, EXIT_BPF, "could not open the BPF program");
		failure_detail(failure, "%s.", strerror(errno));
		return failure->code;
	}
	sampler->host.skeleton = sampler->skeleton;
	/*
	 * Wake the collector early, and copy no stacks into the second half of the ring, so that copies
	 * do not take the room of samples.
	 */
	sampler->skeleton->rodata->pfs_wakeup_bytes = bytes / 4;
	sampler->skeleton->rodata->pfs_late_limit_bytes = bytes / 2;
	sampler->skeleton->rodata->pfs_excluded_pid = options->exclude_self ? (uint32_t) getpid() : 0;
	sampler->skeleton->rodata->pfs_controller = options->controller;
	if (prepare_sources(sampler, failure) != EXIT_OK)
		return failure->code;
	bpf_table_limits(options->memory_bytes / 4, options->max_mappings, options->max_code_bytes,
					 &sampler->table_limits);
	bpf_map__set_max_entries(sampler->skeleton->maps.pfs_lines, sampler->table_limits.chunks);
	bpf_map__set_max_entries(sampler->skeleton->maps.pfs_ring, bytes);
	/*
	 * Only a container has paths of control groups to complete, so elsewhere this program is not
	 * loaded.
	 */
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
	failure_hint(failure, "Run \"profstore-collector check\", or use --log-level debug to "
						  "see the messages of the kernel's verifier.");
	return failure->code;
}

/* Maps the unwind tables into this process. */
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
		.runtimes = bpf_map__fd(sampler->skeleton->maps.pfs_runtimes),
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
sampler_create(const SamplerOptions *options, RecordHandler handler, void *context,
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
		return failure_out_of_memory(failure);
	sampler->handler = handler;
	sampler->context = context;
	sampler->host = (SourceHost){
		.settings = options->sources,
		.frequency_hz = options->frequency_hz,
		.interval_ns = options->interval_ns,
		.possible_cpus = libbpf_num_possible_cpus(),
		.losses = options->losses,
		/* Without a handler of their own, ongoing waits are handled like records of the ring. */
		.on_tended = options->on_tended != NULL ? options->on_tended : handler,
		.context = context,
	};
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
	/* A sampler whose start has failed was not stopped. */
	sampler_stop(sampler);
	foreach_source(i, sampler, free)
		sample_sources[i]->free(sampler->sources[i]);
	ring_buffer__free(sampler->ring);
	bpf_tables_free(sampler->tables);
	profiler__destroy(sampler->skeleton);
	free(sampler);
}

/* Attaches the sources that sample each CPU. Returns 0 or -errno. */
static int
attach_cpu(Sampler *sampler, uint32_t cpu, const CpuTurn *turn)
{
	foreach_source(i, sampler, attach_cpu)
	{
		int result = sample_sources[i]->attach_cpu(sampler->sources[i], cpu, turn);

		if (result != 0)
			return result;
	}
	return 0;
}

static void
detach_cpu(Sampler *sampler, uint32_t cpu)
{
	foreach_source(i, sampler, detach_cpu)
		sample_sources[i]->detach_cpu(sampler->sources[i], cpu);
	sampler->states[cpu] = CPU_OFF;
}

static bool
cpu_lives(Sampler *sampler, uint32_t cpu)
{
	bool lives = true;

	foreach_source(i, sampler, cpu_lives)
		lives = sample_sources[i]->cpu_lives(sampler->sources[i], cpu) && lives;
	return lives;
}

void
sampler_set_frequency(Sampler *sampler, uint32_t frequency_hz)
{
	foreach_source(i, sampler, restrain)
		sample_sources[i]->restrain(sampler->sources[i], frequency_hz, sampler->host.frequency_hz);
}

void
sampler_set_verdict(const Sampler *sampler, const ExecImage *image, uint32_t verdict)
{
	/* a process with a verdict is not reported as new */
	struct pfs_image record = { image->start_time_ns, image->exec_id, UINT32_MAX / 2, verdict };
	uint32_t pid = image->pid;

	/*
	 * Until the first drop the BPF program need not look verdicts up for images that are described.
	 */
	if (verdict & PFS_VERDICT_DROP)
		sampler->skeleton->bss->pfs_drops = 1;
	if (bpf_map_update_elem(bpf_map__fd(sampler->skeleton->maps.pfs_images), &pid, &record,
							BPF_ANY) != 0)
		log_event(LOG_DEBUG, "sampler", "could not store in the kernel whether to sample a process",
				  log_number("pid", pid), log_text("detail", strerror(errno)));
}

ExitCode
sampler_attach(Sampler *sampler, Failure *failure)
{
	uint32_t failed = sampler_follow_cpus(sampler);

	/* A run without some CPUs is useful, and their number is counted; a run without any is not. */
	if (sampler_cpu_count(sampler) == 0)
	{
		failure_set(failure, EXIT_BPF, "could not open a perf event on any CPU");
		failure_detail(failure, "Tried %u online CPUs.", failed);
		failure_hint(failure, "Run \"profstore-collector check\" to see what is missing.");
		return failure->code;
	}
	foreach_source(i, sampler, attach)
	{
		ExitCode code = sample_sources[i]->attach(sampler->sources[i], failure);

		if (code != EXIT_OK)
			return code;
	}
	return EXIT_OK;
}

/*
 * Starts to sample an online CPU that is not sampled, which includes one that was offline for a
 * moment. A CPU that cannot be sampled is logged once.
 */
static void
follow_cpu(Sampler *sampler, uint32_t cpu, const CpuTurn *turn)
{
	CpuState before = sampler->states[cpu];
	int result;

	if (before == CPU_SAMPLED)
	{
		if (cpu_lives(sampler, cpu))
			return;
		losses_add(sampler->host.losses, LOSS_CPU_REOPENED, 1);
		log_event(LOG_INFO, "sampler", "sampling a CPU again after it was offline",
				  log_number("cpu", cpu));
	}
	result = attach_cpu(sampler, cpu, before == CPU_OFF ? turn : NULL);
	if (result == 0)
		sampler->states[cpu] = CPU_SAMPLED;
	else
	{
		/* A source may have been attached before another one failed. */
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
	CpuTurn turn = { .begin_ns = clock_ns(CLOCK_MONOTONIC) };
	uint64_t counters[PFS_COUNTER_COUNT];
	CpuList online;
	int result = cpu_list_read(ONLINE_CPUS_FILE, &online);

	sampler->failed_cpus = 0;
	if (result != 0)
	{
		log_event(LOG_WARNING, "sampler", "could not read the list of online CPUs",
				  log_text("detail", strerror(-result)));
		return 0;
	}
	turn.count = count_cpus(&online);
	for (uint32_t cpu = 0; cpu < CPU_LIST_MAX; cpu++)
	{
		if (!cpu_list_has(&online, cpu))
		{
			/* Close the CPU's events, so that they are opened anew when the CPU comes back. */
			if (sampler->states[cpu] != CPU_OFF)
				detach_cpu(sampler, cpu);
			continue;
		}
		follow_cpu(sampler, cpu, &turn);
		turn.number++;
		sampler->failed_cpus += sampler->states[cpu] == CPU_FAILED;
	}
	/*
	 * Read the counters last, because sources compare them with the clocks that were just followed.
	 */
	if (sampler_counters(sampler, counters) == 0)
	{
		foreach_source(i, sampler, followed)
			sample_sources[i]->followed(sampler->sources[i], counters);
	}
	return sampler->failed_cpus;
}

uint32_t
sampler_cpu_count(const Sampler *sampler)
{
	uint32_t count = 0;

	for (uint32_t cpu = 0; cpu < CPU_LIST_MAX; cpu++)
		count += sampler->states[cpu] == CPU_SAMPLED;
	return count;
}

bool
sampler_has_tending(const Sampler *sampler)
{
	for (size_t i = 0; i < SOURCE_COUNT; i++)
	{
		if (sampler->sources[i] != NULL && sample_sources[i]->is_tended)
			return true;
	}
	return false;
}

void
sampler_tend(Sampler *sampler)
{
	foreach_source(i, sampler, tend)
		sample_sources[i]->tend(sampler->sources[i], false);
}

void
sampler_end_tending(Sampler *sampler)
{
	foreach_source(i, sampler, tend)
		sample_sources[i]->tend(sampler->sources[i], true);
}

/*
 * Calls the sources' pace functions. The counters are read once, and only if a source needs them.
 */
static void
pace_sources(Sampler *sampler, bool tended, int64_t now_ns)
{
	uint64_t counters[PFS_COUNTER_COUNT];
	bool known = false;

	foreach_source(i, sampler, pace)
	{
		if (sample_sources[i]->is_tended != tended)
			continue;
		if (!known && sampler_counters(sampler, counters) != 0)
			return;
		known = true;
		sample_sources[i]->pace(sampler->sources[i], counters, now_ns);
	}
}

void
sampler_pace(Sampler *sampler, int64_t now_ns)
{
	pace_sources(sampler, false, now_ns);
}

void
sampler_pace_tended(Sampler *sampler, int64_t now_ns)
{
	pace_sources(sampler, true, now_ns);
}

void
sampler_count_losses(Sampler *sampler)
{
	static const struct
	{
		enum pfs_counter counter;
		Loss loss;
	} pairs[] = {
#define COUNTER_LOSS(identifier, name, what) { PFS_COUNTER_##identifier, LOSS_##identifier },
		PFS_LOSS_COUNTERS(COUNTER_LOSS)
#undef COUNTER_LOSS
	};
	uint64_t counters[PFS_COUNTER_COUNT];

	if (sampler_counters(sampler, counters) != 0)
		return;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
	{
		enum pfs_counter counter = pairs[i].counter;

		losses_add(sampler->host.losses, pairs[i].loss,
				   counters[counter] - sampler->counted[counter]);
		sampler->counted[counter] = counters[counter];
	}
	losses_add(sampler->host.losses, LOSS_CPU_NOT_SAMPLED, sampler->failed_cpus);
}

void
sampler_stop(Sampler *sampler)
{
	foreach_source(i, sampler, detach)
		sample_sources[i]->detach(sampler->sources[i]);
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

	/* the BPF program rarely wakes us, so there may be records even after a timeout */
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
	uint64_t *values = calloc((size_t) sampler->host.possible_cpus, sizeof(*values));

	if (values == NULL)
		return -ENOMEM;
	for (uint32_t counter = 0; counter < PFS_COUNTER_COUNT; counter++)
	{
		counters[counter] = 0;
		if (bpf_map_lookup_elem(map, &counter, values) != 0)
			continue;
		/*
		 * The kernel returns a value for each possible CPU, so ticks of CPUs that are offline still
		 * count.
		 */
		for (int cpu = 0; cpu < sampler->host.possible_cpus; cpu++)
			counters[counter] += values[cpu];
	}
	free(values);
	return 0;
}

uint64_t
sampler_foreign_ns(const uint64_t counters[PFS_COUNTER_COUNT])
{
	uint64_t ns = counters[PFS_COUNTER_TIME_NS];

	for (size_t i = 0; i < SOURCE_COUNT; i++)
	{
		if (sample_sources[i]->looking_ns != NULL)
			ns += sample_sources[i]->looking_ns(counters);
	}
	return ns;
}

size_t
sampler_figures(const Sampler *sampler, const uint64_t counters[PFS_COUNTER_COUNT],
				SourceFigure figures[SAMPLER_FIGURES_MAX])
{
	size_t count = 0;

	for (size_t i = 0; i < SOURCE_COUNT; i++)
	{
		/* Ask sources that were not requested, too, so that every summary has the same lines. */
		if (sample_sources[i]->figures != NULL)
			count += sample_sources[i]->figures(sampler->sources[i], counters, &figures[count]);
	}
	return count;
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
