/*
 * group_roots.h
 *		Finds the root of this process's control group namespace in each hierarchy of the host.
 *
 * A collector in a container reads the paths of control groups relative to its own group
 * (labels/cgroup.h). If the path of its own group is known, they can be converted to paths of the
 * host.
 */
#ifndef COLLECTOR_GROUP_ROOTS_H
#define COLLECTOR_GROUP_ROOTS_H

#include <stdbool.h>

struct profiler;

/*
 * Returns true if this process's control group namespace is not the host's. Otherwise no root has
 * to be found.
 */
bool group_roots_wanted(void);

/*
 * Makes cgroup_parse() convert paths by the roots of the namespace. Call this after
 * pfs_read_group_root is loaded and before another thread calls cgroup_parse().
 */
void group_roots_find(const struct profiler *skeleton);

#endif
