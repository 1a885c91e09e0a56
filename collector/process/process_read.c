/*
 * process_read.c
 *		Reads the facts about a process from /proc, the side-band or its parent.
 *
 * 1. /proc/PID: mappings, control group, executable; accepted if it is about the same exec image
 * after the read as before.
 * 2. If it has exited: the mappings that the side-band reported.
 * 3. If there are none: the parent's mappings, if the process was forked and has not executed
 * anything.
 * 4. The control group: from /proc, by the group's ids, or the parent's.
 */
#include "process/process_read.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "process/owner.h"
#include "process/process_account.h"
#include "process/process_evict.h"
#include "process/runtime.h"

#define PROBE_WAIT_NS (NS_PER_S / 20) /* wait for an answer of a process or file */

#define STALLS_OF_ONE  2  /* number of files of one process that may time out in one call */
#define SAME_FILE_BACK 16 /* number of earlier mappings searched for the same file */

/*
 * Facts that were read about a process, before it is verified that they are about the sampled
 * image.
 */
typedef struct Snapshot
{
	MappingList mappings;
	char exe[EXE_PATH_BYTES]; /* "" if not known */
	uint32_t uid;			  /* USER_UNKNOWN if not known */
	bool exe_deleted;
	MappedFile *executable;
	CgroupLabels cgroup;
	uint64_t cgroup_ns; /* time of reading the control group; 0: that failed */
	char *environment;	/* the wanted variables; NULL if not known */
	uint32_t files_pid; /* process through whose /proc files are opened */
	WantedKind kind;	/* how the files are opened */
} Snapshot;

/*
 * Releases the lock before a wait. The process stays in the table, and other threads do not read it
 * meanwhile.
 */
static void
begin_wait(const ProcessTable *table, Process *process)
{
	process->waits++;
	if (table->lock.unlock != NULL)
		table->lock.unlock(table->lock.context);
}

static void
end_wait(const ProcessTable *table, Process *process)
{
	if (table->lock.lock != NULL)
		table->lock.lock(table->lock.context);
	process->waits--;
}

/* If a file does not answer, the files after it are tried in a further call, at most twice. */
void
process_open(ProcessTable *table, Process *process, uint32_t pid, WantedFile *wanted, size_t count)
{
	const FileOwner owner = { pid, process->owner != NULL ? process->owner->key : 0 };
	size_t done = 0;

	if (count == 0)
		return;
	begin_wait(table, process);
	/* Each turn opens files until one does not answer, and goes on after it. */
	for (int stalls = 0; done < count && stalls < STALLS_OF_ONE; stalls++)
	{
		size_t tried;

		for (size_t i = done; i < count; i++)
			wanted[i].late = false;
		probe_files(table->file_prober, table->files, &owner, wanted + done, count - done,
					PROBE_WAIT_NS, &tried);
		for (size_t i = done + tried; i < count; i++)
			wanted[i].late = true;
		/* the mappings are read again after a backoff, to add the missing file */
		if (done + tried < count)
		{
			process->omits = true;
			stall_note(&process->omitted_stall, (uint64_t) clock_ns(CLOCK_MONOTONIC));
		}
		done += tried + 1;
	}
	end_wait(table, process);
}

/*
 * Determines the control group of a process that has exited: by the ids of its group or, if they
 * are not known, as the group of its parent.
 */
static void
guess_cgroup(ProcessTable *table, const Process *process, CgroupLabels *cgroup)
{
	if (!cgroup_table_find(table->cgroups, &process->cgroup_key, cgroup))
		(void) process_read_cgroup(process->parent_pid, cgroup);
}

CgroupKey
process_cgroup_key(const ProcessTable *table, const struct pfs_sample *sample)
{
	return (CgroupKey){ sample->cgroup_id, sample->controller_cgroup_id,
						sample->controller_cgroup_id != 0 ? table->hierarchy : 0 };
}

/*
 * Returns true if the process may be read again, and charges its allowance; otherwise counts a
 * refusal.
 */
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
		/*
		 * the process had this group's ids before and after the read, so the path belongs to the
		 * ids
		 */
		if (!process->cgroup_learned && process->cgroup_read_ns != 0 &&
			sample->time_ns > process->cgroup_read_ns)
		{
			cgroup_table_learn(table->cgroups, &key, &process->cgroup);
			process->cgroup_learned = true;
		}
		return;
	}
	/* the process has moved to another group, whose path another process may have shown */
	process->cgroup_learned = cgroup_table_find(table->cgroups, &key, &process->cgroup);
	if (!process->cgroup_learned)
	{
		if (!may_reread(table, process, now_ns))
			return;
		process->cgroup_read_ns =
			process_read_cgroup((uint32_t) process->key.pid, &process->cgroup);
	}
	process->cgroup_key = key;
	process->labels.stale = true;
}

