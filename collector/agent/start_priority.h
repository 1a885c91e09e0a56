/*
 * start_priority.h
 *		The priority of the agent's threads while it starts.
 *
 * On a busy machine other processes would otherwise delay the first samples.
 */
#ifndef COLLECTOR_START_PRIORITY_H
#define COLLECTOR_START_PRIORITY_H

#include <stdbool.h>

typedef struct StartPriority
{
	bool is_raised; /* the threads have the priority of the start */
	int own_nice;	/* the priority with which the agent was started */
} StartPriority;

/*
 * Raises the priority of this thread, and so of all threads that it will start, if that is
 * permitted and they do not have it already.
 */
void start_priority_raise(StartPriority *priority);

/*
 * Returns all threads to the priority with which the agent was started, except threads that set
 * their own priority. Returns 0; -errno if the threads cannot be listed: then some keep the
 * priority of the start.
 */
int start_priority_end(StartPriority *priority);

#endif
