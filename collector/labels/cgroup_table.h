/*
 * cgroup_table.h
 *		What control groups are called, by their ids: for processes that are gone before anybody
 *		can ask.
 *
 * Ids are the directories' inode numbers, and count in each hierarchy for themselves: a group is
 * known by its id in the unified hierarchy and, where old ones are mounted, by that in one of
 * those, where containers are then found. A process may be moved between its sample and the look
 * into /proc, so a name counts only once the process was sampled in the same group before and
 * after the look. Owned by one thread at a time.
 */
#ifndef COLLECTOR_CGROUP_TABLE_H
#define COLLECTOR_CGROUP_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "events.h"
#include "labels/cgroup.h"

/* Where a process was when it was sampled. */
typedef struct CgroupKey
{
	uint64_t unified_id;
	uint64_t controller_id; /* in the hierarchy of the controller; 0: there is none */
	uint64_t hierarchy;		/* its number; 0 likewise */
} CgroupKey;

typedef struct CgroupTable CgroupTable;

/* Of more groups than limit those go that were not asked for in the longest time. */
int cgroup_table_create(size_t limit, CgroupTable **table);
void cgroup_table_free(CgroupTable *table); /* accepts NULL */

/* False where the group is not known. */
bool cgroup_table_find(CgroupTable *table, const CgroupKey *key, CgroupLabels *labels);
void cgroup_table_learn(CgroupTable *table, const CgroupKey *key, const CgroupLabels *labels);

bool cgroup_key_equal(const CgroupKey *a, const CgroupKey *b);

/*
 * The controller whose old hierarchy tells of containers, and the number of that hierarchy: from
 * the text of /proc/cgroups. PFS_CONTROLLER_NONE where all is in the unified one.
 */
enum pfs_controller cgroup_controller_parse(const char *text, uint32_t *hierarchy);

#endif