bool
process_is_of_image(const ProcessTable *table, const Process *process, const ProcStat *stat)
{
	/* /proc/PID/stat has the start time in clock ticks, the sample in nanoseconds */
	uint64_t ticks = process->key.start_time_ns / (NS_PER_S / table->ticks_per_s);

	if (stat->start_ticks != ticks)
		return false;
	/* 0: the process has no memory any more, or the reader may not see the address */
	return stat->arg_start == 0 || process->arg_start == 0 || stat->arg_start == process->arg_start;
}

/* Reads /proc/PID/stat of the process or its parent. */
static int
read_stat(ProcessTable *table, Process *process, uint32_t pid, ProcStat *stat)
{
	int result;

	begin_wait(table, process);
	result = process_look_stat(table->prober, pid, PROBE_WAIT_NS, stat);
	end_wait(table, process);
	return result;
}

bool
process_executes_still(ProcessTable *table, Process *process)
{
	ProcStat stat;
	int result = read_stat(table, process, (uint32_t) process->key.pid, &stat);

	/* only these errors prove that the process has exited; a timeout does not */
	if (result == -ENOENT || result == -ESRCH)
		return false;
	return result != 0 || process_is_of_image(table, process, &stat);
}

/*
 * Reads the facts from /proc. Returns 0, or -errno if they are not about the image. In either case
 * the caller must install or discard the snapshot.
 */
static int
take_snapshot(ProcessTable *table, Process *process, Snapshot *snapshot)
{
	uint64_t now_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	const LookAt at = { (uint32_t) process->key.pid, process->tid, table->environment != NULL,
						process_mapping_limit(table, process, now_ns) };
	ProcessLook *look;
	int result;

	memset(snapshot, 0, sizeof(*snapshot));
	table->stats.map_reads++;
	begin_wait(table, process);
	result = process_look(table->prober, &at, PROBE_WAIT_NS, &look);
	end_wait(table, process);
	if (result != 0)
		return result;
	/* process_look() has succeeded: the look is ours, whatever its own error */
	result = look->error;
	if (result == 0 && (look->stat_error != 0 || !process_is_of_image(table, process, &look->stat)))
		result = -ESRCH;
	snapshot->mappings = look->mappings;
	/* moved to the snapshot, and not freed with the look */
	look->mappings = (MappingList){ 0 };
	table->stats.cut += snapshot->mappings.is_cut;
	process_pay_reading(process, snapshot->mappings.count, now_ns);
	memcpy(snapshot->exe, look->exe, sizeof(snapshot->exe));
	snapshot->exe_deleted = look->exe_deleted;
	snapshot->cgroup = look->cgroup;
	snapshot->cgroup_ns = look->cgroup_ns;
	snapshot->uid = look->user;
	if (look->environment != NULL && table->environment != NULL)
		snapshot->environment = proc_environment_filter(look->environment, table->environment);
	snapshot->files_pid = look->proc_id;
	snapshot->kind = WANTED_MAPPING;
	process_look_free(look);
	return result;
}

static void
discard_snapshot(ProcessTable *table, Snapshot *snapshot)
{
	mapping_list_release(table->files, &snapshot->mappings);
	mapped_file_release(table->files, snapshot->executable);
	free(snapshot->environment);
}

/*
 * Returns one of the SAME_FILE_BACK mappings before i that has the same file; NULL if there is
 * none. Without this bound a program that maps one file over and over would make the search
 * quadratic.
 */
static Mapping *
same_file_before(const MappingList *list, size_t i)
{
	const ProcMapping *map = &list->mappings[i].map;

	for (size_t back = 1; back <= SAME_FILE_BACK && back <= i; back++)
	{
		Mapping *before = &list->mappings[i - back];

		/* equal names are usually stored once in a list, so compare the pointer */
		if (before->kind == MAPPING_FILE && before->map.name == map->name &&
			before->map.inode == map->inode && before->map.device == map->device)
			return before;
	}
	return NULL;
}

