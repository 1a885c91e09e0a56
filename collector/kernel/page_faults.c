/*
 * page_faults.c
 *		Perf events of page faults on each CPU; a part of the faults is kept.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <bpf/libbpf.h>
#include <linux/perf_event.h>

#include "base/log.h"
#include "kernel/pace.h"
#include "kernel/source.h"
#include "process/cpu_event.h"
#include "process/cpu_list.h"
#include "profiler.skel.h"

/* Odd, so that it seldom falls into step with the accesses of programs. */
#define FAULT_PERIOD	 97
#define FAULT_PERIOD_MAX (UINT64_C(1) << 30)

#define FAULT_KINDS 2

/* Counters PERF_COUNT_SW_PAGE_FAULTS_*, by kind. */
static const uint64_t fault_events[FAULT_KINDS] = { PERF_COUNT_SW_PAGE_FAULTS_MIN,
													PERF_COUNT_SW_PAGE_FAULTS_MAJ };

typedef struct FaultEvents
{
	struct bpf_link *links[FAULT_KINDS];
	int fds[FAULT_KINDS];
} FaultEvents;

typedef struct PageFaults
{
	Source source;
	FaultEvents cpus[CPU_LIST_MAX];
	uint64_t period;
	uint64_t longest_period;
	Pace pace;
} PageFaults;

static bool
page_faults_wanted(const SourceSettings *settings)
{
	return settings->probes.page_faults;
}

static void
page_faults_choose(struct profiler *skeleton, bool wanted)
{
	(void) bpf_program__set_autoload(skeleton->progs.pfs_minor_fault, wanted);
	(void) bpf_program__set_autoload(skeleton->progs.pfs_major_fault, wanted);
}

static ExitCode
page_faults_prepare(const SourceHost *host, uint32_t slot, Source **source, Failure *failure)
{
	PageFaults *faults = calloc(1, sizeof(*faults));

	if (faults == NULL)
		return failure_out_of_memory(failure);
	faults->source.host = host;
	faults->period = FAULT_PERIOD;
	faults->longest_period = FAULT_PERIOD;
	*source = &faults->source;
	return EXIT_OK;
}

static void
page_faults_free(Source *source)
{
	free(source);
}

static void
page_faults_detach_cpu(Source *source, uint32_t cpu)
{
	PageFaults *faults = (PageFaults *) source;

	for (int kind = 0; kind < FAULT_KINDS; kind++)
	{
		bpf_link__destroy(faults->cpus[cpu].links[kind]); /* closes the event */
		faults->cpus[cpu].links[kind] = NULL;
	}
}

/* Opens both counters of a CPU and attaches their programs. Closes the CPU's previous counters. */
static int
page_faults_attach_cpu(Source *source, uint32_t cpu, const CpuTurn *turn)
{
	PageFaults *faults = (PageFaults *) source;
	const struct profiler *skeleton = source->host->skeleton;
	struct bpf_program *programs[FAULT_KINDS] = { skeleton->progs.pfs_minor_fault,
												  skeleton->progs.pfs_major_fault };

	page_faults_detach_cpu(source, cpu);
	for (int kind = 0; kind < FAULT_KINDS; kind++)
	{
		struct perf_event_attr attributes = {
			.type = PERF_TYPE_SOFTWARE,
			.size = sizeof(attributes),
			.config = fault_events[kind],
			.sample_period = faults->period,
		};
		FaultEvents *events = &faults->cpus[cpu];
		int fd = cpu_event_open(&attributes, cpu);

		if (fd < 0)
			return fd;
		events->fds[kind] = fd;
		events->links[kind] = bpf_program__attach_perf_event(programs[kind], fd);
		if (events->links[kind] == NULL)
		{
			/* A link would own the event; without one it is closed here. */
			int result = -errno;

			close(fd);
			return result;
		}
	}
	return 0;
}

static void
set_fault_period(PageFaults *faults, uint64_t period)
{
	faults->period = period;
	if (period > faults->longest_period)
		faults->longest_period = period;
	/* CPUs that come online later are opened with the new period. */
	for (uint32_t cpu = 0; cpu < CPU_LIST_MAX; cpu++)
	{
		for (int kind = 0; kind < FAULT_KINDS; kind++)
		{
			if (faults->cpus[cpu].links[kind] != NULL &&
				ioctl(faults->cpus[cpu].fds[kind], PERF_EVENT_IOC_PERIOD, &period) != 0)
				log_event(LOG_WARNING, "sampler", "could not change the period of page faults",
						  log_number("cpu", cpu), log_text("detail", strerror(errno)));
		}
	}
}

/* Adapts the period to the rate of page faults. */
static void
page_faults_pace(Source *source, const uint64_t counters[PFS_COUNTER_COUNT], int64_t now_ns)
{
	PageFaults *faults = (PageFaults *) source;
	uint64_t passed_ns;
	uint64_t a_second;
	uint64_t period;

	if (!pace_is_due(&faults->pace, counters[PFS_COUNTER_FAULTS], now_ns, &a_second, &passed_ns))
		return;
	period =
		pace_better_period(faults->period, a_second, (uint64_t) source->host->settings.probe_rate,
						   FAULT_PERIOD, FAULT_PERIOD_MAX);
	if (period == faults->period)
		return;
	set_fault_period(faults, period);
	log_event(LOG_INFO, "sampler", "changed the sampling period of page faults",
			  log_number("period", (int64_t) period),
			  log_number("samples_a_second", (int64_t) a_second));
}

static size_t
page_faults_figures(const Source *source, const uint64_t counters[PFS_COUNTER_COUNT],
					SourceFigure figures[SOURCE_FIGURES_MAX])
{
	const PageFaults *faults = (const PageFaults *) source;

	figures[0] = (SourceFigure){ "page_faults", counters[PFS_COUNTER_FAULTS] };
	figures[1] = (SourceFigure){ "page_fault_period", faults != NULL ? faults->longest_period : 0 };
	return 2;
}

const SampleSource page_faults_source = {
	.name = "page_faults",
	.events = PFS_COUNTER_FAULTS,
	.wanted = page_faults_wanted,
	.choose = page_faults_choose,
	.prepare = page_faults_prepare,
	.free = page_faults_free,
	.attach_cpu = page_faults_attach_cpu,
	.detach_cpu = page_faults_detach_cpu,
	.pace = page_faults_pace,
	.figures = page_faults_figures,
};
