/*
 * process_table.c
 *		The table of sampled processes: setup, lookup and the sweep.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "process/process_account.h"
#include "process/process_evict.h"
#include "process/process_read.h"

#define FORGET_UNSEEN_NS (300 * NS_PER_S)
#define JUDGED_NS		 (60 * NS_PER_S)
/* limit of the control groups whose paths are kept; each takes 1.6 kB */
#define CGROUP_LIMIT	 1024

int
process_table_create(MappedFileTable *files, size_t limit, ProcessTable **result)
{
	ProcessTable *table = calloc(1, sizeof(*table));

	/* the functions that free accept NULL, which members have that were not created */
	if (table == NULL || cgroup_table_create(CGROUP_LIMIT, &table->cgroups) != 0 ||
		prober_create(&table->prober) != 0 || prober_create(&table->file_prober) != 0)
	{
		if (table != NULL)
		{
			prober_free(table->prober);
			cgroup_table_free(table->cgroups);
		}
		free(table);
		return -ENOMEM;
	}
	table->files = files;
	table->limit = limit;
	table->ticks_per_s = (uint64_t) sysconf(_SC_CLK_TCK);
	*result = table;
	return 0;
}

void
process_table_use_hierarchy(ProcessTable *table, uint32_t hierarchy)
{
	table->hierarchy = hierarchy;
}

void
process_table_use_lock(ProcessTable *table, const ProcessLock *lock)
{
	table->lock = *lock;
}

void
process_table_tell_verdicts(ProcessTable *table, VerdictTeller teller, void *context)
{
	table->tell = teller;
	table->tell_context = context;
}

void
process_table_limit_mappings(ProcessTable *table, size_t limit_bytes)
{
	table->mapping_bytes_limit = limit_bytes;
}

void
process_table_remember(ProcessTable *table, PastImages *past)
{
	table->past = past;
}

void
process_table_free(ProcessTable *table)
{
	Process *process;
	Process *next;

	if (table == NULL)
		return;
	HASH_ITER(hh, table->processes, process, next)
		process_remove(table, process);
	while (table->forgotten != NULL)
	{
		process = table->forgotten;
		table->forgotten = process->next_forgotten;
		free(process);
	}
	process_sweep_owners(table, UINT64_MAX);
	prober_free(table->prober);
	prober_free(table->file_prober);
	cgroup_table_free(table->cgroups);
	free(table->environment);
	free(table);
}

int
process_table_want_environment(ProcessTable *table, const char *const *names, size_t count)
{
	char *copy = NULL;
	size_t length;
	FILE *out;

	if (count > 0)
	{
		out = open_memstream(&copy, &length);
		if (out == NULL)
			return -ENOMEM;
		for (size_t i = 0; i < count; i++)
			fwrite(names[i], 1, strlen(names[i]) + 1, out);
		fputc('\0', out);
		if (fclose(out) != 0)
		{
			free(copy);
			return -ENOMEM;
		}
	}
	free(table->environment);
	table->environment = copy;
	/* processes whose variables were selected by another list are read again */
	table->environment_of++;
	return 0;
}

/*
 * Returns true if a sample arrived although the verdict drops such samples: the kernel has dropped
 * the verdict, or did not have it yet.
 */
static bool
is_in_spite(const struct pfs_sample *sample, uint32_t verdict)
{
	return (verdict & PFS_VERDICT_DROP) ||
		   ((verdict & PFS_VERDICT_NO_COPY) && (sample->flags & PFS_SAMPLE_LATE));
}

/*
 * Converts the start time from CLOCK_BOOTTIME to CLOCK_MONOTONIC, which does not count the time in
 * which the host sleeps.
 */
static uint64_t
born_ns(const struct pfs_sample *sample)
{
	/* read this clock first, so that an inexact result is too early rather than too late */
	int64_t monotonic_ns = clock_ns(CLOCK_MONOTONIC);
	int64_t asleep_ns = clock_ns(CLOCK_BOOTTIME) - monotonic_ns;
	int64_t born_ns = (int64_t) sample->start_time_ns - asleep_ns;

	return born_ns > 0 ? (uint64_t) born_ns : 0;
}

/* Returns true if a known process should be read again because its facts are old. */
static bool
is_due(const Process *process, uint64_t now_ns)
{
	return now_ns - process->read_ns > PROCESS_REFRESH_NS ||
		   (process->omits && now_ns >= process->omitted_stall.until_ns) ||
		   (process->told_ns != 0 && now_ns - process->told_ns > PROCESS_TOLD_NS);
}

/*
 * Updates the address of the process's arguments. A process may move them (PR_SET_MM_MAP: systemd,
 * LXC and CRIU do), so the newest sample is right. Samples of different CPUs may arrive in any
 * order.
 */
static void
follow_arguments(Process *process, const struct pfs_sample *sample)
{
	if (sample->arg_start == 0 || sample->time_ns < process->arg_start_ns)
		return;
	process->arg_start = sample->arg_start;
	process->arg_start_ns = sample->time_ns;
}

