/*
 * owner.h
 *		The owner of a process, which pays for the work that the process causes.
 *
 * An owner is a user in a control group. Of the group's path only the part counts that the user
 * cannot choose, because a user with a delegated subtree may make groups below it. A range of
 * 65,536 users counts as one user, because user namespaces hand out such ranges. All accounts of
 * the agent (probes, mappings, mapped files, unwind tables, series, symbols) are kept by this
 * number.
 *
 * The kernel answers these questions without blocking: none of them takes a lock of the process's
 * memory.
 */
#ifndef COLLECTOR_OWNER_H
#define COLLECTOR_OWNER_H

#include <stdint.h>

#include "labels/cgroup.h"

#define USER_UNKNOWN UINT32_MAX
/* owner of processes that exited before their control group was known */
#define OWNER_ENDED	 UINT64_MAX

/* Returns the owner for a user and the path of a control group; never 0 or OWNER_ENDED. */
uint64_t owner_of(uint32_t user, const char *group);

/* Like owner_of(), but reads user and group from /proc; OWNER_ENDED if the process has exited. */
uint64_t owner_of_process(uint32_t pid);

/*
 * Returns the effective user; USER_UNKNOWN if the process has exited. Reads the owner of /proc/PID,
 * which is right for undumpable processes as well; the files within belong to root then.
 */
uint32_t process_read_user(uint32_t pid);

/* Reads the control group. Returns CLOCK_MONOTONIC after the read; 0 if it cannot be read. */
uint64_t process_read_cgroup(uint32_t pid, CgroupLabels *cgroup);

#endif
