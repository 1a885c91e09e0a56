/*
 * allocations.c
 *		Perf events of page faults, probes at functions that allocate, and how many are kept.
 *
 * Functions are probed by a link for many of them at once (BPF_TRACE_UPROBE_MULTI, Linux 6.6),
 * which needs no right beyond those that sampling needs anyway; a perf event of a uprobe would need
 * CAP_SYS_ADMIN. A file is opened once and probed by its descriptor: if another one takes its name,
 * the places of functions that were found in this one are not looked for in that.
 */
#include "kernel/probe_list.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <linux/perf_event.h>

#include "base/clock.h"
#include "base/log.h"
#include "files/open_file.h"
#include "process/cpu_event.h"
#include "process/cpu_list.h"
#include "process/patience.h"
#include "profiler.skel.h"
#include "symbols/elf_file.h"

#define UPROBES_FILE "/sys/bus/event_source/devices/uprobe/type"
#define PACE_NS		 INT64_C(1000000000)
#define NS_PER_S	 UINT64_C(1000000000)

/* Odd, so that it falls into step with few things that programs do. */
#define FAULT_PERIOD	 97
#define FAULT_PERIOD_MAX (UINT64_C(1) << 30)

#define ALLOCATION_PERIOD	  (UINT64_C(512) << 10)
#define ALLOCATION_PERIOD_MAX (UINT64_C(2) << 30) /* the program counts with 32 bits */

/* So many calls take about as long as one walk of a stack. */
#define CALLS_PER_SAMPLE 50
#define CALLS_ONE_IN_MAX 64

#define FAULT_KINDS 2

/* PERF_COUNT_SW_PAGE_FAULTS_… */
static const uint64_t fault_events[FAULT_KINDS] = { PERF_COUNT_SW_PAGE_FAULTS_MIN,
													PERF_COUNT_SW_PAGE_FAULTS_MAJ };

typedef struct ProbedFunction
{
	const char *name;
	enum pfs_call call;
} ProbedFunction;

/* Some of them may be one and the same. */
static const ProbedFunction functions[] = {
	{ "malloc", PFS_CALL_FIRST },	 { "calloc", PFS_CALL_PRODUCT },
	{ "realloc", PFS_CALL_RESIZE },	 { "aligned_alloc", PFS_CALL_SECOND },
	{ "memalign", PFS_CALL_SECOND }, { "posix_memalign", PFS_CALL_THIRD },
};

#define FUNCTIONS (sizeof(functions) / sizeof(functions[0]))

/* A library, or a program, and where its functions are. */
typedef struct ProbedFile
{
	const char *name;
	int fd;
	int link; /* -1: none */
	uint32_t count;
	uint64_t offsets[FUNCTIONS];
	uint64_t cookies[FUNCTIONS]; /* enum pfs_call */
} ProbedFile;

typedef struct FaultEvents
{
	struct bpf_link *links[FAULT_KINDS];
	int fds[FAULT_KINDS];
} FaultEvents;

/* The counter of an event when its pace was last looked at, and when that was. */
typedef struct Paced
{
	uint64_t counter;
	int64_t then_ns; /* 0: never */
} Paced;

struct Probes
{
	struct profiler *skeleton;
	ProbeOptions options;
	FaultEvents *cpus; /* CPU_LIST_MAX of them; NULL: no page faults */
	ProbedFile files[PROBE_FILES_MAX];
	size_t file_count;
	Patience patience; /* of whoever attaches and detaches, one thread at a time */
	Stall stall;	   /* until then no probe is attached */
	_Atomic uint64_t held_up;
	uint64_t fault_period;
	ProbeStats stats;
	_Atomic uint64_t calls_a_second; /* beyond, they are looked at for a part of the time */
	Paced faults;
	Paced calls;
	uint64_t allocations; /* when calls were paced */
	bool watching;		  /* calls are looked at */
	uint32_t seconds;	  /* since they are not */
};

/*
 * The kernel's attributes of a link of many probes, which headers before 6.6 do not have: those of
 * BPF_LINK_CREATE.
 */
struct uprobe_link
{
	uint32_t program;
	uint32_t target;
	uint32_t attach_type;
	uint32_t flags;
	uint64_t path;
	uint64_t offsets;
	uint64_t reference_counters;
	uint64_t cookies;
	uint32_t count;
	uint32_t probe_flags;
	uint32_t pid; /* 0: all */
	uint32_t padding;
};

