/*
 * allocations.c
 *		Probes of functions that allocate memory, and which part of their calls is kept.
 *
 * Functions are probed by one link for many of them (BPF_TRACE_UPROBE_MULTI, Linux 6.6), which
 * needs no capability that sampling does not need anyway; a perf event of a uprobe would need
 * CAP_SYS_ADMIN. A file is opened once and probed by its descriptor, so that the offsets of
 * functions found in it are never applied to another file that takes its name.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "base/clock.h"
#include "base/log.h"
#include "files/open_file.h"
#include "kernel/pace.h"
#include "kernel/probe_list.h"
#include "kernel/source.h"
#include "process/patience.h"
#include "profiler.skel.h"
#include "symbols/elf/elf_file.h"

#define UPROBES_FILE "/sys/bus/event_source/devices/uprobe/type"

#define ALLOCATION_PERIOD	  (UINT64_C(512) << 10)
#define ALLOCATION_PERIOD_MAX (UINT64_C(2) << 30) /* limit of the BPF program's 32-bit counters */

/* Number of calls that take as long as one walk of a stack. */
#define CALLS_PER_SAMPLE 50
#define CALLS_ONE_IN_MAX 64

/*
 * Deadline of attaching and detaching. The kernel takes a lock of each process that maps the file,
 * so a process can delay this for as long as it likes. The thread is then left behind, and
 * allocations are not seen until the thread has returned and allocations_pace() has tried again.
 */
#define ATTACH_NS UINT64_C(10000000000)

#define CALL_NS 400 /* CPU time of a probed call, kept or not; mostly the trap */

typedef struct ProbedFunction
{
	const char *name;
	enum pfs_call call;
} ProbedFunction;

/* Several names may belong to one function. */
static const ProbedFunction functions[] = {
	{ "malloc", PFS_CALL_FIRST },	 { "calloc", PFS_CALL_PRODUCT },
	{ "realloc", PFS_CALL_RESIZE },	 { "aligned_alloc", PFS_CALL_SECOND },
	{ "memalign", PFS_CALL_SECOND }, { "posix_memalign", PFS_CALL_THIRD },
};

#define FUNCTIONS (sizeof(functions) / sizeof(functions[0]))

/* A library or program, and the offsets of its functions. */
typedef struct ProbedFile
{
	const char *name;
	int fd;
	int link; /* -1: no link */
	uint32_t count;
	uint64_t offsets[FUNCTIONS];
	uint64_t cookies[FUNCTIONS]; /* enum pfs_call */
} ProbedFile;

typedef struct Allocations
{
	Source source;
	ProbedFile files[PROBE_FILES_MAX];
	size_t file_count;
	Patience patience; /* of the thread that attaches and detaches; one thread at a time */
	Stall stall;	   /* no probe is attached until it ends */
	uint64_t longest_period;
	uint32_t fewest_calls;			 /* largest number of calls of which one was looked at */
	_Atomic uint64_t calls_a_second; /* above this rate, calls are looked at for part of the time */
	Pace pace;						 /* pace of calls */
	uint64_t kept;					 /* allocations at the last pacing of calls */
	bool watching;					 /* calls are looked at */
	uint32_t seconds;				 /* since watching last became false */
} Allocations;

/*
 * The kernel's attributes of BPF_LINK_CREATE for a link of many probes, which kernel headers before
 * 6.6 lack.
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
	uint32_t pid; /* 0: all processes */
	uint32_t padding;
};

/* Returns the kernel's number of this kind of link; -1 if the kernel has none. */
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

static const char *
allocations_missing(const char **how)
{
	*how = "";
	if (access(UPROBES_FILE, R_OK) != 0)
		return "The kernel has no uprobes (CONFIG_UPROBE_EVENTS).";
	if (multi_probe_type() < 0)
		return "Sampling of allocations requires Linux 6.6.";
	return NULL;
}

static ExitCode
refuse_file(Failure *failure, const ProbedFile *file, const char *detail)
{
	failure_set(failure, EXIT_CONFIG, "value for --probe cannot be used");
	failure_detail(failure, "\"%s\": %s.", file->name, detail);
	failure_hint(failure, "Name the C library that the programs use, or a statically linked "
						  "program, by a path that this process can open.");
	return failure->code;
}

/*
 * Converts an address of code to an offset in the file. Returns false if the address is in no
 * segment.
 */
static bool
allocations_offset_of(const ElfFile *elf, uint64_t address, uint64_t *offset)
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