/* Copies the file of an earlier mapping to later mappings of the same file. */
static void
share_files(ProcessTable *table, MappingList *list)
{
	for (size_t i = 0; i < list->count; i++)
	{
		Mapping *mapping = &list->mappings[i];
		const Mapping *before;

		if (mapping->kind != MAPPING_FILE || mapping->file_tried ||
			(before = same_file_before(list, i)) == NULL || !before->file_tried)
			continue;
		mapping->file_tried = true;
		mapping->file = before->file;
		if (mapping->file != NULL)
			mapped_file_retain(table->files, mapping->file);
	}
}

static size_t
count_open_files(const MappingList *list)
{
	size_t count = 0;

	for (size_t i = 0; i < list->count; i++)
		count += list->mappings[i].file != NULL && same_file_before(list, i) == NULL;
	return count;
}

/*
 * Returns whether the process exists. Without CAP_KILL the kernel answers EPERM, which also means
 * that it exists.
 */
static bool
is_there(uint32_t pid)
{
	return kill((pid_t) pid, 0) == 0 || errno == EPERM;
}

uint32_t
process_root_pid(const Process *process)
{
	if (is_there((uint32_t) process->key.pid))
		return (uint32_t) process->key.pid;
	return is_there(process->parent_pid) ? process->parent_pid : 0;
}

/* Returns whether the process has exited: even a zombie has no executable. */
static bool
has_ended(uint32_t pid)
{
	char link[64];
	char path;

	snprintf(link, sizeof(link), "/proc/%u/exe", pid);
	return readlink(link, &path, sizeof(path)) < 0 && errno == ENOENT;
}

/*
 * Opens the files of a process that has exited meanwhile, by their names within the root of its
 * parent.
 */
static void
open_of_ended(ProcessTable *table, Process *process, WantedFile *wanted, size_t count)
{
	uint32_t root_pid = is_there(process->parent_pid) ? process->parent_pid : 0;

	for (size_t i = 0; i < count; i++)
	{
		if (wanted[i].file != NULL)
			continue;
		/* the process lives, so its files were not opened for another reason */
		if (!has_ended((uint32_t) process->key.pid))
			return;
		wanted[i].kind = WANTED_PAST;
		process_open(table, process, root_pid, &wanted[i], 1);
	}
}

/*
 * Opens the files of a process while it lives; their unwind tables may be made later. If the
 * process has many files, the rest is opened when samples fall into them.
 */
static void
process_open_files(ProcessTable *table, Process *process, const Snapshot *snapshot)
{
	WantedFile wanted[PROCESS_FILES_EAGER];
	Mapping *opened[PROCESS_FILES_EAGER];
	MappingList *list = &process->mappings;
	size_t count = 0;

	process->files = count_open_files(list);
	/* 1. Find files that are open, and list the others, one mapping for each file. */
	for (size_t i = 0; i < list->count && process->files + count < PROCESS_FILES_EAGER; i++)
	{
		Mapping *mapping = &list->mappings[i];

		if (mapping->kind != MAPPING_FILE || mapping->file_tried ||
			same_file_before(list, i) != NULL)
			continue;
		/* most files of a new process are open already, and finding those does not wait */
		if (snapshot->kind == WANTED_MAPPING)
			mapping->file = mapped_file_find_mapping(table->files, &mapping->map);
		if (mapping->file != NULL)
		{
			mapping->file_tried = true;
			process->files++;
			continue;
		}
		opened[count] = mapping;
		wanted[count++] = (WantedFile){ .kind = snapshot->kind, .map = mapping->map };
	}
	/*
	 * 2. Open them, which releases the lock. The list does not change meanwhile, because
	 * process->reading keeps other threads from reading the process.
	 */
	process_open(table, process, snapshot->files_pid, wanted, count);
	if (snapshot->kind == WANTED_MAPPING)
		open_of_ended(table, process, wanted, count);
	for (size_t i = 0; i < count; i++)
	{
		opened[i]->file_tried = true;
		opened[i]->file_late = wanted[i].late;
		opened[i]->file = wanted[i].file;
	}
	process->files += count;
	/* 3. Give the files to the other mappings of them. */
	share_files(table, list);
}