/* Debian's place of the C library. */
#ifdef __aarch64__
#define LIBC_EXAMPLE "/lib/aarch64-linux-gnu/libc.so.6"
#else
#define LIBC_EXAMPLE "/lib/x86_64-linux-gnu/libc.so.6"
#endif

static ExitCode
refuse_list(Failure *failure, const char *detail, const char *item)
{
	failure_set(failure, EXIT_CONFIG, "value for --probe cannot be used");
	failure_detail(failure, "%s: \"%s\".", detail, item);
	failure_hint(failure, "It is a list of \"page-faults\" and \"allocations=FILE\", such as "
						  "page-faults,allocations=" LIBC_EXAMPLE ".");
	return failure->code;
}

ExitCode
probes_parse(char *text, ProbeOptions *options, Failure *failure)
{
	static const char allocations[] = "allocations=";
	char *rest = text;
	char *item;

	while ((item = strsep(&rest, ",")) != NULL)
	{
		if (strcmp(item, "page-faults") == 0)
			options->page_faults = true;
		else if (strncmp(item, allocations, strlen(allocations)) != 0 ||
				 item[strlen(allocations)] == '\0')
			return refuse_list(failure, "There is no such probe", item);
		else if (options->file_count == PROBE_FILES_MAX)
			return refuse_list(failure, "There are too many files", item);
		else
			options->files[options->file_count++] = item + strlen(allocations);
	}
	return EXIT_OK;
}

/* The kernel's own number of this kind of link; -1 where it has none. */
static int
multi_probe_type(void)
{
	struct btf *btf = btf__load_vmlinux_btf();
	int id = btf == NULL ? -1 : btf__find_by_name_kind(btf, "bpf_attach_type", BTF_KIND_ENUM);
	int number = -1;

	if (id > 0)
	{
		const struct btf_type *type = btf__type_by_id(btf, (uint32_t) id);

		for (int i = 0; i < btf_vlen(type); i++)
		{
			const struct btf_enum *value = &btf_enum(type)[i];

			if (strcmp(btf__name_by_offset(btf, value->name_off), "BPF_TRACE_UPROBE_MULTI") == 0)
				number = value->val;
		}
	}
	btf__free(btf);
	return number;
}

const char *
probes_missing(void)
{
	if (access(UPROBES_FILE, R_OK) != 0)
		return "The kernel has no uprobes (CONFIG_UPROBE_EVENTS).";
	if (multi_probe_type() < 0)
		return "Allocations are sampled on kernels from 6.6 on.";
	return NULL;
}

static ExitCode
refuse_file(Failure *failure, const ProbedFile *file, const char *detail)
{
	failure_set(failure, EXIT_CONFIG, "value for --probe cannot be used");
	failure_detail(failure, "\"%s\": %s.", file->name, detail);
	failure_hint(failure, "Name the C library that the programs use, or a program that was linked "
						  "statically, as this process finds it.");
	return failure->code;
}

/* Where an address of code is in the file; false where it is not. */
static bool
offset_of(const ElfFile *elf, uint64_t address, uint64_t *offset)
{
	for (uint32_t i = 0; i < elf->segment_count; i++)
	{
		const ElfRange *segment = &elf->segments[i];

		if (address >= segment->address && address - segment->address < segment->size_bytes)
		{
			*offset = segment->offset + (address - segment->address);
			return true;
		}
	}
	return false;
}

/* Each place once, whatever its names. */
static void
add_function(ProbedFile *file, uint64_t offset, enum pfs_call call)
{
	for (uint32_t i = 0; i < file->count; i++)
	{
		if (file->offsets[i] == offset)
			return;
	}
	file->offsets[file->count] = offset;
	file->cookies[file->count++] = call;
}

static void
find_functions(const ElfFile *elf, ProbedFile *file)
{
	for (size_t i = 0; i < FUNCTIONS; i++)
	{
		ElfSymbol symbol;
		uint64_t offset;

		if ((elf_file_find_symbol(elf, ELF_DYNSYM, functions[i].name, 1U << STT_FUNC, &symbol) ||
			 elf_file_find_symbol(elf, ELF_SYMTAB, functions[i].name, 1U << STT_FUNC, &symbol)) &&
			offset_of(elf, symbol.address, &offset))
			add_function(file, offset, functions[i].call);
	}
}

