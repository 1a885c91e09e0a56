/*
 * agent_figures.c
 *		Collects the figures of a running agent.
 *
 * Values of labels come from the agent only, never from a profiled program: a program could
 * otherwise create any number of time series.
 */
#include "agent/agent_figures.h"

#include <sys/resource.h>

#include "kernel/source.h"
#include "metrics/writer_figures.h"

/* Adds the losses of one kind under one name. */
static void
add_losses_of(Figures *figures, Losses *losses, LossKind kind, const char *name, const char *help)
{
	for (Loss loss = 0; loss < LOSS_COUNT; loss++)
		if (loss_facts(loss)->kind == kind)
			figures_add(figures, (Figure){ name, help, "counter", loss_facts(loss)->reason,
										   losses_total(losses, loss) });
}

void
agent_figures_add_losses(Losses *losses, Figures *figures)
{
	add_losses_of(figures, losses, LOSS_LOST, "samples_lost_total", "Samples that were lost.");
	add_losses_of(figures, losses, LOSS_PARTIAL, "samples_incomplete_total",
				  "Samples that lack frames.");
	add_losses_of(figures, losses, LOSS_NOTE, "noted_total",
				  "Other events by reason; the README of the agent describes the reasons.");
}

/* Adds the time for which each thread has been busy with one piece of work. */
static void
add_threads(Figures *figures, const AgentFigureSources *sources)
{
	int64_t ring_ms;
	int64_t walker_ms;

	reader_busy_ms(sources->reader, &ring_ms, &walker_ms);
	figures_add_gauge(figures, "ring_busy_milliseconds",
					  "Time that the ring thread has spent on its present task.",
					  (uint64_t) ring_ms);
	figures_add_gauge(figures, "walker_busy_milliseconds",
					  "Time that the walker thread has spent on its present task.",
					  (uint64_t) walker_ms);
	figures_add_gauge(figures, "flusher_busy_milliseconds",
					  "Time that the flusher thread has spent on its present task.",
					  (uint64_t) flusher_busy_ms(sources->flusher));
}

static uint64_t
timeval_ms(struct timeval time)
{
	return (uint64_t) time.tv_sec * 1000 + (uint64_t) time.tv_usec / 1000;
}

/* Adds the agent's own CPU time and memory. */
static void
add_own_cost(Figures *figures)
{
	struct rusage own;
	struct rusage workers;

	if (getrusage(RUSAGE_SELF, &own) != 0 || getrusage(RUSAGE_CHILDREN, &workers) != 0)
		return;
	/* RUSAGE_CHILDREN has only children that have ended, so the running worker is not included. */
	figures_add_counter(figures, "cpu_milliseconds_total",
						"CPU time of the agent and of its symbol workers that have ended.",
						timeval_ms(own.ru_utime) + timeval_ms(own.ru_stime) +
							timeval_ms(workers.ru_utime) + timeval_ms(workers.ru_stime));
	figures_add_gauge(figures, "max_resident_bytes", "Largest resident memory of the agent so far.",
					  (uint64_t) own.ru_maxrss * 1024);
}

void
agent_figures_add(const AgentFigureSources *sources, Figures *figures)
{
	uint64_t counters[PFS_COUNTER_COUNT] = { 0 };
	WriterStats writer;

	/* Without memory leave the counters out, because zeros would look like a restart. */
	if (sampler_counters(sources->sampler, counters) == 0)
	{
		figures_add_counter(figures, "ticks_total", "Timer ticks of all sampled CPUs.",
							source_ticks(counters));
		figures_add_counter(figures, "ticks_idle_total", "Ticks in which a CPU was idle.",
							counters[PFS_COUNTER_IDLE]);
		figures_add_counter(figures, "samples_total", "Samples that the kernel has taken.",
							counters[PFS_COUNTER_SAMPLES]);
	}
	figures_add_gauge(figures, "cpus_sampled", "CPUs that are being sampled.",
					  sampler_cpu_count(sources->sampler));
	add_threads(figures, sources);
	add_own_cost(figures);
	writer_stats(sources->writer, &writer);
	writer_figures_add(figures, &writer);
	agent_figures_add_losses(sources->losses, figures);
}
