/*
 * runtime_job.h
 *		Runs the functions of a RuntimeKind that read a process's memory, each in one probe.
 *
 * Such a function makes several reads one after the other. In one probe that costs one change of
 * threads, and one deadline limits all of them.
 */
#ifndef COLLECTOR_RUNTIME_JOB_H
#define COLLECTOR_RUNTIME_JOB_H

#include <stddef.h>

#include "runtimes/runtime_kind.h"

/*
 * Calls the kind's refresh(). If memory does not answer, sets memory->stuck; target->own is then
 * lost, and NULL.
 */
void runtime_job_refresh(RemoteMemory *memory, RuntimeTarget *target, const CodeWalk *walk);

/*
 * Like runtime_job_refresh(), calls the kind's read_codes(). Words of the objects are among the
 * walk's.
 */
void runtime_job_read_codes(RemoteMemory *memory, RuntimeTarget *target, const CodeWalk *walk,
							CodeWanted *wanted, size_t count);

#endif
