/*
 * process_read.c
 *		Reads what /proc, the side-band or a parent tells about a process.
 *
 * 1. /proc/PID: mappings, control group, executable; believed where it is about the same exec
 *    image after reading as before.
 * 2. Where that is gone: the mappings of which the side-band told.
 * 3. Where there were none: the parent's, if the process was forked and executed nothing.
 * 4. Its control group: what /proc tells, what is known of the group's id, its parent's.
 */
#include "process/process_parts.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define CGROUP_LIMIT_BYTES (64 * 1024)
#define EXE_PATH_BYTES	   4096

/* What /proc tells about a process, until it is known to be about the image that was sampled. */
typedef struct Snapshot
{
	MappingList mappings;
	char exe[EXE_PATH_BYTES]; /* "" where not known */
	MappedFile *executable;
	CgroupLabels cgroup;
	uint64_t cgroup_ns; /* when /proc told it; 0: it did not */
	uint32_t proc_id;	/* that /proc was asked by */
} Snapshot;

static int
read_mappings(ProcessTable *table, uint32_t pid, Snapshot *snapshot)
{
	table->stats.map_reads++;
	return mapping_list_read(pid, &snapshot->mappings);
}

/* The executable's file, which is one of those that are mapped, and known by now, as a rule. */
static void
read_executable(ProcessTable *table, uint32_t pid, bool deleted, Snapshot *snapshot)
{
	MappingList *list = &snapshot->mappings;

	for (size_t i = 0; i < list->count && !deleted; i++)
	{
		Mapping *mapping = &list->mappings[i];

		if (mapping->kind != MAPPING_FILE || mapping->map.deleted ||
			strcmp(mapping->map.name, snapshot->exe) != 0)
			continue;
		snapshot->executable = mapping_open(table->files, pid, mapping);
		if (snapshot->executable == NULL)
			break;
		mapped_file_retain(table->files, snapshot->executable);
		return;
	}
	if (mapped_file_acquire_executable(table->files, pid, snapshot->exe, &snapshot->executable) !=
		0)
		snapshot->executable = NULL;
}

/* When it was read; 0: it cannot be. */
static uint64_t
read_cgroup(uint32_t pid, CgroupLabels *cgroup)
{
	char path[64];
	char *text;

	snprintf(path, sizeof(path), "/proc/%u/cgroup", pid);
	if (proc_file_read(path, CGROUP_LIMIT_BYTES, &text, NULL) != 0)
		return 0;
	cgroup_parse(text, cgroup);
	free(text);
	return (uint64_t) clock_ns(CLOCK_MONOTONIC);
}

/* The group of a process that is gone: what others said of it, else its parent's. */
static void
guess_cgroup(ProcessTable *table, const Process *process, CgroupLabels *cgroup)
{
	if (!cgroup_table_find(table->cgroups, &process->cgroup_key, cgroup))
		(void) read_cgroup(process->parent_pid, cgroup);
}

CgroupKey
process_cgroup_key(const ProcessTable *table, const struct pfs_sample *sample)
{
	return (CgroupKey){ sample->cgroup_id, sample->controller_cgroup_id,
						sample->controller_cgroup_id != 0 ? table->hierarchy : 0 };
}

/* May it be read again, where it was read before? */
static bool
may_reread(ProcessTable *table, Process *process, uint64_t now_ns)
{
	uint64_t cost_ns = REREAD_COST_NS * (1 + process->mappings.count / REREAD_AT_ONE_COST);
	bool may = allowance_take(&process->rereads, now_ns, cost_ns, REREAD_BURST_NS);

	table->stats.put_off += !may;
	return may;
}

void
process_follow_cgroup(ProcessTable *table, Process *process, const struct pfs_sample *sample,
					  uint64_t now_ns)
{
	CgroupKey key = process_cgroup_key(table, sample);

	if (process->state == PROCESS_KERNEL)
		return;
	if (cgroup_key_equal(&key, &process->cgroup_key))
	{
		/* it was in that group before we looked, and is now */
		if (!process->cgroup_learned && process->cgroup_read_ns != 0 &&
			sample->time_ns > process->cgroup_read_ns)
		{
			cgroup_table_learn(table->cgroups, &key, &process->cgroup);
			process->cgroup_learned = true;
		}
		return;
	}
	process->cgroup_learned = cgroup_table_find(table->cgroups, &key, &process->cgroup);
	if (!process->cgroup_learned)
	{
		if (!may_reread(table, process, now_ns))
			return;
		process->cgroup_read_ns = read_cgroup((uint32_t) process->key.pid, &process->cgroup);
	}
	process->cgroup_key = key;
	process->labels.stale = true;
}

