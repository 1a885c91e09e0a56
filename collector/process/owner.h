/*
 * owner.h
 *		The owner of a process: the account that is charged for the work which the process causes.
 *
 * An owner is a user in a control group. Only that part of the group's path counts that the user
 * cannot choose, because a user with a delegated subtree may create groups below it. A range of
 * 65,536 users counts as one user, because user namespaces are given such ranges. All accounts of
 * the agent (probes, mappings, mapped files, unwind tables, series, symbols) are kept by this
 * number.
 *
 * The kernel answers these functions without blocking, because none needs a lock of the process's
 * memory.
 */
#ifndef COLLECTOR_OWNER_H
#define COLLECTOR_OWNER_H

#include <stdint.h>

#include "labels/cgroup.h"

#define USER_UNKNOWN UINT32_MAX
/* nobody in particular */
#define OWNER_NONE	 0
/* owner of processes that exited before their control group was known */
#define OWNER_ENDED	 UINT64_MAX

/* Returns the owner for a user and the path of a control group; never 0 or OWNER_ENDED. */
uint64_t owner_of(uint32_t user, const char *group);

/*
 * Like owner_of(), but reads user and group from /proc. Returns OWNER_ENDED if the process has
 * exited.
 */
uint64_t owner_of_process(uint32_t pid);

/*
 * Returns the effective user; USER_UNKNOWN if the process has exited. Reads the owner of /proc/PID
 * itself, because the files within belong to root if the process is not dumpable.
 */
uint32_t process_read_user(uint32_t pid);

/* Reads the control group. Returns CLOCK_MONOTONIC after the read; 0 if it cannot be read. */
uint64_t process_read_cgroup(uint32_t pid, CgroupLabels *cgroup);

#endif
