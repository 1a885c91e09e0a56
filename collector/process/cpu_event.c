/*
 * cpu_event.c
 *		Opens per-CPU events and checks that they are alive by the event's own clock.
 */
#include "process/cpu_event.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"

/* How far the event's clock may lag behind. */
#define SLACK_NS UINT64_C(2000000)

/* PERF_FORMAT_TOTAL_TIME_ENABLED */
typedef struct Reading
{
	uint64_t count;
	uint64_t enabled_ns;
} Reading;

int
cpu_event_open(struct perf_event_attr *attributes, uint32_t cpu)
{
	int fd;

	attributes->read_format = PERF_FORMAT_TOTAL_TIME_ENABLED;
	fd = (int) syscall(SYS_perf_event_open, attributes, -1, (int) cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/*
 * Returns true if the event's clock has advanced since the last check, which it does while the
 * event is attached to an online CPU. Compared with CLOCK_MONOTONIC it may lag by SLACK_NS and by
 * 1/64 of the time since the last check, because the two clocks run at slightly different rates.
 */
bool
cpu_event_lives(int fd, CpuEventClock *clock)
{
	uint64_t before_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	uint64_t elapsed_ns = before_ns - clock->looked_ns;
	uint64_t since_ns = clock->enabled_ns;
	bool first = clock->looked_ns == 0;
	Reading reading;

	if (read(fd, &reading, sizeof(reading)) != (ssize_t) sizeof(reading))
		return false;
	clock->enabled_ns = reading.enabled_ns;
	clock->looked_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	return first || reading.enabled_ns - since_ns + SLACK_NS + elapsed_ns / 64 > elapsed_ns;
}
