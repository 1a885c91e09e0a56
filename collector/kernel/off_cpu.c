/*
 * off_cpu.c
 *		Chooses the BPF programs that observe waits, and the part of the waits that is kept.
 */
#include "kernel/off_cpu.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <unistd.h>

#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "base/clock.h"
#include "base/log.h"
#include "kernel/source.h"
#include "kernel/wait_round.h"
#include "process/proc_file.h"
#include "profiler.skel.h"

#define KPROBES_FILE	"/sys/bus/event_source/devices/kprobe/type"
#define SWITCH_NAME		"finish_task_switch"
#define NAME_BYTES		128
#define PACE_NS			INT64_C(1000000000)
#define STAT_FILE		"/proc/stat"
#define STAT_BYTES		(1 << 20)
/* limit of the rate at which the iterator visits threads; each batch of waits visits all once */
#define VISITS_A_SECOND UINT64_C(100000)
/* A larger value could leave an interval without a sample. */
#define FEWEST_MAX		16

typedef struct OffCpu
{
	Source source;
	char probed[NAME_BYTES]; /* function that is probed; "": the tracepoint is used */
	struct bpf_link *switch_link;
	struct bpf_link *birth_link;
	WaitRounds rounds;
	_Atomic uint64_t switches_a_second; /* limit from the settings, or less; 0: no limit */
	uint64_t waits;						/* counter of waits when the rate was last checked */
	uint64_t switches;
	int64_t paced_ns; /* time at which the rates were last checked */
	uint64_t longest_ns;
	/* seconds since switches were last switched between watched and not watched */
	uint32_t seconds;
	uint32_t fewest; /* the smallest watched part so far: one switch of this many */
} OffCpu;

/*
 * Finds the name that this kernel's compiler gave to finish_task_switch(), for example with a
 * suffix.
 */
static bool
find_switch_function(char name[NAME_BYTES])
{
	FILE *file = fopen("/proc/kallsyms", "re");
	char line[512];
	bool found = false;

	if (file == NULL)
		return false;
	while (!found && fgets(line, sizeof(line), file) != NULL)
	{
		char type;

		/*
		 * compilers append suffixes such as .isra.0 to clones; a part named .cold is never called
		 */
		found = sscanf(line, "%*s %c %127s", &type, name) == 2 && (type == 't' || type == 'T') &&
				strncmp(name, SWITCH_NAME, strlen(SWITCH_NAME)) == 0 &&
				strchr("." /* and the end of the name */, name[strlen(SWITCH_NAME)]) != NULL &&
				strstr(name, ".cold") == NULL;
	}
	fclose(file);
	return found;
}

/*
 * Returns true if the kernel has all helpers that the programs call. Compares their names, because
 * their numbers in our headers may differ from the kernel's.
 */
static bool
has_helpers(void)
{
	static const char *const names[] = { "BPF_FUNC_task_storage_get", "BPF_FUNC_get_task_stack",
										 "BPF_FUNC_task_pt_regs", "BPF_FUNC_find_vma" };
	struct btf *btf = btf__load_vmlinux_btf();
	int id = btf == NULL ? -1 : btf__find_by_name_kind(btf, "bpf_func_id", BTF_KIND_ENUM);
	size_t found = 0;

	if (id > 0)
	{
		const struct btf_type *type = btf__type_by_id(btf, (uint32_t) id);

		for (int i = 0; i < btf_vlen(type); i++)
		{
			const char *name = btf__name_by_offset(btf, btf_enum(type)[i].name_off);

			for (size_t wanted = 0; wanted < sizeof(names) / sizeof(names[0]); wanted++)
				found += strcmp(name, names[wanted]) == 0;
		}
	}
	btf__free(btf);
	return found == sizeof(names) / sizeof(names[0]);
}

static bool
has_tracepoint(void)
{
	return libbpf_find_vmlinux_btf_id("sched_exit_tp", BPF_TRACE_RAW_TP) > 0;
}

static const char *
find_missing(char probed[NAME_BYTES])
{
	probed[0] = '\0';
	if (!has_helpers())
		return "Sampling of waits requires Linux 5.17.";
	if (has_tracepoint() || (access(KPROBES_FILE, R_OK) == 0 && find_switch_function(probed)))
		return NULL;
	return "The kernel has neither the tracepoint sched_exit_tp (6.15) nor kprobes.";
}

static const char *
off_cpu_missing(const char **how)
{
	char probed[NAME_BYTES];
	const char *missing = find_missing(probed);

	*how = missing != NULL ? "" : probed[0] != '\0' ? "kprobe" : "sched_exit_tp";
	return missing;
}

static bool
off_cpu_wanted(const SourceSettings *settings)
{
	return settings->off_cpu_period_ns > 0;
}