/* Adds the offset of a function unless it was added under another name. */
static void
allocations_add_function(ProbedFile *file, uint64_t offset, enum pfs_call call)
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

		if (elf_file_find_any_symbol(elf, functions[i].name, 1U << STT_FUNC, &symbol) &&
			allocations_offset_of(elf, symbol.address, &offset))
			allocations_add_function(file, offset, functions[i].call);
	}
}

/* Opens a file to probe and finds its allocation functions. */
static ExitCode
allocations_open_file(ProbedFile *file, const char *name, Failure *failure)
{
	struct stat status;
	ElfSource source = { 0 };
	ElfFile elf;
	int result;

	file->name = name;
	/*
	 * a container's file is named through its root directory, so its links are resolved inside the
	 * container
	 */
	file->fd = open_file_of_process(name, &status);
	if (file->fd == -ENOEXEC)
		return refuse_file(failure, file, "not a regular file");
	if (file->fd < 0)
		return refuse_file(failure, file, strerror(-file->fd));
	source.fd = file->fd;
	source.size_bytes = (uint64_t) status.st_size;
	result = elf_file_init(&elf, &source);
	if (result == -ENOMEM)
		return failure_set(failure, EXIT_INTERNAL, "out of memory");
	if (result != 0)
		return refuse_file(failure, file, "not an ELF file");
	find_functions(&elf, file);
	elf_file_fini(&elf);
	return file->count > 0
			   ? EXIT_OK
			   : refuse_file(failure, file, "no allocation function such as \"malloc\" found");
}

/*
 * Stops watching calls. Links that could not be closed, because no thread was available, still see
 * calls.
 */
static void
allocations_look_away(Allocations *allocations)
{
	for (size_t i = 0; i < allocations->file_count; i++)
	{
		ProbedFile *file = &allocations->files[i];

		if (file->link >= 0 && patience_try_close(&allocations->patience, file->link, ATTACH_NS))
			file->link = -1;
	}
	allocations->watching = false;
	allocations->seconds = 0;
}

static void
allocations_detach(Source *source)
{
	allocations_look_away((Allocations *) source);
}

static void
allocations_free(Source *source)
{
	Allocations *allocations = (Allocations *) source;

	allocations_look_away(allocations);
	for (size_t i = 0; i < allocations->file_count; i++)
	{
		if (allocations->files[i].fd >= 0)
			close(allocations->files[i].fd);
	}
	patience_fini(&allocations->patience);
	free(allocations);
}

static bool
allocations_wanted(const SourceSettings *settings)
{
	return settings->probes.file_count > 0;
}

/*
 * Returns the number of scratches of this source. A call may be preempted, so it does not use the
 * scratch of a nesting level of the CPU.
 */
static uint32_t
allocations_slots(int possible_cpus)
{
	return (uint32_t) possible_cpus;
}

static void
allocations_choose(struct profiler *skeleton, bool wanted)
{
	(void) bpf_program__set_autoload(skeleton->progs.pfs_allocation, wanted);
}

static ExitCode
allocations_open_files(Allocations *allocations, const ProbeList *probes, Failure *failure)
{
	for (size_t i = 0; i < probes->file_count; i++)
	{
		ProbedFile *file = &allocations->files[allocations->file_count++];
		ExitCode code;

		file->link = -1;
		code = allocations_open_file(file, probes->files[i], failure);
		if (code != EXIT_OK)
			return code;
	}
	return EXIT_OK;
}

/* Looks at calls for part of the time if the rate exceeds part of whole of the settings. */
static void
allocations_restrain(Source *source, uint32_t part, uint32_t whole)
{
	Allocations *allocations = (Allocations *) source;
	uint64_t rate = (uint64_t) source->host->settings.probe_rate;
	uint64_t limit = rate * CALLS_PER_SAMPLE * part / whole;

	allocations->calls_a_second = limit > 0 ? limit : 1;
}

/*
 * Checks the kernel, opens the files and sets the program's constants. Kernels before 6.6 lack the
 * attach type, which therefore is set at run time.
 */