static ExitCode
open_file(ProbedFile *file, const char *name, Failure *failure)
{
	struct stat status;
	ElfSource source = { 0 };
	ElfFile elf;
	int result;

	file->name = name;
	/* that of a container is named by its root, and links in there are the container's */
	file->fd = open_file_of_process(name, &status);
	if (file->fd == -ENOEXEC)
		return refuse_file(failure, file, "It is no regular file");
	if (file->fd < 0)
		return refuse_file(failure, file, strerror(-file->fd));
	source.fd = file->fd;
	source.size_bytes = (uint64_t) status.st_size;
	result = elf_file_init(&elf, &source);
	if (result == -ENOMEM)
		return failure_set(failure, EXIT_INTERNAL, "out of memory");
	if (result != 0)
		return refuse_file(failure, file, "It is no ELF file");
	find_functions(&elf, file);
	elf_file_fini(&elf);
	return file->count > 0
			   ? EXIT_OK
			   : refuse_file(failure, file, "It has no function \"malloc\" or the like");
}

static ExitCode
prepare_allocations(Probes *probes, uint32_t slot, Failure *failure)
{
	struct profiler *skeleton = probes->skeleton;
	const char *missing = probes_missing();

	if (missing != NULL)
	{
		failure_set(failure, EXIT_PRIVILEGE, "cannot sample allocations on this host");
		failure_detail(failure, "%s", missing);
		failure_hint(failure, "Leave allocations out of --probe.");
		return failure->code;
	}
	for (size_t i = 0; i < probes->options.file_count; i++)
	{
		ProbedFile *file = &probes->files[probes->file_count++];
		ExitCode code;

		file->link = -1;
		code = open_file(file, probes->options.files[i], failure);
		if (code != EXIT_OK)
			return code;
	}
	skeleton->rodata->pfs_call_slot = slot;
	skeleton->rodata->pfs_call_slots = probes_slots(&probes->options, libbpf_num_possible_cpus());
	skeleton->bss->pfs_allocation_period = ALLOCATION_PERIOD;
	skeleton->bss->pfs_calls_one_in = 1;
	bpf_program__set_expected_attach_type(skeleton->progs.pfs_allocation,
										  (enum bpf_attach_type) multi_probe_type());
	probes->stats.allocation_period = ALLOCATION_PERIOD;
	probes->stats.calls_one_in = 1;
	return EXIT_OK;
}

static int
prepare_faults(Probes *probes)
{
	probes->cpus = calloc(CPU_LIST_MAX, sizeof(*probes->cpus));
	if (probes->cpus == NULL)
		return -ENOMEM;
	probes->fault_period = FAULT_PERIOD;
	probes->stats.fault_period = FAULT_PERIOD;
	return 0;
}

ExitCode
probes_create(struct profiler *skeleton, const ProbeOptions *options, uint32_t slot,
			  Probes **result, Failure *failure)
{
	Probes *probes = calloc(1, sizeof(*probes));
	ExitCode code = EXIT_OK;

	if (probes == NULL)
		return failure_set(failure, EXIT_INTERNAL, "out of memory");
	if (patience_init(&probes->patience) != 0)
	{
		free(probes);
		return failure_set(failure, EXIT_INTERNAL, "out of memory");
	}
	probes->skeleton = skeleton;
	probes->options = *options;
	probes_look_less(probes, 1, 1);
	(void) bpf_program__set_autoload(skeleton->progs.pfs_minor_fault, options->page_faults);
	(void) bpf_program__set_autoload(skeleton->progs.pfs_major_fault, options->page_faults);
	(void) bpf_program__set_autoload(skeleton->progs.pfs_allocation, options->file_count > 0);
	if (options->page_faults && prepare_faults(probes) != 0)
		code = failure_set(failure, EXIT_INTERNAL, "out of memory");
	if (code == EXIT_OK && options->file_count > 0)
		code = prepare_allocations(probes, slot, failure);
	if (code == EXIT_OK)
		*result = probes;
	else
		probes_free(probes);
	return code;
}

uint32_t
probes_slots(const ProbeOptions *options, int possible_cpus)
{
	return options->file_count > 0 ? (uint32_t) possible_cpus : 0;
}

