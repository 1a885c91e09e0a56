/*
 * stalled_processes.c
 *		Searches a small array.
 */
#include "agent/reader/stalled_processes.h"

#include <stddef.h>

/* Returns the entry of a process; NULL if there is none. */
static StalledProcess *
stalled_processes_find(StalledProcesses *stalled, const ExecImage *process)
{
	for (size_t i = 0; i < STALLED_MAX; i++)
	{
		StalledProcess *each = &stalled->processes[i];

		if (each->pid == process->pid && each->start_time_ns == process->start_time_ns)
			return each;
	}
	return NULL;
}

/* Returns whether the entry is free: the next stall of its process would count as the first. */
static bool
stalled_process_is_over(const StalledProcess *process, uint64_t now_ns)
{
	return process->stall.length_ns == 0 ||
		   process->stall.until_ns + process->stall.length_ns <= now_ns;
}

static size_t
stalled_processes_of(const StalledProcesses *stalled, uint64_t owner)
{
	size_t count = 0;

	for (size_t i = 0; i < STALLED_MAX; i++)
		count += stalled->processes[i].owner == owner;
	return count;
}

/* Returns an entry to use for another process: a free one, or one of the owner with the most. */
static StalledProcess *
stalled_processes_take(StalledProcesses *stalled, uint64_t now_ns)
{
	StalledProcess *taken = &stalled->processes[0];
	size_t most = 0;

	for (size_t i = 0; i < STALLED_MAX; i++)
	{
		StalledProcess *each = &stalled->processes[i];
		size_t count;

		if (stalled_process_is_over(each, now_ns))
			return each;
		count = stalled_processes_of(stalled, each->owner);
		if (count > most || (count == most && each->stall.until_ns < taken->stall.until_ns))
		{
			taken = each;
			most = count;
		}
	}
	stalled->displaced++;
	return taken;
}

bool
stalled_processes_put_off(StalledProcesses *stalled, const ExecImage *process, uint64_t now_ns)
{
	const StalledProcess *known = stalled_processes_find(stalled, process);
	bool is_stalled = known != NULL && now_ns < known->stall.until_ns;

	stalled->put_off += is_stalled;
	return is_stalled;
}

void
stalled_processes_note(StalledProcesses *stalled, const ExecImage *process, uint64_t owner,
					   uint64_t now_ns)
{
	StalledProcess *known = stalled_processes_find(stalled, process);

	if (known == NULL)
	{
		known = stalled_processes_take(stalled, now_ns);
		*known = (StalledProcess){ .pid = process->pid, .start_time_ns = process->start_time_ns };
	}
	known->owner = owner;
	stall_note(&known->stall, now_ns);
}