static void
off_cpu_detach(Source *source)
{
	OffCpu *off_cpu = (OffCpu *) source;

	bpf_link__destroy(off_cpu->switch_link);
	bpf_link__destroy(off_cpu->birth_link);
	off_cpu->switch_link = NULL;
	off_cpu->birth_link = NULL;
	wait_rounds_detach(&off_cpu->rounds);
}

static void
off_cpu_free(Source *source)
{
	OffCpu *off_cpu = (OffCpu *) source;

	off_cpu_detach(source);
	wait_rounds_fini(&off_cpu->rounds);
	free(off_cpu);
}

/* Returns the number of scratches for the iterators of ongoing waits. */
static uint32_t
off_cpu_slots(int possible_cpus)
{
	return 1;
}

static void
off_cpu_choose(struct profiler *skeleton, bool wanted)
{
	(void) bpf_map__set_autocreate(skeleton->maps.pfs_waits, wanted);
	(void) bpf_program__set_autoload(skeleton->progs.pfs_switch_end, wanted);
	(void) bpf_program__set_autoload(skeleton->progs.pfs_switch_probe, wanted);
	(void) bpf_program__set_autoload(skeleton->progs.pfs_thread_born, wanted);
	(void) bpf_program__set_autoload(skeleton->progs.pfs_tend_waits, wanted);
	(void) bpf_program__set_autoload(skeleton->progs.pfs_confirm_waits, wanted);
}

/*
 * Reduces the rate above which switches are watched only part of the time, to part/whole of the
 * setting.
 */
static void
off_cpu_restrain(Source *source, uint32_t part, uint32_t whole)
{
	OffCpu *off_cpu = (OffCpu *) source;
	uint64_t all = source->host->settings.off_cpu_switches;

	off_cpu->switches_a_second = all > 0 && all * part / whole == 0 ? 1 : all * part / whole;
}

/* Checks the kernel, and sets the programs' constants. */
static ExitCode
off_cpu_prepare(const SourceHost *host, uint32_t slot, Source **source, Failure *failure)
{
	struct profiler *skeleton = host->skeleton;
	uint64_t period_ns = host->settings.off_cpu_period_ns;
	OffCpu *off_cpu = calloc(1, sizeof(*off_cpu));
	const char *missing;

	if (off_cpu == NULL || wait_rounds_init(&off_cpu->rounds, host) != 0)
	{
		free(off_cpu);
		return failure_out_of_memory(failure);
	}
	off_cpu->source.host = host;
	off_cpu_restrain(&off_cpu->source, 1, 1);
	off_cpu->longest_ns = period_ns;
	off_cpu->fewest = 1;
	missing = find_missing(off_cpu->probed);
	if (missing != NULL)
	{
		off_cpu_free(&off_cpu->source);
		failure_set(failure, EXIT_PRIVILEGE, "cannot sample waits on this host");
		failure_detail(failure, "%s", missing);
		failure_hint(failure, "Omit --off-cpu.");
		return failure->code;
	}
	skeleton->rodata->pfs_tend_slot = slot;
	skeleton->bss->pfs_wait_period = period_ns;
	skeleton->bss->pfs_tend_one_in = 1;
	skeleton->bss->pfs_watch_one_in = 1;
	/* do not load the program for the hook that is not used */
	(void) bpf_program__set_autoload(off_cpu->probed[0] != '\0' ? skeleton->progs.pfs_switch_end
																: skeleton->progs.pfs_switch_probe,
									 false);
	*source = &off_cpu->source;
	return EXIT_OK;
}

static ExitCode
off_cpu_refused(Failure *failure, const char *what)
{
	int error = errno;

	failure_set(failure, EXIT_BPF, "could not attach the BPF programs for waits");
	failure_detail(failure, "%s: %s.", what, strerror(error));
	return failure->code;
}

/* Starts watching waits. */
static ExitCode
watch(OffCpu *off_cpu, Failure *failure)
{
	struct profiler *skeleton = off_cpu->source.host->skeleton;

	/*
	 * Waits that began while switches were not watched have an unknown length, so they begin here.
	 */
	wait_rounds_forget(&off_cpu->rounds);
	if (off_cpu->probed[0] != '\0')
		off_cpu->switch_link =
			bpf_program__attach_kprobe(skeleton->progs.pfs_switch_probe, false, off_cpu->probed);
	else
		off_cpu->switch_link = bpf_program__attach(skeleton->progs.pfs_switch_end);
	if (off_cpu->switch_link == NULL)
		return off_cpu_refused(failure,
							   off_cpu->probed[0] != '\0' ? off_cpu->probed : "sched_exit_tp");
	return EXIT_OK;
}

