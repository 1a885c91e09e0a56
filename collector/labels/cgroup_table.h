/*
 * cgroup_table.h
 *		Names of control groups by their ids, for processes that exited before we could read /proc.
 *
 * An id is the inode number of the group's directory, which is unique only within a hierarchy. A
 * group is identified by its id in the unified hierarchy and, if v1 hierarchies are mounted, also
 * by its id in the one that containers use. A process may be moved between its sample and our read
 * of /proc, so a name is stored only if the process was sampled in the same group before and after
 * the read. Owned by one thread at a time.
 */
#ifndef COLLECTOR_CGROUP_TABLE_H
#define COLLECTOR_CGROUP_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "events.h"
#include "labels/cgroup.h"

/* The control group of a process at the time of a sample. */
typedef struct CgroupKey
{
	uint64_t unified_id;
	uint64_t controller_id; /* id in the controller's hierarchy of cgroup v1; 0: not mounted */
	uint64_t hierarchy;		/* number of that hierarchy; 0: not mounted */
} CgroupKey;

typedef struct CgroupTable CgroupTable;

/*
 * Makes a table of up to limit groups; a full table drops the least recently used group. Returns 0
 * or -ENOMEM.
 */
int cgroup_table_create(size_t limit, CgroupTable **table);
void cgroup_table_free(CgroupTable *table); /* accepts NULL */

/* Copies the labels of a group. Returns false if the group is not in the table. */
bool cgroup_table_find(CgroupTable *table, const CgroupKey *key, CgroupLabels *labels);
void cgroup_table_learn(CgroupTable *table, const CgroupKey *key, const CgroupLabels *labels);

bool cgroup_key_equal(const CgroupKey *a, const CgroupKey *b);

/*
 * Parses /proc/cgroups and returns the controller whose v1 hierarchy is used for containers, with
 * the number of that hierarchy; PFS_CONTROLLER_NONE if there is only the unified hierarchy.
 */
enum pfs_controller cgroup_controller_parse(const char *text, uint32_t *hierarchy);

#endif
