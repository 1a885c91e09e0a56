/*
 * stop_events.h
 *		Makes all perf events of this process end, as those of a CPU do that goes away.
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

/* For as long as a CPU needs at least to go and come. */
#define AWAY_US 20000

/* The state that the kernel leaves them in is the same. Their number. */
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
