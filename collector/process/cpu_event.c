/*
 * cpu_event.c
 *		Opening, and a look at the event's own clock.
 */
#include "process/cpu_event.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"

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
 * The event's clock counts while it is enabled on a CPU that is online; it may lag behind ours by
 * what the two differ, and never by what the look takes.
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
