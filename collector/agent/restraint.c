/*
 * restraint.c
 *		Measures the CPU time of this process, its symbol workers and the BPF program, and the
 *		resident memory.
 */
#include "agent/restraint.h"

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "process/proc_file.h"

#define INTERVAL_NS NS_PER_S

static int64_t
timeval_ns(struct timeval time)
{
	return (int64_t) time.tv_sec * NS_PER_S + (int64_t) time.tv_usec * 1000;
}

/* Returns the CPU time of a process so far; 0 if it does not exist. */
static int64_t
process_time_ns(pid_t pid)
{
	struct timespec time;
	clockid_t clock;

	if (pid == 0 || clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0)
		return 0;
	return (int64_t) time.tv_sec * NS_PER_S + time.tv_nsec;
}

/*
 * Reads the CPU times and memory. RUSAGE_CHILDREN is read before the live worker: if the worker
 * ends in between, this reading misses its time, but never counts it twice.
 */
static void
take_reading(const Restraint *restraint, int64_t now_ns, GovernorReading *reading)
{
	uint64_t counters[PFS_COUNTER_COUNT] = { 0 };
	struct rusage own = { 0 };
	struct rusage ended = { 0 };
	pid_t worker;

	(void) getrusage(RUSAGE_SELF, &own);
	(void) getrusage(RUSAGE_CHILDREN, &ended);
	worker = symbolizer_worker_pid(restraint->parts.symbolizer);
	(void) sampler_counters(restraint->parts.sampler, counters);
	reading->now_ns = now_ns;
	reading->cpu_ns = timeval_ns(own.ru_utime) + timeval_ns(own.ru_stime) +
					  timeval_ns(ended.ru_utime) + timeval_ns(ended.ru_stime) +
					  process_time_ns(worker) + (int64_t) sampler_foreign_ns(counters);
	/*
	 * Count private pages only, because the kernel's RSS includes the ring buffers that are mapped
	 * here.
	 */
	reading->resident_bytes = proc_private_bytes((uint32_t) getpid()) +
							  sampler_kernel_bytes(restraint->parts.sampler) +
							  reader_kernel_bytes(restraint->parts.reader);
	if (worker != 0)
		reading->resident_bytes += proc_private_bytes((uint32_t) worker);
}

void
restraint_init(Restraint *restraint, const GovernorLimits *limits, const RestraintParts *parts)
{
	GovernorReading reading;
	int64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	*restraint = (Restraint){
		.parts = *parts,
		.stats.frequency_lowest_hz = limits->frequency_hz,
		.next_ns = now_ns + INTERVAL_NS,
	};
	/* CPU time that was used before this reading is not charged. */
	take_reading(restraint, now_ns, &reading);
	governor_init(&restraint->governor, limits, &reading);
}

/* Passes a changed frequency on to the sampler, and logs it. */
static void
follow_frequency(Restraint *restraint, int64_t before_hz)
{
	int64_t frequency_hz = restraint->governor.frequency_hz;

	if (frequency_hz == before_hz)
		return;
	sampler_set_frequency(restraint->parts.sampler, (uint32_t) frequency_hz);
	restraint->stats.frequency_changes++;
	if (frequency_hz < restraint->stats.frequency_lowest_hz)
		restraint->stats.frequency_lowest_hz = frequency_hz;
	log_event(frequency_hz < before_hz ? LOG_WARNING : LOG_INFO, "restraint",
			  frequency_hz < before_hz ? "sampling less often to stay below --max-cpu"
									   : "sampling more often again",
			  log_number("frequency_hz", frequency_hz),
			  log_number("max_cpu_percent", restraint->governor.limits.cpu_percent),
			  log_text("hint",
					   frequency_hz < before_hz
						   ? "Raise --max-cpu to keep the frequency; the weights of samples "
							 "follow it."
						   : NULL));
}

/* Shrinks caches, and starts or stops the refusal of records, as the governor has decided. */
static void
follow_memory(Restraint *restraint, size_t resident_bytes, bool refused_before)
{
	const Governor *governor = &restraint->governor;

	if (governor->shrink)
	{
		restraint->stats.shrinks++;
		reader_shrink(restraint->parts.reader);
		flusher_shrink(restraint->parts.flusher);
	}
	if (governor->refuse == refused_before)
		return;
	reader_refuse(restraint->parts.reader, governor->refuse);
	log_event(governor->refuse ? LOG_WARNING : LOG_INFO, "restraint",
			  governor->refuse ? "dropping samples to stay below --max-memory"
							   : "keeping samples again",
			  log_number("resident_bytes", (int64_t) resident_bytes),
			  log_number("max_memory_bytes", (int64_t) governor->limits.memory_bytes),
			  log_text("hint", governor->refuse ? "Raise --max-memory, or sample fewer programs "
												  "(relabel_configs, action: drop)."
												: NULL));
}

void
restraint_tick(Restraint *restraint, int64_t now_ns)
{
	int64_t frequency_hz = restraint->governor.frequency_hz;
	bool symbols_wait = restraint->governor.symbols_wait;
	bool refuse = restraint->governor.refuse;
	GovernorReading reading;

	if (now_ns < restraint->next_ns)
		return;
	restraint->next_ns = now_ns + INTERVAL_NS;
	take_reading(restraint, now_ns, &reading);
	governor_observe(&restraint->governor, &reading);
	follow_frequency(restraint, frequency_hz);
	/* Names and unwind tables can be made later; samples cannot be taken later. */
	if (restraint->governor.symbols_wait != symbols_wait)
	{
		flusher_rest(restraint->parts.flusher, !symbols_wait);
		reader_rest(restraint->parts.reader, !symbols_wait);
	}
	follow_memory(restraint, reading.resident_bytes, refuse);
}
