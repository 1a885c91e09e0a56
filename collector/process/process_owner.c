/*
 * process_owner.c
 *		Users in control groups, who answer for what their processes make us hold and do.
 *
 * A process that maps tens of thousands of files makes readings of /proc long, and lists large.
 * Both are charged to its owner, so that they are at the expense of the owner's processes: their
 * lists become short, and they are the first to be evicted.
 */
#include "process/process_parts.h"

#include <stdlib.h>

#include "process/owner.h"

#define OWNER_SHARE 4 /* an owner with more than this part of the memory has short lists */

/*
 * Most processes are in a group whose path is known by its ids, so that /proc is not asked for it.
 */
static uint64_t
find_owner(ProcessTable *table, const Process *process)
{
	CgroupLabels group;

	if (!cgroup_table_find(table->cgroups, &process->cgroup_key, &group) &&
		process_read_cgroup((uint32_t) process->key.pid, &group) == 0)
		return OWNER_ENDED;
	return owner_of(process->uid, group.path);
}

void
process_join_owner(ProcessTable *table, Process *process)
{
	uint64_t key;
	ProcessOwner *owner;

	process->uid = process_read_user((uint32_t) process->key.pid);
	key = find_owner(table, process);
	HASH_FIND(hh, table->owners, &key, sizeof(key), owner);
	if (owner == NULL && (owner = calloc(1, sizeof(*owner))) != NULL)
	{
		owner->key = key;
		HASH_ADD(hh, table->owners, key, sizeof(key), owner);
	}
	process->owner = owner;
	if (owner != NULL)
		owner->processes++;
}

static void
set_charge(ProcessTable *table, Process *process, size_t bytes)
{
	table->mapping_bytes += bytes - process->charged_bytes;
	if (process->owner != NULL)
		process->owner->bytes += bytes - process->charged_bytes;
	process->charged_bytes = bytes;
}

void
process_leave_owner(ProcessTable *table, Process *process)
{
	set_charge(table, process, 0);
	if (process->owner != NULL)
		process->owner->processes--;
	process->owner = NULL;
}

static ProcessOwner *
largest_owner(const ProcessTable *table)
{
	ProcessOwner *largest = NULL;
	ProcessOwner *owner;
	ProcessOwner *next;

	HASH_ITER(hh, table->owners, owner, next)
	{
		if (largest == NULL || owner->bytes > largest->bytes)
			largest = owner;
	}
	return largest;
}

/* Evicts the least recently sampled process of an owner, but for one. False if there is none. */
static bool
evict_of(ProcessTable *table, const ProcessOwner *owner, const Process *but)
{
	Process *process;
	Process *next;

	HASH_ITER(hh, table->processes, process, next)
	{
		if (process->owner != owner || process == but || process->waits > 0 ||
			process->charged_bytes == 0)
			continue;
		process_evict(table, process);
		return true;
	}
	return false;
}

void
process_charge_mappings(ProcessTable *table, Process *process)
{
	set_charge(table, process,
			   mapping_list_bytes(&process->mappings) + mapping_list_bytes(&process->older));
	if (table->mapping_bytes_limit == 0)
		return;
	while (table->mapping_bytes > table->mapping_bytes_limit &&
		   evict_of(table, largest_owner(table), process))
		;
}

static bool
has_spent_readings(const ProcessOwner *owner, uint64_t now_ns)
{
	return owner->reads.paid_ns > now_ns + REREAD_BURST_NS;
}

size_t
process_mapping_limit(const ProcessTable *table, const Process *process, uint64_t now_ns)
{
	const ProcessOwner *owner = process->owner;

	if (owner == NULL || has_spent_readings(owner, now_ns))
		return REREAD_AT_ONE_COST;
	return table->mapping_bytes_limit > 0 && owner->bytes > table->mapping_bytes_limit / OWNER_SHARE
			   ? REREAD_AT_ONE_COST
			   : MAPPINGS_MAX;
}

void
process_pay_reading(const Process *process, size_t count, uint64_t now_ns)
{
	uint64_t cost_ns = REREAD_COST_NS * (count / REREAD_AT_ONE_COST);

	if (process->owner != NULL)
		(void) allowance_take(&process->owner->reads, now_ns, cost_ns,
							  REREAD_BURST_NS + cost_ns + 1);
}

void
process_sweep_owners(ProcessTable *table, uint64_t now_ns)
{
	ProcessOwner *owner;
	ProcessOwner *next;

	HASH_ITER(hh, table->owners, owner, next)
	{
		if (owner->processes > 0 || owner->reads.paid_ns > now_ns || owner->series.paid_ns > now_ns)
			continue;
		HASH_DEL(table->owners, owner);
		free(owner);
	}
}

Allowance *
process_series(Process *process)
{
	return process->owner != NULL ? &process->owner->series : NULL;
}