/* No call is seen from here on, but for links that no thread can be had to close. */
static void
look_away(Probes *probes)
{
	for (size_t i = 0; i < probes->file_count; i++)
	{
		ProbedFile *file = &probes->files[i];

		if (file->link >= 0 && patience_try_close(&probes->patience, file->link, PROBES_ATTACH_NS))
			file->link = -1;
	}
	probes->watching = false;
	probes->seconds = 0;
}

void
probes_detach(Probes *probes)
{
	if (probes == NULL)
		return;
	look_away(probes);
	for (uint32_t cpu = 0; cpu < CPU_LIST_MAX; cpu++)
		probes_detach_cpu(probes, cpu);
}

void
probes_free(Probes *probes)
{
	if (probes == NULL)
		return;
	probes_detach(probes);
	for (size_t i = 0; i < probes->file_count; i++)
	{
		if (probes->files[i].fd >= 0)
			close(probes->files[i].fd);
	}
	patience_fini(&probes->patience);
	free(probes->cpus);
	free(probes);
}

/* Has all that the call needs, which may outlive the file. */
typedef struct LinkProbe
{
	Probe probe;
	ProbedFile file; /* a copy, with a descriptor of its own */
	char path[64];
	struct uprobe_link link;
	int error;
} LinkProbe;

static void
run_link(Probe *base)
{
	LinkProbe *probe = (LinkProbe *) base;

	probe->file.link = (int) syscall(SYS_bpf, BPF_LINK_CREATE, &probe->link, sizeof(probe->link));
	probe->error = probe->file.link < 0 ? -errno : 0;
}

static void
discard_link(Probe *base)
{
	LinkProbe *probe = (LinkProbe *) base;

	if (probe->file.link >= 0)
		close(probe->file.link);
	close(probe->file.fd);
	free(probe);
}

static LinkProbe *
make_link_probe(const Probes *probes, const ProbedFile *file)
{
	const struct bpf_program *program = probes->skeleton->progs.pfs_allocation;
	LinkProbe *probe = calloc(1, sizeof(*probe));

	if (probe == NULL)
		return NULL;
	probe->probe = (Probe){ .run = run_link, .discard = discard_link };
	probe->file = *file;
	probe->file.fd = fcntl(file->fd, F_DUPFD_CLOEXEC, 0);
	snprintf(probe->path, sizeof(probe->path), "/proc/self/fd/%d", probe->file.fd);
	probe->link = (struct uprobe_link){
		.program = (uint32_t) bpf_program__fd(program),
		.attach_type = (uint32_t) bpf_program__expected_attach_type(program),
		.path = (uintptr_t) probe->path,
		.offsets = (uintptr_t) probe->file.offsets,
		.cookies = (uintptr_t) probe->file.cookies,
		.count = file->count,
	};
	return probe;
}

/* 0; -EAGAIN if the kernel does not answer in time; or another -errno. */
static int
link_file(Probes *probes, ProbedFile *file)
{
	LinkProbe *probe = make_link_probe(probes, file);
	int result;

	if (probe == NULL)
		return -ENOMEM;
	if (patience_run(&probes->patience, &probe->probe, PROBES_ATTACH_NS) != 0)
		return -EAGAIN;
	result = probe->error;
	file->link = probe->file.link;
	probe->file.link = -1;
	discard_link(&probe->probe);
	return result;
}

/* Gives up attaching for a while: a process that maps the file holds the lock of its memory. */
static void
put_off(Probes *probes, const ProbedFile *file)
{
	look_away(probes);
	stall_note(&probes->stall, (uint64_t) clock_ns(CLOCK_MONOTONIC));
	atomic_fetch_add(&probes->held_up, 1);
	log_event(LOG_WARNING, "sampler", "could not probe functions that allocate in time",
			  log_text("file", file->name),
			  log_text("detail", "A process that maps the file holds the lock of its memory. "
								 "Allocations are not sampled until it releases the lock."));
}

/* May a probe be attached? While a thread is left behind the next one would wait for it. */
static bool
may_attach(const Probes *probes)
{
	return (uint64_t) clock_ns(CLOCK_MONOTONIC) >= probes->stall.until_ns &&
		   prober_stuck(probes->patience.prober) == 0;
}