void
process_open_late(ProcessTable *table, Process *process, Mapping *mapping)
{
	WantedFile wanted = { .kind = WANTED_MAPPING, .map = mapping->map };

	if (mapping->kind != MAPPING_FILE || mapping->file_tried)
		return;
	/* before the wait, so that the file is not opened twice */
	mapping->file_tried = true;
	if (process->files >= PROCESS_FILES_MAX)
	{
		table->stats.files_refused++;
		return;
	}
	process->files++;
	process_open(table, process, process->files_pid, &wanted, 1);
	mapping->file = wanted.file;
	mapping->file_late = wanted.late;
	process->described &= wanted.file == NULL; /* a new file must be described to the unwinder */
}

/* Opens the executable's file, which is usually one of the mapped files. */
static void
open_executable(ProcessTable *table, Process *process, const Snapshot *snapshot)
{
	WantedFile wanted = { .kind = WANTED_EXECUTABLE, .map = { .name = snapshot->exe } };
	const MappingList *list = &process->mappings;

	if (process->executable != NULL || snapshot->exe[0] == '\0')
		return;
	for (size_t i = 0; i < list->count && !snapshot->exe_deleted; i++)
	{
		const Mapping *mapping = &list->mappings[i];

		if (mapping->kind != MAPPING_FILE || mapping->map.deleted ||
			strcmp(mapping->map.name, snapshot->exe) != 0)
			continue;
		/* if it is NULL, opening it failed just now and would fail again */
		if (mapping->file != NULL)
			mapped_file_retain(table->files, mapping->file);
		process->executable = mapping->file;
		return;
	}
	if (snapshot->kind != WANTED_MAPPING)
		return;
	process_open(table, process, snapshot->files_pid, &wanted, 1);
	process->executable = wanted.file;
}

/*
 * Determines runtime and compiler, once for each file. If a file does not answer, a later read of
 * the process asks it again.
 */
static void
look_at_code(ProcessTable *table, Process *process)
{
	char compiler[COMPILER_BYTES] = "";
	int error;

	process->runtime = runtime_find(process_exe(process), &process->mappings);
	/* the compiler is stored with the file, for all processes that execute it */
	if (process->executable == NULL || mapped_file_compiler(process->executable) != NULL)
		return;
	begin_wait(table, process);
	error = probe_compiler(table->file_prober, table->files, process->executable, PROBE_WAIT_NS,
						   compiler);
	end_wait(table, process);
	/* on a timeout the next read of the process asks the file again */
	if (error == 0)
		mapped_file_set_compiler(process->executable, compiler);
}

/*
 * Replaces the facts of a process by a snapshot and opens its files. If the new list lacks mappings
 * of the previous one, keeps the previous one as "older".
 */
static void
install_snapshot(ProcessTable *table, Process *process, Snapshot *snapshot)
{
	/*
	 * The new list gets the files of mappings that both have. A list that is contained in the new
	 * one is not needed any longer.
	 */
	if (mapping_list_inherit(table->files, &process->mappings, &snapshot->mappings))
		mapping_list_release(table->files, &process->mappings);
	else
	{
		mapping_list_release(table->files, &process->older);
		process->older = process->mappings;
	}
	process->mappings = snapshot->mappings;
	process->cgroup = snapshot->cgroup;
	if (snapshot->uid != USER_UNKNOWN)
		process->uid = snapshot->uid;
	process->cgroup_read_ns = snapshot->cgroup_ns;
	table->stats.relative += snapshot->cgroup.is_relative;
	process->cgroup_learned = false;
	free(process->environment);
	process->environment = snapshot->environment;
	process->environment_of = table->environment_of;
	process->labels.stale = true;
	if (process->exe == NULL && snapshot->exe[0] != '\0')
		process->exe = strdup(snapshot->exe);
	if (process->executable == NULL)
		process->executable = snapshot->executable;
	process->state = PROCESS_LIVE;
	process->stall = (Stall){ 0 };
	process->omits = false;
	process->files_pid = snapshot->files_pid;
	process_open_files(table, process, snapshot);
	open_executable(table, process, snapshot);
	if (table->wants_code)
		look_at_code(table, process);
	process_charge_mappings(table, process);
	/*
	 * Clear this last, because another thread may have described the process before the files were
	 * opened.
	 */
	process->described = false;
}

/*
 * Takes the facts about an exited process from the side-band. Its files are open already, or can be
 * opened by name.
 */
