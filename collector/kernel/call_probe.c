/*
 * call_probe.c
 *		Links a BPF program to functions of files, and watches their calls for as much of the time
 *		as the limits allow.
 */
#include "kernel/call_probe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "base/clock.h"
#include "base/log.h"

#define UPROBES_FILE "/sys/bus/event_source/devices/uprobe/type"

/* Number of calls that cost as much CPU time as one walk of a stack. */
#define CALLS_PER_SAMPLE 50
#define CALLS_ONE_IN_MAX 64

/*
 * Deadline of attaching and detaching. The kernel takes a lock of each process that maps the file,
 * so a process can delay this for any time. Its thread is then left behind, and calls are not
 * watched until the thread has returned and call_probe_pace() has tried again.
 */
#define ATTACH_NS UINT64_C(10000000000)

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
	uint32_t pid; /* 0: calls of all processes */
	uint32_t padding;
};

/* Returns the kernel's number of this type of link; -1 if the kernel has no such type. */
static int
multi_probe_type(void)
{
	struct btf *btf = btf__load_vmlinux_btf();
	int id = btf == NULL ? -1 : btf__find_by_name_kind(btf, "bpf_attach_type", BTF_KIND_ENUM);
	int number = -1;

	/* Ask the running kernel, because the headers of this build may be older than it. */
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
call_probe_missing(void)
{
	if (access(UPROBES_FILE, R_OK) != 0)
		return "The kernel has no uprobes (CONFIG_UPROBE_EVENTS).";
	if (multi_probe_type() < 0)
		return "Sampling of calls requires Linux 6.6.";
	return NULL;
}

ExitCode
call_probe_require(const char *message, const char *name, Failure *failure)
{
	const char *missing = call_probe_missing();

	if (missing == NULL)
		return EXIT_OK;
	failure_set(failure, EXIT_PRIVILEGE, message);
	failure_detail(failure, "%s", missing);
	failure_hint(failure, "Remove %s from --probe.", name);
	return failure->code;
}

uint32_t
call_probe_slots(int possible_cpus)
{
	return (uint32_t) possible_cpus;
}

int
call_probe_init(CallProbe *probe, const SourceHost *host, const CallProbeKind *kind,
				struct bpf_program *program)
{
	if (patience_init(&probe->patience) != 0)
		return -ENOMEM;
	probe->source.host = host;
	probe->kind = kind;
	probe->program = program;
	probe->longest_period = kind->period;
	probe->fewest_calls = 1;
	*probe->shared_period = kind->period;
	*probe->shared_one_in = 1;
	call_probe_restrain(probe, 1, 1);
	/* libbpf does not know this attach type of kernels before 6.6, so it is set at run time */
	bpf_program__set_expected_attach_type(program, (enum bpf_attach_type) multi_probe_type());
	return 0;
}

bool
call_probe_unlink(CallProbe *probe, ProbedFile *file)
{
	if (file->link >= 0 && !patience_try_close(&probe->patience, file->link, ATTACH_NS))
		return false;
	file->link = -1;
	return true;
}

/*
 * Unlinks all files, so that calls cost nothing. A link that cannot be closed, because no thread is
 * available, still counts calls.
 */
void
call_probe_look_away(CallProbe *probe)
{
	for (size_t i = 0; i < probe->file_count; i++)
		(void) call_probe_unlink(probe, &probe->files[i]);
	probe->watching = false;
	probe->seconds = 0;
}

void
call_probe_fini(CallProbe *probe)
{
	call_probe_look_away(probe);
	for (size_t i = 0; i < probe->file_count; i++)
	{
		if (probe->files[i].fd >= 0)
			close(probe->files[i].fd);
	}
	patience_fini(&probe->patience);
}

void
call_probe_restrain(CallProbe *probe, uint32_t part, uint32_t whole)
{
	uint64_t rate = (uint64_t) probe->source.host->settings.probe_rate;
	uint64_t limit = rate * CALLS_PER_SAMPLE * part / whole;

	probe->calls_a_second = limit > 0 ? limit : 1;
}

/*
 * A deadline call that links the functions of a file. It owns all its data, because the call may
 * outlive the file.
 */
typedef struct LinkProbe
{
	Probe probe;
	ProbedFile file; /* a copy with its own descriptor */
	char path[64];
	struct uprobe_link link;
	int (*find)(ProbedFile *file);
	int error;
} LinkProbe;

/* Links the functions of a file, in a thread that the caller may give up waiting for. */
static void
run_link(Probe *base)
{
	LinkProbe *probe = (LinkProbe *) base;

	/* Functions are searched for here, under the deadline, because reading the file may block. */
	if (probe->file.count == 0)
		probe->error = probe->find(&probe->file);
	if (probe->error != 0)
		return;
	probe->link.offsets = (uintptr_t) probe->file.offsets;
	probe->link.cookies = (uintptr_t) probe->file.cookies;
	/* Without counters the pointer must be 0, otherwise the kernel reads offsets from it. */
	if (probe->file.counters[0] != 0)
		probe->link.reference_counters = (uintptr_t) probe->file.counters;
	probe->link.count = probe->file.count;
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

/* Allocates a probe, a call with a deadline, which owns copies of the file and its descriptor. */
static LinkProbe *
make_link_probe(const CallProbe *calls, const ProbedFile *file)
{
	LinkProbe *probe = calloc(1, sizeof(*probe));

	if (probe == NULL)
		return NULL;
	probe->probe = (Probe){ .run = run_link, .discard = discard_link };
	probe->file = *file;
	probe->file.fd = fcntl(file->fd, F_DUPFD_CLOEXEC, 0);
	probe->find = calls->kind->find;
	snprintf(probe->path, sizeof(probe->path), "/proc/self/fd/%d", probe->file.fd);
	probe->link = (struct uprobe_link){
		.program = (uint32_t) bpf_program__fd(calls->program),
		.attach_type = (uint32_t) bpf_program__expected_attach_type(calls->program),
		.path = (uintptr_t) probe->path,
	};
	return probe;
}

/*
 * Puts off attaching for a while, because a process that maps the file holds the lock of its
 * memory.
 */
static void
put_off(CallProbe *probe, const ProbedFile *file)
{
	call_probe_look_away(probe);
	stall_note(&probe->stall, (uint64_t) clock_ns(CLOCK_MONOTONIC));
	losses_add(probe->source.host->losses, LOSS_PROBES_HELD_UP, 1);
	log_event(LOG_WARNING, "sampler", "could not attach probes in time",
			  log_text("probe", probe->kind->name), log_text("file", file->name),
			  log_text("detail", "A process that maps the file holds its memory lock. "
								 "Calls are not sampled until it releases the lock."));
}

/*
 * Links one file. Returns 0; -EAGAIN if the kernel or the file does not answer in time, which is
 * logged; or another -errno.
 */
static int
link_file(CallProbe *probe, ProbedFile *file)
{
	LinkProbe *link = make_link_probe(probe, file);
	int result;

	if (link == NULL)
		return -ENOMEM;
	if (patience_run(&probe->patience, &link->probe, ATTACH_NS) != 0)
	{
		put_off(probe, file);
		return -EAGAIN;
	}
	result = link->error;
	if (result == 0)
	{
		/* The copy's descriptor is closed with the copy, so the file keeps its own. */
		int fd = file->fd;

		if (file->count == 0)
			log_event(LOG_INFO, "sampler", "probing a library",
					  log_text("probe", probe->kind->name), log_text("file", file->name),
					  log_number("functions", link->file.count));
		*file = link->file;
		file->fd = fd;
	}
	/* The link belongs to the file, so discard_link() must not close it. */
	link->file.link = -1;
	discard_link(&link->probe);
	return result;
}

/*
 * Returns true if a file may be linked. While a thread is left behind, the next attempt would wait
 * for the same lock.
 */
static bool
may_link(const CallProbe *probe)
{
	return (uint64_t) clock_ns(CLOCK_MONOTONIC) >= probe->stall.until_ns &&
		   prober_stuck(probe->patience.prober) == 0;
}

/*
 * Resets the accounts of waiting time. After a delay by other processes, the next attempt would
 * otherwise get no time to wait.
 */
static void
forget_waits(CallProbe *probe)
{
	Patience fresh;

	if (patience_init(&fresh) != 0)
		return;
	patience_fini(&probe->patience);
	probe->patience = fresh;
}

/* Marks a file that was found at run time as useless, because it cannot be probed. */
static void
give_up_file(const CallProbe *probe, ProbedFile *file, int error)
{
	file->is_useless = true;
	log_event(LOG_WARNING, "sampler", "could not probe a library",
			  log_text("probe", probe->kind->name), log_text("file", file->name),
			  log_text("detail", error == -ENOENT ? "The file has none of the functions."
												  : strerror(-error)));
}

void
call_probe_follow(CallProbe *probe, ProbedFile *file)
{
	int result;

	if (file->link >= 0 || file->is_useless || !may_link(probe) ||
		(!probe->watching && *probe->shared_one_in > 1))
		return;
	result = link_file(probe, file);
	if (result == 0)
		probe->watching = true;
	else if (result != -EAGAIN)
		give_up_file(probe, file, result);
}

ExitCode
call_probe_attach(CallProbe *probe, Failure *failure)
{
	if (!may_link(probe))
		return EXIT_OK;
	if (probe->stall.until_ns != 0)
		forget_waits(probe);
	for (size_t i = 0; i < probe->file_count; i++)
	{
		ProbedFile *file = &probe->files[i];
		int result = file->link >= 0 || file->is_useless ? 0 : link_file(probe, file);

		if (result == 0)
			continue;
		/* put_off() has unlinked all files, and call_probe_pace() tries again later. */
		if (result == -EAGAIN)
			return EXIT_OK;
		/* Users did not name this file, so it must not end the run. */
		if (probe->kind->find != NULL)
		{
			give_up_file(probe, file, result);
			continue;
		}
		failure_set(failure, EXIT_BPF, "could not probe functions");
		failure_detail(failure, "Probe \"%s\", file \"%s\": %s.", probe->kind->name, file->name,
					   strerror(-result));
		call_probe_look_away(probe);
		return failure->code;
	}
	probe->stall = (Stall){ 0 };
	probe->watching = probe->file_count > 0;
	return EXIT_OK;
}

/* Adapts the period to the rate of kept calls. */
static void
pace_kept(CallProbe *probe, uint64_t a_second)
{
	uint64_t before = *probe->shared_period;
	uint64_t period =
		pace_better_period(before, a_second, (uint64_t) probe->source.host->settings.probe_rate,
						   probe->kind->period_min, probe->kind->period_max);

	/*
	 * the BPF program makes all periods odd except the first, so an even and its odd neighbour are
	 * equal
	 */
	if (period == before || period == (before | 1))
		return;
	*probe->shared_period = period;
	if (period > probe->longest_period)
		probe->longest_period = period;
	log_event(LOG_INFO, "sampler", "changed the sampling period of a probe",
			  log_text("probe", probe->kind->name), log_number("period", (int64_t) period),
			  log_number("samples_a_second", (int64_t) a_second));
}

/* If watching all calls would cost too much CPU time, watches them for one second in several. */
static void
pace_calls(CallProbe *probe, uint64_t a_second)
{
	uint64_t limit = probe->calls_a_second;
	uint64_t wanted = (a_second + limit - 1) / limit;
	uint32_t one_in = *probe->shared_one_in;

	if (wanted < 1)
		wanted = 1;
	if (wanted > CALLS_ONE_IN_MAX)
		wanted = CALLS_ONE_IN_MAX;
	/* The rate is within the limit, and all calls are watched already. */
	if (wanted == 1 && one_in == 1)
		return;
	if (wanted != one_in)
		log_event(LOG_INFO, "sampler", "watching calls only one second out of several",
				  log_text("probe", probe->kind->name), log_number("one_in", (int64_t) wanted),
				  log_number("calls_a_second", (int64_t) a_second));
	*probe->shared_one_in = (uint32_t) wanted;
	if (wanted > probe->fewest_calls)
		probe->fewest_calls = (uint32_t) wanted;
	if (wanted > 1)
		call_probe_look_away(probe);
}

/* Watches calls again after the pause. */
static void
look_again(CallProbe *probe)
{
	Failure failure;

	probe->seconds++;
	if (probe->seconds + 1 >= *probe->shared_one_in &&
		call_probe_attach(probe, &failure) != EXIT_OK)
		failure_log(&failure, "sampler");
}

void
call_probe_pace(CallProbe *probe, const uint64_t counters[PFS_COUNTER_COUNT], int64_t now_ns)
{
	uint64_t kept = counters[probe->kind->kept] - probe->kept;
	uint64_t passed_ns;
	uint64_t calls;

	if (pace_is_due(&probe->pace, counters[probe->kind->calls], now_ns, &calls, &passed_ns))
	{
		if (probe->watching)
		{
			pace_kept(probe, kept * NS_PER_S / passed_ns);
			pace_calls(probe, calls);
		}
		else
			look_again(probe);
	}
	/* pace_is_due() has begun a new second, in its first call, too. */
	if (probe->pace.then_ns == now_ns)
		probe->kept = counters[probe->kind->kept];
}
