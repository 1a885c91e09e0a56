/*
 * process_evict.c
 *		Drops processes from the table: those that have ended, and others if there are too many or
 *		if their mappings take too much memory. An eviction revokes the verdict on the process's
 *		samples.
 */
#include "process/process_evict.h"

#include <stdlib.h>
#include <string.h>

#include "process/process_account.h"

void
process_release_told(ProcessTable *table, Mapping *told)
{
	mapped_file_release(table->files, told->file);
	/* only this room frees names; they are const for all other code */
	free((void *) (uintptr_t) told->map.name);
	memset(told, 0, sizeof(*told));
}

/* Releases everything except the structure itself. */
static void
release_process(ProcessTable *table, Process *process)
{
	mapping_list_release(table->files, &process->mappings);
	mapping_list_release(table->files, &process->older);
	for (int i = 0; i < TOLD_MAPPINGS; i++)
		process_release_told(table, &process->told[i]);
	mapped_file_release(table->files, process->executable);
	process_leave_owner(table, process);
	issued_labels_fini(&process->labels);
	free(process->exe);
	free(process->environment);
	process->environment = NULL;
	process->executable = NULL;
	process->exe = NULL;
}

void
process_remove(ProcessTable *table, Process *process)
{
	HASH_DEL(table->processes, process);
	table->stats.count--;
	release_process(table, process);
	/* The structure is kept for its identity until the caller has removed it from the unwinder. */
	if (!process->in_unwinder)
	{
		free(process);
		return;
	}
	process->next_forgotten = table->forgotten;
	table->forgotten = process;
}

bool
process_table_take_forgotten(ProcessTable *table, ExecImage *identity)
{
	Process *process = table->forgotten;

	if (process == NULL)
		return false;
	table->forgotten = process->next_forgotten;
	*identity = process_identity(process);
	free(process);
	return true;
}

void
process_tell_verdict(const ProcessTable *table, const Process *process)
{
	const ExecImage image = process_identity(process);

	if (table->tell != NULL)
		table->tell(table->tell_context, &image, process->verdict);
}

void
process_set_verdict(ProcessTable *table, Process *process, uint32_t flag, bool on)
{
	uint32_t verdict = on ? process->verdict | flag : process->verdict & ~flag;

	if (verdict == process->verdict)
		return;
	process->verdict = verdict;
	if (flag == PFS_VERDICT_DROP && on)
		process->judged_ns = process->seen_ns;
	process_tell_verdict(table, process);
}

void
process_evict(ProcessTable *table, Process *process)
{
	/*
	 * Otherwise the kernel would keep dropping samples of the process after nobody can revoke the
	 * verdict.
	 */
	process_set_verdict(table, process, PFS_VERDICT_DROP, false);
	process_remove(table, process);
	table->stats.evicted++;
}

bool
process_evict_oldest(ProcessTable *table, const Process *kept)
{
	Process *process = table->processes;

	/* the table is sorted by the last sample; a process for which a thread waits must stay */
	while (process != NULL && process->waits > 0)
		process = process->hh.next;
	if (process == NULL || process == kept)
		return false;
	process_evict(table, process);
	return true;
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

/*
 * Evicts the least recently sampled process of an owner, but not "but". Returns false if there is
 * none.
 */
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
	process_charge(table, process,
				   mapping_list_bytes(&process->mappings) + mapping_list_bytes(&process->older));
	if (table->mapping_bytes_limit == 0)
		return;
	/* The present process is kept, whatever it takes: its sample is being handled. */
	while (table->mapping_bytes > table->mapping_bytes_limit &&
		   evict_of(table, largest_owner(table), process))
		;
}

void
process_table_judge_again(ProcessTable *table, uint64_t before_ns)
{
	Process *process;
	Process *next;

	HASH_ITER(hh, table->processes, process, next)
	{
		if (process->judged_ns >= before_ns || !(process->verdict & PFS_VERDICT_DROP))
			continue;
		/*
		 * the labels decide whether samples are dropped, and are determined again at the next
		 * sample
		 */
		process->labels.stale = true;
		process_set_verdict(table, process, PFS_VERDICT_DROP, false);
	}
}
