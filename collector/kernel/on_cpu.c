/*
 * on_cpu.c
 *		The sampling clock of each CPU.
 *
 * The clock is the kernel's software CPU clock: every virtual machine has it, and its period is
 * exact.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <time.h>
#include <unistd.h>

#include <bpf/libbpf.h>
#include <linux/perf_event.h>

#include "base/clock.h"
#include "base/log.h"
#include "kernel/source.h"
#include "process/cpu_event.h"
#include "process/cpu_list.h"
#include "profiler.skel.h"

#define SPREAD_MOST_NS INT64_C(100000000)
#define TICK_SLACK_NS  UINT64_C(10000000) /* a tick may be this late when its clock is read */

typedef struct OnCpu
{
	Source source;
	uint32_t frequency_hz;
	struct bpf_link *links[CPU_LIST_MAX];
	int fds[CPU_LIST_MAX]; /* the perf events that the links hold */
	CpuEventClock clocks[CPU_LIST_MAX];
	uint64_t periods_ns[CPU_LIST_MAX];
	uint64_t ended_ticks; /* number of ticks that were due from clocks that are closed by now */
	uint64_t missed_ticks;
	uint64_t missing_ticks; /* ticks that were missing at the last reading */
} OnCpu;

static ExitCode
on_cpu_prepare(const SourceHost *host, uint32_t slot, Source **source, Failure *failure)
{
	OnCpu *on_cpu = calloc(1, sizeof(*on_cpu));

	if (on_cpu == NULL)
		return failure_out_of_memory(failure);
	on_cpu->source.host = host;
	on_cpu->frequency_hz = host->frequency_hz;
	*source = &on_cpu->source;
	return EXIT_OK;
}

static void
on_cpu_free(Source *source)
{
	free(source);
}

/*
 * Waits before the clock of a CPU is opened. Clocks that tick at the same moment would contend for
 * cache lines and fill the ring together, so they are opened one after the other, spread over a
 * period or the longest acceptable wait.
 */
static void
on_cpu_wait_for_turn(const CpuTurn *turn, uint32_t frequency_hz)
{
	int64_t spread_ns = (int64_t) (NS_PER_S / frequency_hz);
	int64_t begin_ns;
	struct timespec until;

	if (spread_ns > SPREAD_MOST_NS)
		spread_ns = SPREAD_MOST_NS;
	begin_ns = turn->begin_ns + spread_ns * turn->number / turn->count;
	until = (struct timespec){ begin_ns / (int64_t) NS_PER_S, begin_ns % (int64_t) NS_PER_S };
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
}

/* Returns how many ticks a CPU's clock should have made by its last reading. */
static uint64_t
ticks_due(const OnCpu *on_cpu, uint32_t cpu)
{
	uint64_t period_ns = on_cpu->periods_ns[cpu];
	uint64_t slack_ns = period_ns / 2 < TICK_SLACK_NS ? period_ns / 2 : TICK_SLACK_NS;

	if (on_cpu->links[cpu] == NULL || on_cpu->clocks[cpu].enabled_ns < slack_ns)
		return 0;
	return (on_cpu->clocks[cpu].enabled_ns - slack_ns) / period_ns;
}

/*
 * Counts missed ticks. While another BPF program, or a system call that changes a map, runs on the
 * CPU, the kernel skips our program without reporting it. Ticks are also missed while interrupts
 * are disabled for longer than a period.
 */
static void
on_cpu_followed(Source *source, const uint64_t counters[PFS_COUNTER_COUNT])
{
	OnCpu *on_cpu = (OnCpu *) source;
	uint64_t ticks = source_ticks(counters);
	uint64_t due = on_cpu->ended_ticks;
	uint64_t missed;

	for (uint32_t cpu = 0; cpu < CPU_LIST_MAX; cpu++)
		due += ticks_due(on_cpu, cpu);
	/*
	 * The counters are not read at one moment, so a tick counts as missed only if two readings lack
	 * it.
	 */
	missed = due > ticks ? due - ticks : 0;
	if (missed > on_cpu->missed_ticks && on_cpu->missing_ticks > on_cpu->missed_ticks)
	{
		uint64_t agreed = MIN(missed, on_cpu->missing_ticks);

		losses_add(source->host->losses, LOSS_TICKS_MISSED, agreed - on_cpu->missed_ticks);
		on_cpu->missed_ticks = agreed;
	}
	on_cpu->missing_ticks = missed;
}

