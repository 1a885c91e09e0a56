/*
 * start_priority.c
 *		Raises the priority of threads, and lowers it again.
 */
#include "agent/start_priority.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/directory.h"

#define START_NICE (-8)

void
start_priority_raise(StartPriority *priority)
{
	priority->own_nice = getpriority(PRIO_PROCESS, 0);
	priority->is_raised =
		priority->own_nice > START_NICE && setpriority(PRIO_PROCESS, 0, START_NICE) == 0;
}

int
start_priority_end(StartPriority *priority)
{
	const struct dirent *entry;
	DIR *threads;
	int err = directory_open(AT_FDCWD, "/proc/self/task", &threads);

	priority->is_raised = false;
	if (err != 0)
		return err;
	while ((err = directory_next(threads, &entry)) == 0 && entry != NULL)
	{
		id_t thread = (id_t) strtoul(entry->d_name, NULL, 10);

		if (thread != 0 && getpriority(PRIO_PROCESS, thread) == START_NICE)
			(void) setpriority(PRIO_PROCESS, thread, priority->own_nice);
	}
	closedir(threads);
	return err;
}
