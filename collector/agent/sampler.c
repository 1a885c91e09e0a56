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
#include "agent/sampler.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/perf_event.h>

#include "agent/bpf_tables.h"
#include "agent/features.h"
#include "base/log.h"
#include "process/cpu_list.h"
#include "profiler.skel.h"

#define NS_PER_S		 UINT64_C(1000000000)
#define ONLINE_CPUS_FILE "/sys/devices/system/cpu/online"

/* The ring holds one second of samples of this size each, more than the mean of real stacks. */
#define RING_SAMPLE_BYTES 2048
#define RING_MIN_BYTES	  (1u << 21) /* room for the copies of stacks when all is new */
#define RING_MAX_BYTES	  (1u << 28)

typedef enum CpuState
{
	CPU_OFF,
	CPU_SAMPLED,
	CPU_FAILED, /* online without a perf event; tried again after it was offline */
} CpuState;

struct Sampler
{
	uint32_t frequency_hz;
	SamplerHandler handler;
	void *context;
	struct profiler *skeleton;
	struct ring_buffer *ring;
	KernelTables *tables;
	struct bpf_link *links[CPU_LIST_MAX];
	uint8_t states[CPU_LIST_MAX]; /* CpuState */
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
 * libbpf's own words are for developers: they go to the log at level debug, and what matters is
 * told by us.
 */
static int __attribute__((format(printf, 2, 0)))
on_libbpf_message(enum libbpf_print_level level, const char *format, va_list arguments)
{
	char text[1024];
	size_t length;

	(void) level;
	vsnprintf(text, sizeof(text), format, arguments);
	length = strlen(text);
	if (length > 0 && text[length - 1] == '\n')
		text[length - 1] = '\0';
	log_event(LOG_DEBUG, "libbpf", "message of the BPF library", log_text("detail", text));
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

static uint32_t
ring_bytes(uint32_t frequency_hz, int cpus)
{
	uint64_t wanted = (uint64_t) frequency_hz * (uint64_t) cpus * RING_SAMPLE_BYTES;
	uint64_t bytes = RING_MIN_BYTES;

	while (bytes < wanted && bytes < RING_MAX_BYTES)
		bytes *= 2;
	return (uint32_t) bytes;
}

static ExitCode
load_program(Sampler *sampler, const SamplerOptions *options, Failure *failure)
{
	uint32_t bytes = ring_bytes(sampler->frequency_hz, sampler->possible_cpus);
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
	bpf_map__set_max_entries(sampler->skeleton->maps.pfs_ring, bytes);
	bpf_map__set_max_entries(sampler->skeleton->maps.pfs_scratches,
							 (uint32_t) sampler->possible_cpus);
	result = profiler__load(sampler->skeleton);
	if (result == 0)
		return EXIT_OK;
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
		.processes = bpf_map__fd(sampler->skeleton->maps.pfs_processes),
	};
	int result = bpf_tables_create(&maps, &sampler->tables);

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
	libbpf_set_print(on_libbpf_message);
	code = features_check(options->allow_unsafe_kernel, failure);
	if (code != EXIT_OK)
		return code;
	sampler = calloc(1, sizeof(*sampler));
	if (sampler == NULL)
		return failure_set(failure, EXIT_INTERNAL, "out of memory");
	sampler->frequency_hz = options->frequency_hz;
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
	ring_buffer__free(sampler->ring);
	bpf_tables_free(sampler->tables);
	profiler__destroy(sampler->skeleton);
	free(sampler);
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
	int fd =
		(int) syscall(SYS_perf_event_open, &attributes, -1, (int) cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return -errno;
	link = bpf_program__attach_perf_event(sampler->skeleton->progs.pfs_on_cpu, fd);
	if (link == NULL)
	{
		int result = -errno;

		close(fd);
		return result;
	}
	if (sampler->links[cpu] != NULL)
		bpf_link__destroy(sampler->links[cpu]);
	sampler->links[cpu] = link; /* owns the descriptor */
	return 0;
}

static void
detach_cpu(Sampler *sampler, uint32_t cpu)
{
	if (sampler->links[cpu] != NULL)
		bpf_link__destroy(sampler->links[cpu]);
	sampler->links[cpu] = NULL;
	sampler->states[cpu] = CPU_OFF;
}

void
sampler_set_frequency(Sampler *sampler, uint32_t frequency_hz)
{
	sampler->frequency_hz = frequency_hz;
	for (uint32_t cpu = 0; cpu < CPU_LIST_MAX; cpu++)
	{
		int result = sampler->states[cpu] == CPU_SAMPLED ? attach_cpu(sampler, cpu) : 0;

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

	if (bpf_map_update_elem(bpf_map__fd(sampler->skeleton->maps.pfs_images), &pid, &record,
							BPF_ANY) != 0)
		log_event(LOG_DEBUG, "sampler", "could not tell a verdict on a process",
				  log_number("pid", pid), log_text("detail", strerror(errno)));
}

ExitCode
sampler_attach(Sampler *sampler, Failure *failure)
{
	uint32_t failed = sampler_follow_cpus(sampler);

	if (sampler_cpu_count(sampler) > 0)
		return EXIT_OK;
	failure_set(failure, EXIT_BPF, "could not open a perf event on any CPU");
	failure_detail(failure, "%u online CPUs were tried.", failed);
	failure_hint(failure, "Run \"profstore-collector check\" to see what is missing.");
	return failure->code;
}

uint32_t
sampler_follow_cpus(Sampler *sampler)
{
	CpuList online;
	uint32_t failed = 0;
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
		{
			result = attach_cpu(sampler, cpu);
			sampler->states[cpu] = result == 0 ? CPU_SAMPLED : CPU_FAILED;
			if (result != 0)
				log_event(LOG_WARNING, "sampler", "could not sample a CPU", log_number("cpu", cpu),
						  log_text("detail", strerror(-result)));
		}
		if (sampler->states[cpu] == CPU_FAILED)
			failed++;
	}
	return failed;
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
sampler_stop(Sampler *sampler)
{
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
