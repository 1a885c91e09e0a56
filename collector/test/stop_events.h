/*
 * stop_events.h
 *		Ends all perf events of this process, like those of a CPU that goes offline.
 */
#ifndef COLLECTOR_TEST_STOP_EVENTS_H
#define COLLECTOR_TEST_STOP_EVENTS_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <linux/perf_event.h>

#define STOP_EVENTS_MAX_FD 256

/* Time that a CPU needs at least to go offline and online. */
#define AWAY_US 20000

/* Ends the events, in which the kernel leaves an equal state. Returns their number. */
static inline uint32_t
stop_events(void)
{
	uint32_t stopped = 0;

	for (int fd = 0; fd < STOP_EVENTS_MAX_FD; fd++)
	{
		char path[64];
		char target[64] = "";

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		if (readlink(path, target, sizeof(target) - 1) > 0 &&
			strcmp(target, "anon_inode:[perf_event]") == 0)
			stopped += ioctl(fd, PERF_EVENT_IOC_DISABLE, 0) == 0;
	}
	return stopped;
}

#endif