static ExitCode
allocations_prepare(const SourceHost *host, uint32_t slot, Source **source, Failure *failure)
{
	struct profiler *skeleton = host->skeleton;
	const char *how;
	const char *missing = allocations_missing(&how);
	Allocations *allocations;
	ExitCode code;

	if (missing != NULL)
	{
		failure_set(failure, EXIT_PRIVILEGE, "cannot sample allocations on this host");
		failure_detail(failure, "%s", missing);
		failure_hint(failure, "Remove allocations from --probe.");
		return failure->code;
	}
	allocations = calloc(1, sizeof(*allocations));
	if (allocations == NULL || patience_init(&allocations->patience) != 0)
	{
		free(allocations);
		return failure_set(failure, EXIT_INTERNAL, "out of memory");
	}
	allocations->source.host = host;
	allocations->longest_period = ALLOCATION_PERIOD;
	allocations->fewest_calls = 1;
	allocations_restrain(&allocations->source, 1, 1);
	code = allocations_open_files(allocations, &host->settings.probes, failure);
	if (code != EXIT_OK)
	{
		allocations_free(&allocations->source);
		return code;
	}
	skeleton->rodata->pfs_call_slot = slot;
	skeleton->rodata->pfs_call_slots = allocations_slots(host->possible_cpus);
	skeleton->bss->pfs_allocation_period = ALLOCATION_PERIOD;
	skeleton->bss->pfs_calls_one_in = 1;
	bpf_program__set_expected_attach_type(skeleton->progs.pfs_allocation,
										  (enum bpf_attach_type) multi_probe_type());
	*source = &allocations->source;
	return EXIT_OK;
}

/*
 * A call that links a file's functions. It owns all that it needs, because it may outlive the file.
 */