uint64_t
off_cpu_allowed_waits(uint64_t samples_a_second, uint64_t round_ns, uint64_t threads)
{
	uint64_t samples = samples_a_second * round_ns / NS_PER_S / 2 + 1;
	uint64_t visits = VISITS_A_SECOND * round_ns / NS_PER_S;
	uint64_t batches = threads > 0 ? visits / threads : visits;
	uint64_t waits = (batches > 0 ? batches : 1) * WAIT_ROUND_BATCH_WAITS;

	return MIN(samples, waits);
}

/*
 * Chooses the fraction of ongoing waits that the next round stores, so that their number stays
 * within the limit if there are as many as in this round.
 */
static void
pace_tending(OffCpu *off_cpu)
{
	const SourceHost *host = off_cpu->source.host;
	struct profiler__bss *shared = host->skeleton->bss;
	uint64_t round_ns = shared->pfs_watch_one_in * NS_PER_S;
	uint64_t allowed;
	uint32_t one_in;

	if (shared->pfs_watch_one_in == 1 || round_ns > host->interval_ns)
		round_ns = host->interval_ns;
	allowed = off_cpu_allowed_waits((uint64_t) host->settings.off_cpu_rate, round_ns,
									shared->pfs_threads_visited);
	one_in = (uint32_t) ((shared->pfs_waits_tended + allowed - 1) / allowed);
	if (one_in < 1)
		one_in = 1;
	if (one_in != shared->pfs_tend_one_in)
		log_event(LOG_INFO, "sampler", "storing only one of several ongoing waits",
				  log_number("one_in", one_in),
				  log_number("waits", (int64_t) shared->pfs_waits_tended));
	shared->pfs_tend_one_in = one_in;
}

/* Stores the ongoing waits, each with its length so far. */
static void
close_waits(OffCpu *off_cpu)
{
	struct profiler__bss *shared = off_cpu->source.host->skeleton->bss;

	shared->pfs_waits_tended = 0;
	shared->pfs_threads_visited = 0;
	if (wait_rounds_run(&off_cpu->rounds))
		pace_tending(off_cpu);
}

/* Stops watching waits for a while. */
static void
off_cpu_look_away(OffCpu *off_cpu)
{
	struct profiler__bss *shared = off_cpu->source.host->skeleton->bss;

	shared->pfs_tend_ends = 1;
	close_waits(off_cpu);
	shared->pfs_tend_ends = 0;
	/* The ongoing waits were stored first, because nobody will see their ends. */
	bpf_link__destroy(off_cpu->switch_link);
	off_cpu->switch_link = NULL;
}

static ExitCode
off_cpu_attach(Source *source, Failure *failure)
{
	OffCpu *off_cpu = (OffCpu *) source;
	struct profiler *skeleton = source->host->skeleton;

	/*
	 * attach to births first, then visit the existing threads: a thread born in between is then
	 * seen twice rather than missed
	 */
	off_cpu->birth_link = bpf_program__attach(skeleton->progs.pfs_thread_born);
	if (off_cpu->birth_link == NULL)
		return off_cpu_refused(failure, "task_newtask");
	errno = -wait_rounds_attach(&off_cpu->rounds);
	if (errno != 0)
		return off_cpu_refused(failure, "iterator");
	return watch(off_cpu, failure);
}

/* Stores the ongoing waits in the current window, each with its length so far. */
static void
off_cpu_tend(Source *source, bool last)
{
	OffCpu *off_cpu = (OffCpu *) source;

	if (off_cpu->switch_link == NULL)
		return;
	if (last)
		off_cpu_look_away(off_cpu);
	else
		close_waits(off_cpu);
}

/* If watching all switches would cost too much CPU time, watches them for one second in several. */
static void
pace_switches(OffCpu *off_cpu, uint64_t a_second)
{
	uint64_t limit = off_cpu->switches_a_second;
	uint64_t wanted = limit > 0 ? (a_second + limit - 1) / limit : 1;
	struct profiler__bss *shared = off_cpu->source.host->skeleton->bss;
	uint32_t one_in = shared->pfs_watch_one_in;
	Failure failure;

	off_cpu->seconds++;
	/* The pause lasts one_in - 1 seconds, after which one second is watched. */
	if (off_cpu->switch_link == NULL && off_cpu->seconds + 1 >= one_in)
	{
		off_cpu->seconds = 0;
		if (watch(off_cpu, &failure) != EXIT_OK)
			failure_log(&failure, "sampler");
		return;
	}
	if (off_cpu->switch_link == NULL)
		return;
	wanted = wanted < 1 ? 1 : wanted > FEWEST_MAX ? FEWEST_MAX : wanted;
	if (wanted == 1 && one_in == 1)
		return;
	/* watching has to restart, because samples are weighted by the counts at its start */
	off_cpu_look_away(off_cpu);
	off_cpu->seconds = 0;
	if (wanted != one_in)
		log_event(LOG_INFO, "sampler", "watching context switches only one second out of several",
				  log_number("one_in", (int64_t) wanted),
				  log_number("switches_a_second", (int64_t) a_second));
	shared->pfs_watch_one_in = (uint32_t) wanted;
	if (wanted > off_cpu->fewest)
		off_cpu->fewest = (uint32_t) wanted;
	if (wanted == 1 && watch(off_cpu, &failure) != EXIT_OK)
		failure_log(&failure, "sampler");
}