/* Begins new accounts of waits: with the old ones the next attempt would be given up at once. */
static void
forget_waits(Probes *probes)
{
	Patience fresh;

	if (patience_init(&fresh) != 0)
		return;
	patience_fini(&probes->patience);
	probes->patience = fresh;
}

ExitCode
probes_attach(Probes *probes, Failure *failure)
{
	if (!may_attach(probes))
		return EXIT_OK;
	if (probes->stall.until_ns != 0)
		forget_waits(probes);
	for (size_t i = 0; i < probes->file_count; i++)
	{
		int result = probes->files[i].link >= 0 ? 0 : link_file(probes, &probes->files[i]);

		if (result == 0)
			continue;
		if (result == -EAGAIN)
		{
			put_off(probes, &probes->files[i]);
			return EXIT_OK;
		}
		failure_set(failure, EXIT_BPF, "could not probe functions that allocate");
		failure_detail(failure, "\"%s\": %s.", probes->files[i].name, strerror(-result));
		look_away(probes);
		return failure->code;
	}
	probes->stall = (Stall){ 0 };
	probes->watching = probes->file_count > 0;
	return EXIT_OK;
}

void
probes_detach_cpu(Probes *probes, uint32_t cpu)
{
	for (int kind = 0; probes->cpus != NULL && kind < FAULT_KINDS; kind++)
	{
		bpf_link__destroy(probes->cpus[cpu].links[kind]); /* closes the event */
		probes->cpus[cpu].links[kind] = NULL;
	}
}

int
probes_attach_cpu(Probes *probes, uint32_t cpu)
{
	struct bpf_program *programs[FAULT_KINDS] = { probes->skeleton->progs.pfs_minor_fault,
												  probes->skeleton->progs.pfs_major_fault };

	if (probes->cpus == NULL)
		return 0;
	probes_detach_cpu(probes, cpu);
	for (int kind = 0; kind < FAULT_KINDS; kind++)
	{
		struct perf_event_attr attributes = {
			.type = PERF_TYPE_SOFTWARE,
			.size = sizeof(attributes),
			.config = fault_events[kind],
			.sample_period = probes->fault_period,
		};
		FaultEvents *events = &probes->cpus[cpu];
		int fd = cpu_event_open(&attributes, cpu);

		if (fd < 0)
			return fd;
		events->fds[kind] = fd;
		events->links[kind] = bpf_program__attach_perf_event(programs[kind], fd);
		if (events->links[kind] == NULL)
		{
			int result = -errno;

			close(fd);
			return result;
		}
	}
	return 0;
}

static void
set_fault_period(Probes *probes, uint64_t period)
{
	probes->fault_period = period;
	if (period > probes->stats.fault_period)
		probes->stats.fault_period = period;
	for (uint32_t cpu = 0; cpu < CPU_LIST_MAX; cpu++)
	{
		for (int kind = 0; kind < FAULT_KINDS; kind++)
		{
			if (probes->cpus[cpu].links[kind] != NULL &&
				ioctl(probes->cpus[cpu].fds[kind], PERF_EVENT_IOC_PERIOD, &period) != 0)
				log_event(LOG_WARNING, "sampler", "could not change the period of page faults",
						  log_number("cpu", cpu), log_text("detail", strerror(errno)));
		}
	}
}

/* A period that makes about as many samples as are wanted, where it is wrong by much. */
static uint64_t
better_period(uint64_t period, uint64_t a_second, uint64_t wanted, uint64_t least, uint64_t most)
{
	uint64_t better = period;

	if (a_second > wanted)
		better = period * (a_second / wanted + 1);
	else if (a_second < wanted / 4)
		better = period / 2;
	better |= 1;
	return better > most ? most : better < least ? least : better;
}

static void
pace_faults(Probes *probes, uint64_t a_second)
{
	uint64_t period =
		better_period(probes->fault_period, a_second, probes->options.samples_a_second,
					  FAULT_PERIOD, FAULT_PERIOD_MAX);

	if (period == probes->fault_period)
		return;
	set_fault_period(probes, period);
	log_event(LOG_INFO, "sampler", "page faults are sampled at another period",
			  log_number("period", (int64_t) period),
			  log_number("samples_a_second", (int64_t) a_second));
}