static int
take_past_snapshot(ProcessTable *table, const Process *process, Snapshot *snapshot)
{
	uint32_t pid = (uint32_t) process->key.pid;
	MappingList *list = &snapshot->mappings;
	const ProcMapping *executable;
	const ProcMapping *maps;
	uint64_t last_ns;
	size_t count;
	int result;

	memset(snapshot, 0, sizeof(*snapshot));
	snapshot->uid = USER_UNKNOWN;
	if (table->past == NULL)
		return -ESRCH;
	past_images_update(table->past);
	if (!process_owns_past(table, process, process->sampled_ns))
		return -ESRCH;
	executable = past_images_executable(table->past, pid, process->sampled_ns);
	count = past_images_find(table->past, pid, process->sampled_ns, &maps, &last_ns);
	if (count == 0 || executable == NULL)
		return -ESRCH;
	/* if /proc was read while the process lived, only newer mappings add anything */
	if (process->state == PROCESS_LIVE && last_ns <= process->mappings.begin_ns)
		return -ESRCH;
	result = mapping_list_make(maps, count, list);
	if (result != 0)
		return result;
	/* the list is right at the time of the last mapping that was reported */
	list->begin_ns = last_ns;
	list->end_ns = last_ns;
	snapshot->files_pid = process_root_pid(process);
	snapshot->kind = WANTED_PAST;
	snprintf(snapshot->exe, sizeof(snapshot->exe), "%s", executable->name);
	return 0;
}

/*
 * Returns true if mappings from the side-band suffice for the moment. If the process lives on,
 * /proc is read later.
 */
static bool
may_believe_told(const ProcessTable *table, const Process *process, uint64_t now_ns)
{
	bool is_new = process->read_ns == 0 ||
				  (process->told_ns != 0 && now_ns - process->told_ns <= PROCESS_TOLD_NS);

	return is_new && table->environment == NULL;
}

/*
 * Takes the facts about a living process from the side-band, which must have recorded the process's
 * start. Many programs exit soon, and reading their mappings from /proc would cost more than all
 * other work for them. The values that are read here do not block. Returns -ESRCH if /proc must be
 * read, because the side-band is incomplete or names files within another root.
 */
static int
take_told_snapshot(ProcessTable *table, const Process *process, uint64_t now_ns, Snapshot *snapshot)
{
	uint32_t pid = (uint32_t) process->key.pid;
	char exe[EXE_PATH_BYTES];
	bool deleted;
	int result = take_past_snapshot(table, process, snapshot);

	if (result != 0)
		return result;
	/*
	 * a name that differs from /proc's is relative to another root, or the process has executed
	 * something since
	 */
	if (snapshot->mappings.count > process_mapping_limit(table, process, now_ns) ||
		proc_exe_read(pid, exe, sizeof(exe), &deleted) != 0 || deleted ||
		strcmp(exe, snapshot->exe) != 0)
		return -ESRCH;
	if (!cgroup_table_find(table->cgroups, &process->cgroup_key, &snapshot->cgroup))
		snapshot->cgroup_ns = process_read_cgroup(pid, &snapshot->cgroup);
	snapshot->files_pid = pid;
	snapshot->kind = WANTED_MAPPING;
	return 0;
}

/* Returns the state of a process of which nothing could be read. */
static ProcessState
state_without(int error)
{
	if (error == -EACCES || error == -EPERM)
		return PROCESS_UNREADABLE;
	return error == -ETIMEDOUT || error == -EBUSY ? PROCESS_STUCK : PROCESS_GONE;
}

/*
 * Reads a process: from the side-band if it is new, otherwise from /proc, and if that fails, from
 * the history. process->reading is set, so that no other thread reads the process meanwhile.
 */