/* Closes the CPU's clock, and adds the ticks that it should have made to ended_ticks. */
static void
on_cpu_detach_cpu(Source *source, uint32_t cpu)
{
	OnCpu *on_cpu = (OnCpu *) source;

	if (on_cpu->links[cpu] == NULL)
		return;
	(void) cpu_event_lives(on_cpu->fds[cpu], &on_cpu->clocks[cpu]);
	on_cpu->ended_ticks += ticks_due(on_cpu, cpu);
	bpf_link__destroy(on_cpu->links[cpu]);
	on_cpu->links[cpu] = NULL;
}

/* Opens the clock of a CPU and attaches the program to it; closes the CPU's previous clock. */
static int
on_cpu_attach_cpu(Source *source, uint32_t cpu, const CpuTurn *turn)
{
	OnCpu *on_cpu = (OnCpu *) source;
	struct perf_event_attr attributes = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attributes),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = NS_PER_S / on_cpu->frequency_hz,
	};
	struct bpf_link *link;
	int fd;

	if (turn != NULL)
		on_cpu_wait_for_turn(turn, on_cpu->frequency_hz);
	fd = cpu_event_open(&attributes, cpu);
	if (fd < 0)
		return fd;
	link = bpf_program__attach_perf_event(source->host->skeleton->progs.pfs_on_cpu, fd);
	if (link == NULL)
	{
		int result = -errno;

		close(fd);
		return result;
	}
	on_cpu_detach_cpu(source, cpu);
	on_cpu->links[cpu] = link; /* the link owns the descriptor */
	on_cpu->periods_ns[cpu] = attributes.sample_period;
	on_cpu->fds[cpu] = fd;
	on_cpu->clocks[cpu] = (CpuEventClock){ 0 };
	return 0;
}

static bool
on_cpu_cpu_lives(Source *source, uint32_t cpu)
{
	OnCpu *on_cpu = (OnCpu *) source;

	return cpu_event_lives(on_cpu->fds[cpu], &on_cpu->clocks[cpu]);
}

/* Changes the period of the open clocks. */
static void
on_cpu_restrain(Source *source, uint32_t part, uint32_t whole)
{
	OnCpu *on_cpu = (OnCpu *) source;
	CpuTurn turn = { .begin_ns = clock_ns(CLOCK_MONOTONIC) };

	on_cpu->frequency_hz = (uint32_t) ((uint64_t) source->host->frequency_hz * part / whole);
	for (uint32_t cpu = 0; cpu < CPU_LIST_MAX; cpu++)
		turn.count += on_cpu->links[cpu] != NULL;
	for (uint32_t cpu = 0; cpu < CPU_LIST_MAX; cpu++)
	{
		int result = on_cpu->links[cpu] != NULL ? on_cpu_attach_cpu(source, cpu, &turn) : 0;

		turn.number += on_cpu->links[cpu] != NULL;
		if (result != 0)
			log_event(LOG_WARNING, "sampler", "could not change a CPU's frequency",
					  log_number("cpu", cpu), log_text("detail", strerror(-result)));
	}
}

const SampleSource on_cpu_source = {
	.name = "on_cpu",
	.events = PFS_COUNTER_EVENTS,
	.levels = 1,
	.prepare = on_cpu_prepare,
	.free = on_cpu_free,
	.attach_cpu = on_cpu_attach_cpu,
	.detach_cpu = on_cpu_detach_cpu,
	.cpu_lives = on_cpu_cpu_lives,
	.followed = on_cpu_followed,
	.restrain = on_cpu_restrain,
};
