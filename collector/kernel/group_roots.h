/*
 * group_roots.h
 *		Finds the root of this process's control group namespace in the hierarchies of the host.
 *
 * A collector in a container reads paths of control groups relative to its own group
 * (labels/cgroup.h). They can be converted to paths of the host if the path of its own group is
 * known.
 */
#ifndef COLLECTOR_GROUP_ROOTS_H
#define COLLECTOR_GROUP_ROOTS_H

#include <stdbool.h>

struct profiler;

/*
 * Returns true if this process's control group namespace is not the host's. Otherwise there is no
 * root to find.
 */
bool group_roots_wanted(void);

/*
 * Makes cgroup_parse() use the roots of the namespace. Call after pfs_read_group_root is loaded,
 * and before another thread parses.
 */
void group_roots_find(const struct profiler *skeleton);

#endif
