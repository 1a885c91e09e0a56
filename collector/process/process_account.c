/*
 * process_account.c
 *		Accounts of owners for the memory and the reads that their processes cause.
 *
 * A process with tens of thousands of mappings makes reads of /proc long and lists large. Both are
 * charged to its owner: if an owner exceeds its limits, the lists of all its processes are cut, and
 * its processes are evicted first.
 */
#include "process/process_account.h"

#include <stdlib.h>

#include "process/owner.h"

/* Lists of mappings are cut for an owner that uses more than 1/OWNER_SHARE of the memory limit. */
#define OWNER_SHARE 4

/*
 * Determines the owner. The ids of the control group usually determine its path, so /proc is rarely
 * read.
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
	/* out of memory, the process has no owner, and nothing is charged for it */
	if (owner == NULL && (owner = calloc(1, sizeof(*owner))) != NULL)
	{
		owner->key = key;
		HASH_ADD(hh, table->owners, key, sizeof(key), owner);
	}
	process->owner = owner;
	if (owner != NULL)
		owner->processes++;
}

void
process_charge(ProcessTable *table, Process *process, size_t bytes)
{
	/* unsigned arithmetic; the sum is right even if bytes are fewer than before */
	table->mapping_bytes += bytes - process->charged_bytes;
	if (process->owner != NULL)
		process->owner->bytes += bytes - process->charged_bytes;
	process->charged_bytes = bytes;
}

void
process_leave_owner(ProcessTable *table, Process *process)
{
	process_charge(table, process, 0);
	if (process->owner != NULL)
		process->owner->processes--;
	process->owner = NULL;
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

	/*
	 * The limit is raised by the cost, so that the charge is never refused: the reading has already
	 * happened.
	 */
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
		/*
		 * an account with debts is kept, otherwise an owner would lose them by ending its processes
		 */
		if (owner->processes > 0 || owner->reads.paid_ns > now_ns || owner->series.paid_ns > now_ns)
			continue;
		HASH_DEL(table->owners, owner);
		free(owner);
	}
}
