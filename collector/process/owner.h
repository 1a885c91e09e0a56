/*
 * owner.h
 *		The owner of a process: who pays for what it makes the agent do.
 *
 * An owner is a user in a control group, as far down as the group's path is not for the user to
 * choose: whoever has a delegated subtree makes groups below it. Ranges of 65,536 users count as
 * one user, because user namespaces give such a range to whoever asks. Each account of the agent
 * (probes, mappings, mapped files, unwind tables, series, symbols) is kept by this number.
 *
 * The kernel answers these questions at once, as none of them takes a lock of the process's memory.
 */
#ifndef COLLECTOR_OWNER_H
#define COLLECTOR_OWNER_H

#include <stdint.h>

#include "labels/cgroup.h"

#define USER_UNKNOWN UINT32_MAX
#define OWNER_ENDED	 UINT64_MAX /* processes that ended before their control group was known */

/* The owner of a user's processes in the control group with this path. Never 0 or OWNER_ENDED. */
uint64_t owner_of(uint32_t user, const char *group);

/* Like owner_of(), but for a process by /proc; OWNER_ENDED if it has ended. */
uint64_t owner_of_process(uint32_t pid);

/*
 * The effective user; USER_UNKNOWN if the process has ended. The directory of a process shows the
 * user of one that must not be dumped, too; the files in it show root.
 */
uint32_t process_read_user(uint32_t pid);

/* CLOCK_MONOTONIC when the control group had been read; 0 if it cannot be read. */
uint64_t process_read_cgroup(uint32_t pid, CgroupLabels *cgroup);

#endif