static void
pace_allocations(Probes *probes, uint64_t a_second)
{
	struct profiler__bss *shared = probes->skeleton->bss;
	uint64_t before = shared->pfs_allocation_period;
	uint64_t period = better_period(before, a_second, probes->options.samples_a_second,
									ALLOCATION_PERIOD, ALLOCATION_PERIOD_MAX);

	/* the first one is even */
	if (period == before || period == (before | 1))
		return;
	shared->pfs_allocation_period = period;
	if (period > probes->stats.allocation_period)
		probes->stats.allocation_period = period;
	log_event(LOG_INFO, "sampler", "allocations are sampled at another period",
			  log_number("period_bytes", (int64_t) period),
			  log_number("samples_a_second", (int64_t) a_second));
}

/* A second of looking at calls for some of not, where looking at all would cost too much. */
static void
pace_calls(Probes *probes, uint64_t a_second)
{
	uint64_t limit = probes->calls_a_second;
	uint64_t wanted = (a_second + limit - 1) / limit;
	uint32_t one_in = probes->skeleton->bss->pfs_calls_one_in;

	if (wanted < 1)
		wanted = 1;
	if (wanted > CALLS_ONE_IN_MAX)
		wanted = CALLS_ONE_IN_MAX;
	if (wanted == 1 && one_in == 1)
		return;
	if (wanted != one_in)
		log_event(LOG_INFO, "sampler", "allocations are looked at for one second in so many",
				  log_number("one_in", (int64_t) wanted),
				  log_number("calls_a_second", (int64_t) a_second));
	probes->skeleton->bss->pfs_calls_one_in = (uint32_t) wanted;
	if (wanted > probes->stats.calls_one_in)
		probes->stats.calls_one_in = (uint32_t) wanted;
	if (wanted > 1)
		look_away(probes);
}

/* Is it time to look at calls again? */
static void
look_again(Probes *probes)
{
	Failure failure;

	probes->seconds++;
	if (probes->seconds + 1 >= probes->skeleton->bss->pfs_calls_one_in &&
		probes_attach(probes, &failure) != EXIT_OK)
		failure_log(&failure, "sampler");
}

/*
 * True once a second has passed since the counter was last looked at. *a_second is by how much it
 * rose in a second, *passed_ns the time that has passed.
 */
static bool
is_due(Paced *paced, uint64_t counter, int64_t now_ns, uint64_t *a_second, uint64_t *passed_ns)
{
	bool first = paced->then_ns == 0;

	*passed_ns = (uint64_t) (now_ns - paced->then_ns);
	if (*passed_ns < PACE_NS)
		return false;
	*a_second = (counter - paced->counter) * NS_PER_S / *passed_ns;
	*paced = (Paced){ counter, now_ns };
	return !first;
}

void
probes_pace_faults(Probes *probes, const uint64_t counters[PFS_COUNTER_COUNT], int64_t now_ns)
{
	uint64_t passed_ns;
	uint64_t faults;

	if (probes->cpus != NULL &&
		is_due(&probes->faults, counters[PFS_COUNTER_FAULTS], now_ns, &faults, &passed_ns))
		pace_faults(probes, faults);
}

void
probes_pace_calls(Probes *probes, const uint64_t counters[PFS_COUNTER_COUNT], int64_t now_ns)
{
	uint64_t allocations = counters[PFS_COUNTER_ALLOCATIONS] - probes->allocations;
	uint64_t passed_ns;
	uint64_t calls;

	if (probes->file_count == 0)
		return;
	if (is_due(&probes->calls, counters[PFS_COUNTER_CALLS], now_ns, &calls, &passed_ns))
	{
		if (probes->watching)
		{
			pace_allocations(probes, allocations * NS_PER_S / passed_ns);
			pace_calls(probes, calls);
		}
		else
			look_again(probes);
	}
	if (probes->calls.then_ns == now_ns)
		probes->allocations = counters[PFS_COUNTER_ALLOCATIONS];
}

void
probes_look_less(Probes *probes, uint32_t part, uint32_t whole)
{
	uint64_t limit = (uint64_t) probes->options.samples_a_second * CALLS_PER_SAMPLE * part / whole;

	probes->calls_a_second = limit > 0 ? limit : 1;
}

void
probes_stats(const Probes *probes, ProbeStats *stats)
{
	*stats = probes->stats;
	stats->held_up = atomic_load(&probes->held_up);
}