typedef struct LinkProbe
{
	Probe probe;
	ProbedFile file; /* a copy with its own descriptor */
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

/* Makes a call with its own copy of the file and descriptor, because it may outlive this object. */
static LinkProbe *
make_link_probe(const Allocations *allocations, const ProbedFile *file)
{
	const struct bpf_program *program = allocations->source.host->skeleton->progs.pfs_allocation;
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

/* Returns 0; -EAGAIN if the kernel does not answer in time; or another -errno. */
static int
link_file(Allocations *allocations, ProbedFile *file)
{
	LinkProbe *probe = make_link_probe(allocations, file);
	int result;

	if (probe == NULL)
		return -ENOMEM;
	if (patience_run(&allocations->patience, &probe->probe, ATTACH_NS) != 0)
		return -EAGAIN;
	result = probe->error;
	file->link = probe->file.link;
	probe->file.link = -1;
	discard_link(&probe->probe);
	return result;
}

/* Gives up attaching for a while, because a process that maps the file holds its memory lock. */
static void
put_off(Allocations *allocations, const ProbedFile *file)
{
	allocations_look_away(allocations);
	stall_note(&allocations->stall, (uint64_t) clock_ns(CLOCK_MONOTONIC));
	losses_add(allocations->source.host->losses, LOSS_PROBES_HELD_UP, 1);
	log_event(LOG_WARNING, "sampler", "could not attach probes of allocations in time",
			  log_text("file", file->name),
			  log_text("detail", "A process that maps the file holds its memory lock. "
								 "Allocations are not sampled until it releases the lock."));
}

/*
 * Returns true if a probe may be attached. While a thread is left behind, the next attempt would
 * wait for the same lock.
 */
static bool
may_attach(const Allocations *allocations)
{
	return (uint64_t) clock_ns(CLOCK_MONOTONIC) >= allocations->stall.until_ns &&
		   prober_stuck(allocations->patience.prober) == 0;
}

/* Resets the accounts of waits; otherwise the next attempt would be given up at once. */
static void
forget_waits(Allocations *allocations)
{
	Patience fresh;

	if (patience_init(&fresh) != 0)
		return;
	patience_fini(&allocations->patience);
	allocations->patience = fresh;
}

/*
 * Attaches to all files. If one does not answer in time, the attempt is repeated later
 * (look_again); this is not a failure.
 */
static ExitCode
allocations_attach(Source *source, Failure *failure)
{
	Allocations *allocations = (Allocations *) source;

	if (!may_attach(allocations))
		return EXIT_OK;
	if (allocations->stall.until_ns != 0)
		forget_waits(allocations);
	for (size_t i = 0; i < allocations->file_count; i++)
	{
		int result =
			allocations->files[i].link >= 0 ? 0 : link_file(allocations, &allocations->files[i]);

		if (result == 0)
			continue;
		if (result == -EAGAIN)
		{
			put_off(allocations, &allocations->files[i]);
			return EXIT_OK;
		}
		failure_set(failure, EXIT_BPF, "could not probe functions that allocate");
		failure_detail(failure, "\"%s\": %s.", allocations->files[i].name, strerror(-result));
		allocations_look_away(allocations);
		return failure->code;
	}
	allocations->stall = (Stall){ 0 };
	allocations->watching = allocations->file_count > 0;
	return EXIT_OK;
}

/* Adapts the period to the rate of kept allocations. */
static void
pace_kept(Allocations *allocations, uint64_t a_second)
{
	struct profiler__bss *shared = allocations->source.host->skeleton->bss;
	uint64_t before = shared->pfs_allocation_period;
	uint64_t period = pace_better_period(before, a_second,
										 (uint64_t) allocations->source.host->settings.probe_rate,
										 ALLOCATION_PERIOD, ALLOCATION_PERIOD_MAX);

	/* periods are odd, except the first one */
	if (period == before || period == (before | 1))
		return;
	shared->pfs_allocation_period = period;
	if (period > allocations->longest_period)
		allocations->longest_period = period;
	log_event(LOG_INFO, "sampler", "changed the sampling period of allocations",
			  log_number("period_bytes", (int64_t) period),
			  log_number("samples_a_second", (int64_t) a_second));
}

/* Watches calls for one second in several if watching all would cost too much CPU time. */
static void
pace_calls(Allocations *allocations, uint64_t a_second)
{
	uint64_t limit = allocations->calls_a_second;
	uint64_t wanted = (a_second + limit - 1) / limit;
	uint32_t one_in = allocations->source.host->skeleton->bss->pfs_calls_one_in;

	if (wanted < 1)
		wanted = 1;
	if (wanted > CALLS_ONE_IN_MAX)
		wanted = CALLS_ONE_IN_MAX;
	if (wanted == 1 && one_in == 1)
		return;
	if (wanted != one_in)
		log_event(LOG_INFO, "sampler", "watching allocations only one second out of several",
				  log_number("one_in", (int64_t) wanted),
				  log_number("calls_a_second", (int64_t) a_second));
	allocations->source.host->skeleton->bss->pfs_calls_one_in = (uint32_t) wanted;
	if (wanted > allocations->fewest_calls)
		allocations->fewest_calls = (uint32_t) wanted;
	if (wanted > 1)
		allocations_look_away(allocations);
}

/* Watches calls again when the pause is over. */
static void
look_again(Allocations *allocations)
{
	Failure failure;

	allocations->seconds++;
	if (allocations->seconds + 1 >= allocations->source.host->skeleton->bss->pfs_calls_one_in &&
		allocations_attach(&allocations->source, &failure) != EXIT_OK)
		failure_log(&failure, "sampler");
}

/* Adapts the period, and how long calls are watched, about once a second. */
static void
allocations_pace(Source *source, const uint64_t counters[PFS_COUNTER_COUNT], int64_t now_ns)
{
	Allocations *allocations = (Allocations *) source;
	uint64_t kept = counters[PFS_COUNTER_ALLOCATIONS] - allocations->kept;
	uint64_t passed_ns;
	uint64_t calls;

	if (pace_is_due(&allocations->pace, counters[PFS_COUNTER_CALLS], now_ns, &calls, &passed_ns))
	{
		if (allocations->watching)
		{
			pace_kept(allocations, kept * NS_PER_S / passed_ns);
			pace_calls(allocations, calls);
		}
		else
			look_again(allocations);
	}
	if (allocations->pace.then_ns == now_ns)
		allocations->kept = counters[PFS_COUNTER_ALLOCATIONS];
}

static uint64_t
allocations_looking_ns(const uint64_t counters[PFS_COUNTER_COUNT])
{
	return counters[PFS_COUNTER_CALLS] * CALL_NS;
}

static size_t
allocations_figures(const Source *source, const uint64_t counters[PFS_COUNTER_COUNT],
					SourceFigure figures[SOURCE_FIGURES_MAX])
{
	const Allocations *allocations = (const Allocations *) source;

	figures[0] = (SourceFigure){ "allocations", counters[PFS_COUNTER_ALLOCATIONS] };
	figures[1] = (SourceFigure){ "allocation_period_bytes",
								 allocations != NULL ? allocations->longest_period : 0 };
	figures[2] = (SourceFigure){ "calls", counters[PFS_COUNTER_CALLS] };
	figures[3] =
		(SourceFigure){ "calls_one_in", allocations != NULL ? allocations->fewest_calls : 0 };
	return 4;
}

const SampleSource allocations_source = {
	.name = "allocations",
	.events = PFS_COUNTER_ALLOCATIONS,
	.is_tended = true,
	.wanted = allocations_wanted,
	.slots = allocations_slots,
	.choose = allocations_choose,
	.prepare = allocations_prepare,
	.free = allocations_free,
	.attach = allocations_attach,
	.detach = allocations_detach,
	.pace = allocations_pace,
	.restrain = allocations_restrain,
	.looking_ns = allocations_looking_ns,
	.figures = allocations_figures,
	.missing = allocations_missing,
};
