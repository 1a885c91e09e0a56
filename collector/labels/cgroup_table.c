/*
 * cgroup_table.c
 *		A hash table of control groups in the order of their use.
 */
#include "labels/cgroup_table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

typedef struct Group
{
	CgroupKey key;
	UT_hash_handle hh;
	CgroupLabels labels;
} Group;

struct CgroupTable
{
	size_t limit;
	Group *groups; /* least recently used first */
};

int
cgroup_table_create(size_t limit, CgroupTable **result)
{
	CgroupTable *table = calloc(1, sizeof(*table));

	if (table == NULL)
		return -ENOMEM;
	table->limit = limit;
	*result = table;
	return 0;
}

static void
remove_group(CgroupTable *table, Group *group)
{
	HASH_DEL(table->groups, group);
	free(group);
}

void
cgroup_table_free(CgroupTable *table)
{
	Group *group;
	Group *next;

	if (table == NULL)
		return;
	HASH_ITER(hh, table->groups, group, next)
		remove_group(table, group);
	free(table);
}

/* Finds a group and makes it the most recently used one. NULL if it is not in the table. */
static Group *
use_group(CgroupTable *table, const CgroupKey *key)
{
	Group *group;

	HASH_FIND(hh, table->groups, key, sizeof(*key), group);
	if (group == NULL)
		return NULL;
	/* Removing and adding the group moves it to the end of the table's order. */
	HASH_DEL(table->groups, group);
	HASH_ADD(hh, table->groups, key, sizeof(group->key), group);
	return group;
}

bool
cgroup_table_find(CgroupTable *table, const CgroupKey *key, CgroupLabels *labels)
{
	const Group *group = use_group(table, key);

	if (group != NULL)
		*labels = group->labels;
	return group != NULL;
}

void
cgroup_table_learn(CgroupTable *table, const CgroupKey *key, const CgroupLabels *labels)
{
	Group *group = use_group(table, key);

	if (group == NULL)
	{
		group = malloc(sizeof(*group));
		/* The table is a cache: a group that is not in it is parsed again. */
		if (group == NULL)
			return;
		group->key = *key;
		/* The first entry is the least recently used one. */
		while (HASH_COUNT(table->groups) >= table->limit)
			remove_group(table, table->groups);
		HASH_ADD(hh, table->groups, key, sizeof(group->key), group);
	}
	group->labels = *labels;
}

bool
cgroup_key_equal(const CgroupKey *a, const CgroupKey *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

/*
 * Container runtimes create groups in the hierarchies of all these controllers; the first
 * controller that is mounted is used.
 */
enum pfs_controller
cgroup_controller_parse(const char *text, uint32_t *hierarchy)
{
	static const char *const names[] = {
		[PFS_CONTROLLER_MEMORY] = "memory",
		[PFS_CONTROLLER_PIDS] = "pids",
		[PFS_CONTROLLER_CPU] = "cpu",
	};
	enum pfs_controller best = PFS_CONTROLLER_NONE;

	*hierarchy = 0;
	for (const char *line = text; *line != '\0'; line += strcspn(line, "\n"))
	{
		char name[32];
		uint32_t number;

		line += *line == '\n';
		/*
		 * Skips the heading, and controllers without a hierarchy of cgroup v1, whose number is 0.
		 */
		if (sscanf(line, "%31s %u", name, &number) != 2 || number == 0)
			continue;
		for (enum pfs_controller i = PFS_CONTROLLER_MEMORY; i <= PFS_CONTROLLER_CPU; i++)
		{
			if (strcmp(name, names[i]) == 0 && (best == PFS_CONTROLLER_NONE || i < best))
			{
				best = i;
				*hierarchy = number;
			}
		}
	}
	return best;
}