static void
read_unsettled(ProcessTable *table, Process *process, uint64_t now_ns)
{
	Snapshot snapshot;
	int result;

	if (process->mappings.count > process_mapping_limit(table, process, now_ns))
	{
		/* the owner's limit would make the new list shorter than the present one */
		table->stats.put_off++;
		process->read_ns = now_ns;
		return;
	}
	/* 1. Take the facts about a process that has just begun from the side-band. */
	if (may_believe_told(table, process, now_ns))
	{
		if (take_told_snapshot(table, process, now_ns, &snapshot) == 0)
		{
			process->told_ns = process->told_ns != 0 ? process->told_ns : now_ns;
			process->read_ns = now_ns;
			install_snapshot(table, process, &snapshot);
			return;
		}
		discard_snapshot(table, &snapshot);
	}
	process->told_ns = 0;
	/* 2. Otherwise read them from /proc. */
	result = take_snapshot(table, process, &snapshot);
	/* process the events that happened during the read before using its results */
	if (table->past != NULL)
		past_images_update(table->past);
	process->read_ns = now_ns;
	if (result == 0)
	{
		install_snapshot(table, process, &snapshot);
		return;
	}
	discard_snapshot(table, &snapshot);
	if (state_without(result) == PROCESS_STUCK)
		stall_note(&process->stall, now_ns);
	/*
	 * 3. If the process has exited, or does not answer and nothing is known of it, take the facts
	 * from the side-band's history.
	 */
	if (result == -ESRCH || result == -ENOENT ||
		(state_without(result) == PROCESS_STUCK && process->state != PROCESS_LIVE))
	{
		if (take_past_snapshot(table, process, &snapshot) == 0)
		{
			guess_cgroup(table, process, &snapshot.cgroup);
			install_snapshot(table, process, &snapshot);
			table->stats.remembered++;
			return;
		}
		discard_snapshot(table, &snapshot);
	}
	/* older facts are better than none */
	if (process->state != PROCESS_LIVE)
		process->state = state_without(result);
}

void
process_read(ProcessTable *table, Process *process, uint64_t now_ns)
{
	/*
	 * A process that did not answer is left alone until its backoff has ended, and one that another
	 * thread reads or waits for.
	 */
	if (now_ns < process->stall.until_ns || process->waits > 0 || process->reading)
		return;
	process->reading = true;
	read_unsettled(table, process, now_ns);
	process->reading = false;
	if (table->lock.wake != NULL)
		table->lock.wake(table->lock.context);
}

void
process_settle(ProcessTable *table, Process *process)
{
	/* keeps the process in the table while this thread waits */
	process->waits++;
	while (process->reading && table->lock.wait != NULL)
		table->lock.wait(table->lock.context);
	process->waits--;
}

void
process_reread(ProcessTable *table, Process *process, uint64_t now_ns)
{
	if (may_reread(table, process, now_ns))
		process_read(table, process, now_ns);
}

/*
 * Like process_inherit(), but from a parent that was not sampled itself: /proc shows whether the
 * parent executes the image that was forked.
 */
static void
inherit_unsampled(ProcessTable *table, Process *process)
{
	/* take_snapshot() needs a process: one that is not in the table, with the owner who pays */
	Process parent = { .key = { .pid = process->parent_pid },
					   .owner = process->owner,
					   .tid = process->parent_pid,
					   .arg_start = process->arg_start };
	Snapshot snapshot;
	ProcStat stat;
	int result;

	if (read_stat(table, process, process->parent_pid, &stat) != 0 || process->arg_start == 0 ||
		stat.arg_start != process->arg_start)
		return;
	parent.key.start_time_ns = stat.start_ticks * (NS_PER_S / table->ticks_per_s);
	/* begin_wait() counts for the parent, but the child must stay in the table */
	process->waits++;
	result = take_snapshot(table, &parent, &snapshot);
	process->waits--;
	if (result != 0)
	{
		discard_snapshot(table, &snapshot);
		return;
	}
	snapshot.cgroup = process->cgroup;
	snapshot.cgroup_ns = 0; /* the parent may be in another control group */
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
	/* one of the two has executed a program since the fork */
	if (parent->arg_start != process->arg_start || parent->key.exec_id != process->key.exec_id)
		return;
	memset(&snapshot, 0, sizeof(snapshot));
	snapshot.uid = parent->uid;
	snapshot.files_pid = parent->files_pid;
	snapshot.kind = WANTED_MAPPING;
	if (mapping_list_copy(table->files, &parent->mappings, &snapshot.mappings) != 0)
	{
		discard_snapshot(table, &snapshot);
		return;
	}
	snapshot.cgroup = process->cgroup;
	if (parent->environment != NULL && parent->environment_of == table->environment_of)
		snapshot.environment = proc_environment_filter(parent->environment, table->environment);
	snprintf(snapshot.exe, sizeof(snapshot.exe), "%s", process_exe(parent));
	snapshot.executable = parent->executable;
	if (snapshot.executable != NULL)
		mapped_file_retain(table->files, snapshot.executable);
	install_snapshot(table, process, &snapshot);
}