Process *
process_table_get(ProcessTable *table, const struct pfs_sample *sample, uint64_t now_ns)
{
	ProcessKey key = { sample->start_time_ns, sample->exec_id, sample->pid };
	Process *process;

	HASH_FIND(hh, table->processes, &key, sizeof(key), process);
	if (process != NULL)
	{
		/* move it to the end of the table's order */
		HASH_DEL(table->processes, process);
		HASH_ADD(hh, table->processes, key, sizeof(key), process);
		process->seen_ns = now_ns;
		process->tid = sample->tid;
		follow_arguments(process, sample);
		if (is_in_spite(sample, process->verdict))
			process_tell_verdict(table, process);
		process_follow_cgroup(table, process, sample, now_ns);
		/*
		 * STUCK: process_read() respects the backoff. LIVE: the facts are old, or another list of
		 * variables is wanted. GONE: the process was read too early.
		 */
		if (process->state == PROCESS_STUCK ||
			(process->state == PROCESS_LIVE && is_due(process, now_ns)))
			process_read(table, process, now_ns);
		else if (process->state == PROCESS_LIVE && process->environment_of != table->environment_of)
			process_reread(table, process, now_ns);
		else if (process->state == PROCESS_GONE && sample->time_ns > process->read_ns)
		{
			/*
			 * the process ran after our read, so the facts were wrong: it was probably read during
			 * its exec
			 */
			process_reread(table, process, now_ns);
		}
		return process;
	}
	process = calloc(1, sizeof(*process));
	if (process == NULL)
		return NULL;
	process->key = key;
	follow_arguments(process, sample);
	process->born_ns = born_ns(sample);
	process->sampled_ns = sample->time_ns;
	process->parent_pid = sample->parent_pid;
	process->tid = sample->tid;
	process->files_pid = sample->pid;
	process->seen_ns = now_ns;
	process->reread_delay_ns = PROCESS_REREAD_NS;
	process->cgroup_key = process_cgroup_key(table, sample);
	process_join_owner(table, process);
	/* other threads see this state until the process has been read */
	process->state = PROCESS_STUCK;
	/* before the new process is added, which would be the newest */
	while (table->stats.count >= table->limit && process_evict_oldest(table, NULL))
		;
	HASH_ADD(hh, table->processes, key, sizeof(key), process);
	table->stats.count++;
	table->stats.created++;
	if (sample->flags & PFS_SAMPLE_KERNEL_THREAD)
		process->state = PROCESS_KERNEL;
	else
	{
		process_read(table, process, now_ns);
		if (process->state == PROCESS_GONE)
			process_inherit(table, process);
	}
	/* without mappings the kernel would copy the stack in vain */
	process_set_verdict(table, process, PFS_VERDICT_NO_COPY,
						process->state != PROCESS_LIVE && process->state != PROCESS_KERNEL);
	return process;
}

/* Returns the most recently sampled image with this pid, if /proc/PID/stat may be about it. */
static Process *
find_pid(const ProcessTable *table, uint32_t pid, const ProcStat *stat)
{
	Process *found = NULL;
	Process *process;
	Process *next;

	HASH_ITER(hh, table->processes, process, next)
	{
		if (process->key.pid == pid && process_is_of_image(table, process, stat))
			found = process;
	}
	return found;
}

Process *
process_table_get_pid(ProcessTable *table, uint32_t pid, const ProcStat *stat, uint64_t now_ns)
{
	/*
	 * The sample's time stays 0, before all readings of the process, so that the missing control
	 * group ids are not taken as a change of the group.
	 */
	const struct pfs_sample sample = {
		.start_time_ns = stat->start_ticks * (NS_PER_S / table->ticks_per_s),
		.arg_start = stat->arg_start,
		.pid = pid,
		.tid = pid,
	};
	Process *process = find_pid(table, pid, stat);

	if (process == NULL)
		process = process_table_get(table, &sample, now_ns);
	return process != NULL && process->state != PROCESS_GONE ? process : NULL;
}

void
process_table_sweep(ProcessTable *table, uint64_t now_ns)
{
	Process *process;
	Process *next;

	process_table_judge_again(table, now_ns > JUDGED_NS ? now_ns - JUDGED_NS : 0);
	for (process = table->processes; process != NULL; process = next)
	{
		/* the process may have been sampled after the caller read the clock */
		uint64_t unseen_ns = now_ns > process->seen_ns ? now_ns - process->seen_ns : 0;
		bool removed = unseen_ns > FORGET_UNSEEN_NS;

		/* A process that is sampled is known to exist. */
		if (!removed && unseen_ns > PROCESS_REFRESH_NS && process->state != PROCESS_KERNEL &&
			now_ns - process->checked_ns > PROCESS_REFRESH_NS)
		{
			process->checked_ns = now_ns;
			/* check the image, too, because another process may have the pid by now */
			removed = !process_executes_still(table, process);
		}
		/* read the link only after the wait, during which other processes may have been dropped */
		next = process->hh.next;
		if (removed && process->waits == 0)
			process_remove(table, process);
	}
	process_sweep_owners(table, now_ns);
}

void
process_table_stats(const ProcessTable *table, ProcessTableStats *stats)
{
	*stats = table->stats;
	stats->timeouts = prober_timeouts(table->prober) + prober_timeouts(table->file_prober);
}

void
process_table_want_code(ProcessTable *table)
{
	table->wants_code = true;
}