bool
process_executes_still(const ProcessTable *table, const Process *process)
{
	ProcStat stat;
	uint64_t ticks = process->key.start_time_ns / (NS_PER_S / table->ticks_per_s);

	if (proc_stat_read((uint32_t) process->key.pid, &stat) != 0 || stat.start_ticks != ticks)
		return false;
	return stat.arg_start == 0 || process->arg_start == 0 || stat.arg_start == process->arg_start;
}

/*
 * 0, or why /proc tells nothing about the image. The snapshot is to be discarded or installed
 * either way.
 */
static int
take_snapshot(ProcessTable *table, const Process *process, Snapshot *snapshot)
{
	uint32_t pid = (uint32_t) process->key.pid;
	bool deleted;
	int result;

	memset(snapshot, 0, sizeof(*snapshot));
	result = read_mappings(table, pid, snapshot);
	if (result == 0 && snapshot->mappings.count == 0 && process->tid != pid)
	{
		/* the first thread has ended: /proc shows the process by any other one, too */
		pid = process->tid;
		mapping_list_release(table->files, &snapshot->mappings);
		result = read_mappings(table, pid, snapshot);
	}
	if (result == 0 && snapshot->mappings.count == 0)
		result = -ESRCH; /* it has given up its memory and waits for its parent */
	snapshot->proc_id = pid;
	if (result != 0)
		return result;
	snapshot->cgroup_ns = read_cgroup(pid, &snapshot->cgroup);
	if (proc_exe_read(pid, snapshot->exe, sizeof(snapshot->exe), &deleted) != 0)
		snapshot->exe[0] = '\0';
	else if (process->executable == NULL)
		read_executable(table, pid, deleted, snapshot);
	return process_executes_still(table, process) ? 0 : -ESRCH;
}

static void
discard_snapshot(ProcessTable *table, Snapshot *snapshot)
{
	mapping_list_release(table->files, &snapshot->mappings);
	mapped_file_release(table->files, snapshot->executable);
}

/* Files are opened while the process lives; their unwind tables may come later. */
static void
open_files(ProcessTable *table, Process *process)
{
	for (size_t i = 0; i < process->mappings.count; i++)
		(void) mapping_open(table->files, process->files_pid, &process->mappings.mappings[i]);
}

static void
install_snapshot(ProcessTable *table, Process *process, Snapshot *snapshot)
{
	if (mapping_list_inherit(table->files, &process->mappings, &snapshot->mappings))
		mapping_list_release(table->files, &process->mappings);
	else
	{
		mapping_list_release(table->files, &process->older);
		process->older = process->mappings;
	}
	process->mappings = snapshot->mappings;
	process->cgroup = snapshot->cgroup;
	process->cgroup_read_ns = snapshot->cgroup_ns;
	process->cgroup_learned = false;
	process->labels.stale = true;
	if (process->exe == NULL && snapshot->exe[0] != '\0')
		process->exe = strdup(snapshot->exe);
	if (process->executable == NULL)
		process->executable = snapshot->executable;
	process->state = PROCESS_LIVE;
	process->described = false;
	open_files(table, process);
}

uint32_t
process_root_pid(const Process *process)
{
	if (kill((pid_t) process->key.pid, 0) == 0)
		return (uint32_t) process->key.pid;
	return kill((pid_t) process->parent_pid, 0) == 0 ? process->parent_pid : 0;
}

/*
 * What the side-band told of a process that /proc no longer knows. Its files may be open already,
 * or be opened by name.
 */
