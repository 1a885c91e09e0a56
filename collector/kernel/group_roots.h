/*
 * group_roots.h
 *		Finds the control group namespace of this process in the hierarchies of the host.
 *
 * A collector in a container reads paths of control groups relative to its own group
 * (labels/cgroup.h). They become those of the host if the place of its group is known.
 */
#ifndef COLLECTOR_GROUP_ROOTS_H
#define COLLECTOR_GROUP_ROOTS_H

#include <stdbool.h>

struct profiler;

/*
 * Is the namespace of this process another one than the host's? Otherwise nothing is to be found.
 */
bool group_roots_wanted(void);

/*
 * Has cgroup_parse() use the roots of the namespace. Call after pfs_read_group_root is loaded, and
 * before another thread parses.
 */
void group_roots_find(const struct profiler *skeleton);

#endif
