/*
 * stalled_processes.h
 *		Remembers processes whose memory did not answer a read in time, so that it is not read for a
 *		while.
 *
 * The memory is fixed. If it is full, the owner (process/owner.h) with the most of these processes
 * loses the one whose pause ends first, so an owner with many of them displaces only its own. Not
 * thread-safe.
 */
#ifndef COLLECTOR_STALLED_PROCESSES_H
#define COLLECTOR_STALLED_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>

#include "process/exec_image.h"
#include "process/patience.h"

#define STALLED_MAX 64 /* limit of the processes of all owners */

typedef struct StalledProcess
{
	uint32_t pid;
	uint64_t start_time_ns;
	uint64_t owner;
	Stall stall;
} StalledProcess;

/* A zeroed structure has no process. */
typedef struct StalledProcesses
{
	StalledProcess processes[STALLED_MAX];
	uint64_t put_off;	/* reads that were not made because of an earlier one */
	uint64_t displaced; /* processes that were forgotten because there was no room */
} StalledProcesses;

/* Returns true, and counts that, if the memory of the process must not be read yet. */
bool stalled_processes_put_off(StalledProcesses *stalled, const ExecImage *process,
							   uint64_t now_ns);

/* Notes that the memory of an owner's process did not answer in time. */
void stalled_processes_note(StalledProcesses *stalled, const ExecImage *process, uint64_t owner,
							uint64_t now_ns);

#endif