static int
take_past_snapshot(ProcessTable *table, const Process *process, Snapshot *snapshot)
{
	uint32_t pid = (uint32_t) process->key.pid;
	uint32_t root = process_root_pid(process);
	MappingList *list = &snapshot->mappings;
	const ProcMapping *executable;
	const ProcMapping *maps;
	uint64_t last_ns;
	size_t count;
	int result;

	memset(snapshot, 0, sizeof(*snapshot));
	if (table->past == NULL)
		return -ESRCH;
	past_images_update(table->past);
	executable = past_images_executable(table->past, pid, process->sampled_ns);
	count = past_images_find(table->past, pid, process->sampled_ns, &maps, &last_ns);
	if (count == 0 || executable == NULL)
		return -ESRCH;
	result = mapping_list_make(maps, count, list);
	if (result != 0)
		return result;
	list->begin_ns = last_ns;
	list->end_ns = last_ns;
	for (size_t i = 0; i < list->count; i++)
	{
		Mapping *mapping = &list->mappings[i];

		mapping->file_tried = mapping->kind == MAPPING_FILE;
		if (mapping->file_tried &&
			mapped_file_acquire_past(table->files, root, &mapping->map, &mapping->file) != 0)
			mapping->file = NULL;
	}
	snprintf(snapshot->exe, sizeof(snapshot->exe), "%s", executable->name);
	if (process->executable == NULL &&
		mapped_file_acquire_past(table->files, root, executable, &snapshot->executable) != 0)
		snapshot->executable = NULL;
	guess_cgroup(table, process, &snapshot->cgroup);
	return 0;
}

void
process_read(ProcessTable *table, Process *process, uint64_t now_ns)
{
	Snapshot snapshot;
	int result = take_snapshot(table, process, &snapshot);

	/* what was mapped while we read is known before what we read is used */
	if (table->past != NULL)
		past_images_update(table->past);
	process->read_ns = now_ns;
	if (result == 0)
	{
		process->files_pid = snapshot.proc_id;
		install_snapshot(table, process, &snapshot);
		return;
	}
	discard_snapshot(table, &snapshot);
	if (result == -ESRCH || result == -ENOENT)
	{
		if (take_past_snapshot(table, process, &snapshot) == 0)
		{
			install_snapshot(table, process, &snapshot);
			table->stats.remembered++;
			return;
		}
		discard_snapshot(table, &snapshot);
	}
	if (process->state != PROCESS_LIVE)
		process->state = result == -EACCES || result == -EPERM ? PROCESS_UNREADABLE : PROCESS_GONE;
}

void
process_reread(ProcessTable *table, Process *process, uint64_t now_ns)
{
	if (may_reread(table, process, now_ns))
		process_read(table, process, now_ns);
}

/*
 * The parent was never sampled itself: /proc tells whether it executes the image that was forked.
 */
static void
inherit_unsampled(ProcessTable *table, Process *process)
{
	Process parent = { .key = { .pid = process->parent_pid },
					   .tid = process->parent_pid,
					   .arg_start = process->arg_start };
	Snapshot snapshot;
	ProcStat stat;

	if (proc_stat_read(process->parent_pid, &stat) != 0 || process->arg_start == 0 ||
		stat.arg_start != process->arg_start)
		return;
	parent.key.start_time_ns = stat.start_ticks * (NS_PER_S / table->ticks_per_s);
	if (take_snapshot(table, &parent, &snapshot) != 0)
	{
		discard_snapshot(table, &snapshot);
		return;
	}
	snapshot.cgroup = process->cgroup;
	snapshot.cgroup_ns = 0; /* its parent's may be another one */
	process->files_pid = process->parent_pid;
	install_snapshot(table, process, &snapshot);
}

void
process_inherit(ProcessTable *table, Process *process)
{
	Process *parent = NULL;
	Snapshot snapshot;
	Process *each;
	Process *next;

	guess_cgroup(table, process, &process->cgroup);
	HASH_ITER(hh, table->processes, each, next)
	{
		if (each->key.pid == process->parent_pid && each->state == PROCESS_LIVE)
			parent = each;
	}
	if (parent == NULL)
	{
		inherit_unsampled(table, process);
		return;
	}
	process->files_pid = parent->files_pid;
	if (parent->arg_start != process->arg_start || parent->key.exec_id != process->key.exec_id)
		return;
	memset(&snapshot, 0, sizeof(snapshot));
	if (mapping_list_copy(table->files, &parent->mappings, &snapshot.mappings) != 0)
	{
		discard_snapshot(table, &snapshot);
		return;
	}
	snapshot.cgroup = process->cgroup;
	snprintf(snapshot.exe, sizeof(snapshot.exe), "%s", process_exe(parent));
	snapshot.executable = parent->executable;
	if (snapshot.executable != NULL)
		mapped_file_retain(table->files, snapshot.executable);
	install_snapshot(table, process, &snapshot);
}