/* Adapts the period of waits to their rate while switches are watched. */
static void
pace_waits(OffCpu *off_cpu, uint64_t a_second)
{
	const SourceSettings *settings = &off_cpu->source.host->settings;
	struct profiler__bss *shared = off_cpu->source.host->skeleton->bss;
	uint64_t rate = (uint64_t) settings->off_cpu_rate;
	uint64_t period_ns = shared->pfs_wait_period;
	uint64_t wanted_ns = period_ns;

	if (a_second > rate)
		wanted_ns = MIN(2 * period_ns, OFF_CPU_PERIOD_NS_MAX);
	else if (a_second < rate / 4)
		wanted_ns = MAX(period_ns / 2, settings->off_cpu_period_ns);
	if (wanted_ns == period_ns)
		return;
	shared->pfs_wait_period = wanted_ns;
	if (wanted_ns > off_cpu->longest_ns)
		off_cpu->longest_ns = wanted_ns;
	log_event(LOG_INFO, "sampler", "changed the sampling period of waits",
			  log_number("period_us", (int64_t) (wanted_ns / 1000)),
			  log_number("samples_a_second", (int64_t) a_second));
}

/* Returns the context switches of all CPUs since boot; 0 if the kernel does not report them. */
static uint64_t
count_switches(void)
{
	char *text;
	const char *line;
	uint64_t switches = 0;

	if (proc_file_read(STAT_FILE, STAT_BYTES, &text, NULL) != 0)
		return 0;
	line = strstr(text, "\nctxt ");
	if (line != NULL)
		switches = strtoull(line + strlen("\nctxt "), NULL, 10);
	free(text);
	return switches;
}

/*
 * Adapts the period of waits and the watching of switches. The first call only takes the counters.
 */
static void
off_cpu_pace(Source *source, const uint64_t counters[PFS_COUNTER_COUNT], int64_t now_ns)
{
	OffCpu *off_cpu = (OffCpu *) source;
	uint64_t passed_ns = (uint64_t) (now_ns - off_cpu->paced_ns);
	bool first = off_cpu->paced_ns == 0;
	uint64_t waits = counters[PFS_COUNTER_WAITS];
	uint64_t waits_a_second;
	uint64_t switches_a_second;
	uint64_t switches;

	if (passed_ns < PACE_NS)
		return;
	switches = count_switches();
	waits_a_second = (waits - off_cpu->waits) * NS_PER_S / passed_ns;
	switches_a_second = (switches - off_cpu->switches) * NS_PER_S / passed_ns;
	off_cpu->waits = waits;
	off_cpu->switches = switches;
	off_cpu->paced_ns = now_ns;
	if (first)
		return;
	if (off_cpu->switch_link != NULL)
		pace_waits(off_cpu, waits_a_second);
	pace_switches(off_cpu, switches_a_second);
}

static uint64_t
off_cpu_looking_ns(const uint64_t counters[PFS_COUNTER_COUNT])
{
	return counters[PFS_COUNTER_LOOK_NS];
}

static size_t
off_cpu_figures(const Source *source, const uint64_t counters[PFS_COUNTER_COUNT],
				SourceFigure figures[SOURCE_FIGURES_MAX])
{
	const OffCpu *off_cpu = (const OffCpu *) source;

	figures[0] = (SourceFigure){ "waits", counters[PFS_COUNTER_WAITS] };
	figures[1] =
		(SourceFigure){ "wait_period_us", off_cpu != NULL ? off_cpu->longest_ns / 1000 : 0 };
	figures[2] = (SourceFigure){ "switches_one_in", off_cpu != NULL ? off_cpu->fewest : 1 };
	return 3;
}

const SampleSource off_cpu_source = {
	.name = "off_cpu",
	.events = PFS_COUNTER_WAITS,
	.levels = 1,
	.is_tended = true,
	.wanted = off_cpu_wanted,
	.slots = off_cpu_slots,
	.choose = off_cpu_choose,
	.prepare = off_cpu_prepare,
	.free = off_cpu_free,
	.attach = off_cpu_attach,
	.detach = off_cpu_detach,
	.tend = off_cpu_tend,
	.pace = off_cpu_pace,
	.restrain = off_cpu_restrain,
	.looking_ns = off_cpu_looking_ns,
	.figures = off_cpu_figures,
	.missing = off_cpu_missing,
};
