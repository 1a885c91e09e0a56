/*
 * process.c
 *		The table of sampled processes.
 *
 * A mapping's image is opened when the first sample falls into it: most mappings of most processes
 * never have one.
 */
#include "process/process.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <uthash.h>

#include "base/clock.h"

#define CGROUP_LIMIT_BYTES (64 * 1024)
#define EXE_PATH_BYTES	   4096

#define NS_PER_S		 UINT64_C(1000000000)
#define REREAD_FIRST_NS	 (NS_PER_S / 100) /* after an address that nothing covers */
#define REREAD_LAST_NS	 (10 * NS_PER_S)  /* the delay doubles up to here */
#define REREAD_UNTOLD_NS NS_PER_S		  /* where the side-band may have lost something */
#define REFRESH_NS		 (60 * NS_PER_S)  /* a mapping may be replaced unnoticed */
#define FORGET_UNSEEN_NS (300 * NS_PER_S)

#define ROOM_RETRY_NS (2 * NS_PER_S) /* what is given back rests for half of that */

#define TOLD_MAPPINGS 8
#define DESCRIPTIONS  8

typedef struct ProcessKey
{
	uint64_t start_time_ns;
	uint64_t exec_id;
	uint64_t pid;
} ProcessKey;

/* A description of the process that the unwinder has, or had. */
typedef struct Described
{
	uint64_t taken_ns; /* the kernel may use it from here on … */
	uint64_t
		installed_ns;  /* … does from here on (UINT64_MAX: not yet), till the next one is there */
	uint64_t begin_ns; /* when its mappings were read */
	uint64_t end_ns;
} Described;

struct Process
{
	ProcessKey key;
	ProcessState state;
	bool described;		  /* to the unwinder, with the mappings as they are */
	uint64_t describe_ns; /* there was no room: not before then */
	bool in_unwinder;	  /* was ever described */
	size_t held;		  /* mappings that the unwinder has of it */
	struct Process *next_forgotten;
	uint64_t arg_start;
	uint64_t sampled_ns; /* when it was first sampled */
	uint32_t parent_pid; /* then */
	uint32_t tid;		 /* the thread that was sampled last */
	uint32_t files_pid;	 /* by which mapped files are opened: itself, a thread of it, its parent */
	uint64_t seen_ns;
	uint64_t checked_ns; /* when the sweep last looked whether it lives */
	uint64_t read_ns;
	uint64_t reread_delay_ns;
	MappingList mappings;
	MappingList older;					  /* as they were read before, and not the same */
	Mapping told[TOLD_MAPPINGS];		  /* by the side-band, and never seen; names are ours */
	uint32_t told_next;					  /* the one that goes next */
	Described descriptions[DESCRIPTIONS]; /* latest first; unused ones are zeroed */
	char *exe;
	MappedFile *executable;
	CgroupLabels cgroup;
	UT_hash_handle hh; /* the table's order is that of the last sample: oldest first */
};

struct ProcessTable
{
	MappedFileTable *files;
	PastImages *past;	/* NULL: none */
	Process *forgotten; /* removed, but for what the unwinder knows; most recent first */
	size_t limit;
	uint64_t ticks_per_s;
	uint64_t room_ns; /* when processes may be made to go again */
	Process *processes;
	ProcessTableStats stats;
};

static void
release_told(ProcessTable *table, Mapping *told)
{
	mapped_file_release(table->files, told->file);
	free((void *) (uintptr_t) told->map.name); /* const only to others */
	memset(told, 0, sizeof(*told));
}

/* Everything but the process itself. */
static void
release_process(ProcessTable *table, Process *process)
{
	mapping_list_release(table->files, &process->mappings);
	mapping_list_release(table->files, &process->older);
	for (int i = 0; i < TOLD_MAPPINGS; i++)
		release_told(table, &process->told[i]);
	mapped_file_release(table->files, process->executable);
	free(process->exe);
	process->executable = NULL;
	process->exe = NULL;
}

/* What /proc tells about a process, until it is known to be about the image that was sampled. */
typedef struct Snapshot
{
	MappingList mappings;
	char exe[EXE_PATH_BYTES]; /* "" where not known */
	MappedFile *executable;
	CgroupLabels cgroup;
	uint32_t proc_id; /* that /proc was asked by */
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

static void
read_cgroup(uint32_t pid, CgroupLabels *cgroup)
{
	char path[64];
	char *text;

	snprintf(path, sizeof(path), "/proc/%u/cgroup", pid);
	if (proc_file_read(path, CGROUP_LIMIT_BYTES, &text, NULL) != 0)
		return;
	cgroup_parse(text, cgroup);
	free(text);
}

/*
 * Is /proc/PID still about the image that was sampled? Asked after reading: images never come
 * back.
 */
static bool
still_same_image(const ProcessTable *table, const Process *process)
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
	read_cgroup(pid, &snapshot->cgroup);
	if (proc_exe_read(pid, snapshot->exe, sizeof(snapshot->exe), &deleted) != 0)
		snapshot->exe[0] = '\0';
	else if (process->executable == NULL)
		read_executable(table, pid, deleted, snapshot);
	return still_same_image(table, process) ? 0 : -ESRCH;
}

static void
discard_snapshot(ProcessTable *table, Snapshot *snapshot)
{
	mapping_list_release(table->files, &snapshot->mappings);
	mapped_file_release(table->files, snapshot->executable);
}

bool
process_take_description(ProcessTable *table, Process *process, ProcessDescription *description)
{
	const MappingList *list = &process->mappings;

	if (process->described || process->state != PROCESS_LIVE ||
		(uint64_t) clock_ns(CLOCK_MONOTONIC) < process->describe_ns)
		return false;
	description->mappings = calloc(list->count + 1, sizeof(*description->mappings));
	if (description->mappings == NULL)
		return false;
	description->identity = process_identity(process);
	description->count = 0;
	for (size_t i = 0; i < list->count; i++)
	{
		Mapping *mapping = &list->mappings[i];
		MappedFile *file = mapping_open(table->files, process->files_pid, mapping);

		if (mapping->kind == MAPPING_OTHER || (mapping->kind != MAPPING_ANONYMOUS && file == NULL))
			continue;
		if (file != NULL)
			mapped_file_retain(table->files, file);
		description->mappings[description->count++] =
			(DescribedMapping){ mapping->map.start, mapping->map.end, mapping->map.file_offset,
								file };
	}
	process->described = true;
	process->in_unwinder = true;
	memmove(&process->descriptions[1], &process->descriptions[0],
			(DESCRIPTIONS - 1) * sizeof(Described));
	process->descriptions[0] = (Described){ (uint64_t) clock_ns(CLOCK_MONOTONIC), UINT64_MAX,
											list->begin_ns, list->end_ns };
	return true;
}

void
process_described(Process *process, size_t held, uint64_t now_ns)
{
	process->held = held;
	process->descriptions[0].installed_ns = now_ns;
}

/* What the unwinder knows outlives the process until process_table_take_forgotten. */
static void
remove_process(ProcessTable *table, Process *process)
{
	HASH_DEL(table->processes, process);
	table->stats.count--;
	release_process(table, process);
	if (!process->in_unwinder)
	{
		free(process);
		return;
	}
	process->next_forgotten = table->forgotten;
	table->forgotten = process;
}

/* The one of which the unwinder knows most mappings. */
static Process *
largest_described(ProcessTable *table)
{
	Process *largest = NULL;
	Process *process;
	Process *next;

	HASH_ITER(hh, table->processes, process, next)
	{
		if (largest == NULL || process->held > largest->held)
			largest = process;
	}
	return largest;
}

void
process_had_no_room(ProcessTable *table, Process *process, uint64_t now_ns)
{
	Process *largest;

	process->described = false;
	process->held = 0;
	process->describe_ns = now_ns + ROOM_RETRY_NS;
	if (now_ns < table->room_ns)
		return;
	table->room_ns = now_ns + ROOM_RETRY_NS;
	/* some that are sampled all the time may hold all of it, and would stay */
	largest = largest_described(table);
	if (largest != NULL && largest->held > process->mappings.count)
	{
		remove_process(table, largest);
		table->stats.evicted++;
	}
	for (size_t left = table->stats.count / 8 + 1; left > 0 && table->processes != process; left--)
	{
		remove_process(table, table->processes);
		table->stats.evicted++;
	}
}

void
process_description_fini(MappedFileTable *files, ProcessDescription *description)
{
	for (size_t i = 0; i < description->count; i++)
		mapped_file_release(files, description->mappings[i].file);
	free(description->mappings);
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
	if (process->exe == NULL && snapshot->exe[0] != '\0')
		process->exe = strdup(snapshot->exe);
	if (process->executable == NULL)
		process->executable = snapshot->executable;
	process->state = PROCESS_LIVE;
	process->described = false;
	open_files(table, process);
}

/* By whose root files may be looked up by name: the process's own, its parent's, or ours (0). */
static uint32_t
root_pid(const Process *process)
{
	if (kill((pid_t) process->key.pid, 0) == 0)
		return (uint32_t) process->key.pid;
	return kill((pid_t) process->parent_pid, 0) == 0 ? process->parent_pid : 0;
}

/* What the side-band told of a process that /proc no longer knows. Its files may be open already, or be opened by name. */
static int
take_past_snapshot(ProcessTable *table, const Process *process, Snapshot *snapshot)
{
	uint32_t pid = (uint32_t) process->key.pid;
	uint32_t root = root_pid(process);
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
	read_cgroup(process->parent_pid, &snapshot->cgroup);
	return 0;
}

/* Reads all about a process; what is known stays where it has ended since. */
static void
read_process(ProcessTable *table, Process *process, uint64_t now_ns)
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

/* The parent was never sampled itself: /proc tells whether it executes the image that was forked. */
static void
inherit_unsampled(ProcessTable *table, Process *process)
{
	Process parent = { .key = { .pid = process->parent_pid },
					   .tid = process->parent_pid,
					   .arg_start = process->arg_start };
	Snapshot snapshot;
	ProcStat stat;

	read_cgroup(process->parent_pid, &process->cgroup);
	if (proc_stat_read(process->parent_pid, &stat) != 0 || process->arg_start == 0 ||
		stat.arg_start != process->arg_start)
		return;
	parent.key.start_time_ns = stat.start_ticks * (NS_PER_S / table->ticks_per_s);
	if (take_snapshot(table, &parent, &snapshot) != 0)
	{
		discard_snapshot(table, &snapshot);
		return;
	}
	process->files_pid = process->parent_pid;
	install_snapshot(table, process, &snapshot);
}

/*
 * A process that ended too early has its parent's control group, as a rule; and where it was
 * forked and executed nothing, which the random place of its arguments tells, its parent's image
 * as well.
 */
static void
inherit(ProcessTable *table, Process *process)
{
	Process *parent = NULL;
	Snapshot snapshot;
	Process *each;
	Process *next;

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
	process->cgroup = parent->cgroup;
	process->files_pid = parent->files_pid;
	if (parent->arg_start != process->arg_start || parent->key.exec_id != process->key.exec_id)
		return;
	memset(&snapshot, 0, sizeof(snapshot));
	if (mapping_list_copy(table->files, &parent->mappings, &snapshot.mappings) != 0)
	{
		discard_snapshot(table, &snapshot);
		return;
	}
	snapshot.cgroup = parent->cgroup;
	snprintf(snapshot.exe, sizeof(snapshot.exe), "%s", process_exe(parent));
	snapshot.executable = parent->executable;
	if (snapshot.executable != NULL)
		mapped_file_retain(table->files, snapshot.executable);
	install_snapshot(table, process, &snapshot);
}

int
process_table_create(MappedFileTable *files, size_t limit, ProcessTable **result)
{
	ProcessTable *table = calloc(1, sizeof(*table));

	if (table == NULL)
		return -ENOMEM;
	table->files = files;
	table->limit = limit;
	table->ticks_per_s = (uint64_t) sysconf(_SC_CLK_TCK);
	*result = table;
	return 0;
}

void
process_table_remember(ProcessTable *table, PastImages *past)
{
	table->past = past;
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
process_table_free(ProcessTable *table)
{
	Process *process;
	Process *next;

	if (table == NULL)
		return;
	HASH_ITER(hh, table->processes, process, next)
		remove_process(table, process);
	while (table->forgotten != NULL)
	{
		process = table->forgotten;
		table->forgotten = process->next_forgotten;
		free(process);
	}
	free(table);
}

Process *
process_table_get(ProcessTable *table, const struct pfs_sample *sample, uint64_t now_ns)
{
	ProcessKey key = { sample->start_time_ns, sample->exec_id, sample->pid };
	Process *process;

	HASH_FIND(hh, table->processes, &key, sizeof(key), process);
	if (process != NULL)
	{
		/* to the end of the table's order */
		HASH_DEL(table->processes, process);
		HASH_ADD(hh, table->processes, key, sizeof(key), process);
		process->seen_ns = now_ns;
		process->tid = sample->tid;
		if (process->state == PROCESS_LIVE && now_ns - process->read_ns > REFRESH_NS)
			read_process(table, process, now_ns);
		return process;
	}
	process = calloc(1, sizeof(*process));
	if (process == NULL)
		return NULL;
	process->key = key;
	process->arg_start = sample->arg_start;
	process->sampled_ns = sample->time_ns;
	process->parent_pid = sample->parent_pid;
	process->tid = sample->tid;
	process->files_pid = sample->pid;
	process->seen_ns = now_ns;
	process->reread_delay_ns = REREAD_FIRST_NS;
	if (sample->flags & PFS_SAMPLE_KERNEL_THREAD)
		process->state = PROCESS_KERNEL;
	else
	{
		process->state = PROCESS_GONE;
		read_process(table, process, now_ns);
		if (process->state == PROCESS_GONE)
			inherit(table, process);
	}
	while (table->stats.count >= table->limit)
	{
		remove_process(table, table->processes);
		table->stats.evicted++;
	}
	HASH_ADD(hh, table->processes, key, sizeof(key), process);
	table->stats.count++;
	table->stats.created++;
	return process;
}

static PastChange
changed_between(const ProcessTable *table, const Process *process, uint64_t address, uint64_t a_ns,
				uint64_t b_ns)
{
	if (table->past == NULL)
		return PAST_UNTOLD;
	return past_images_changed(table->past, (uint32_t) process->key.pid, address,
							   a_ns < b_ns ? a_ns : b_ns, a_ns < b_ns ? b_ns : a_ns);
}

/* Is what a list shows at the address what was there at time_ns? */
static PastChange
list_changed(const ProcessTable *table, const Process *process, const MappingList *list,
			 uint64_t address, uint64_t time_ns)
{
	return changed_between(table, process, address,
						   time_ns < list->begin_ns ? time_ns : list->begin_ns,
						   time_ns > list->end_ns ? time_ns : list->end_ns);
}

/* A mapping that the side-band told of, with its file where that can be had. */
static Mapping *
get_told(ProcessTable *table, Process *process, const ProcMapping *map)
{
	Mapping *told;

	for (int i = 0; i < TOLD_MAPPINGS; i++)
	{
		told = &process->told[i];
		if (told->map.name != NULL && told->map.start == map->start && told->map.end == map->end &&
			told->map.file_offset == map->file_offset && told->map.inode == map->inode &&
			told->map.device == map->device && strcmp(told->map.name, map->name) == 0)
			return told;
	}
	told = &process->told[process->told_next++ % TOLD_MAPPINGS];
	release_told(table, told);
	told->map = *map;
	told->map.name = strdup(map->name);
	if (told->map.name == NULL)
		return NULL;
	told->kind = mapping_kind(map);
	told->file_tried = true;
	if (told->kind == MAPPING_FILE &&
		mapped_file_acquire_past(table->files, root_pid(process), map, &told->file) != 0)
		told->file = NULL;
	return told;
}

/*
 * The mapping of an address at time_ns: as it was seen, where that holds for the time; else as it was told. Where not all was
 * told, what was seen is taken, unless it was seen otherwise before.
 */
static Mapping *
mapping_at(ProcessTable *table, Process *process, uint64_t address, uint64_t time_ns)
{
	Mapping *mapping = mapping_list_find(&process->mappings, address);
	Mapping *older = mapping_list_find(&process->older, address);
	PastChange change = list_changed(table, process, &process->mappings, address, time_ns);
	const ProcMapping *told;

	if (mapping != NULL && change == PAST_UNCHANGED)
		return mapping;
	if (older != NULL &&
		list_changed(table, process, &process->older, address, time_ns) == PAST_UNCHANGED)
		return older;
	if (table->past == NULL)
		return mapping;
	told = past_images_at(table->past, (uint32_t) process->key.pid, address, time_ns);
	if (told != NULL)
		return get_told(table, process, told);
	if (change != PAST_UNTOLD)
		return NULL;
	if (mapping == NULL || older == NULL || mapping->file == older->file)
		return mapping;
	return NULL;
}

bool
process_covers(const Process *process, uint64_t address)
{
	return mapping_list_find(&process->mappings, address) != NULL;
}

bool
process_is_generated(const Process *process, uint64_t address)
{
	const Mapping *mapping = mapping_list_find(&process->mappings, address);

	return mapping != NULL && mapping->kind == MAPPING_ANONYMOUS;
}

void
process_seek(ProcessTable *table, Process *process, uint64_t address, uint64_t now_ns)
{
	if (process->state != PROCESS_LIVE || process_covers(process, address) ||
		now_ns - process->read_ns < process->reread_delay_ns)
		return;
	read_process(table, process, now_ns);
	if (process_covers(process, address))
		process->reread_delay_ns = REREAD_FIRST_NS;
	else if (process->reread_delay_ns < REREAD_LAST_NS)
		process->reread_delay_ns *= 2;
}

bool
process_resolve(ProcessTable *table, Process *process, uint64_t address, uint64_t time_ns,
				bool is_leaf, uint64_t now_ns, ProcessAddress *result)
{
	Mapping *mapping;

	if (process->state != PROCESS_LIVE)
		return false;
	mapping = mapping_at(table, process, address, time_ns);
	if (mapping == NULL && is_leaf)
	{
		process_seek(table, process, address, now_ns);
		mapping = mapping_at(table, process, address, time_ns);
	}
	if (mapping == NULL)
		return false;
	result->kind = mapping->kind;
	result->file = mapping_open(table->files, process->files_pid, mapping);
	result->address = address;
	if (mapping->file != NULL)
		result->address = address - mapping->map.start + mapping->map.file_offset;
	return true;
}

bool
process_walk_held(ProcessTable *table, const Process *process, uint64_t address, uint64_t time_ns,
				  bool late)
{
	uint64_t from_ns = time_ns;
	uint64_t to_ns = time_ns;

	/* all descriptions that the kernel may have followed then */
	for (int i = 0; i < DESCRIPTIONS; i++)
	{
		const Described *described = &process->descriptions[i];

		if (described->taken_ns == 0)
			break;
		if (!late && described->taken_ns > time_ns)
			continue;
		if (described->begin_ns < from_ns)
			from_ns = described->begin_ns;
		if (described->end_ns > to_ns)
			to_ns = described->end_ns;
		if (late || described->installed_ns <= time_ns)
			break;
	}
	return changed_between(table, process, address, from_ns, to_ns) != PAST_CHANGED;
}

void
process_follow(ProcessTable *table, Process *process, uint64_t now_ns)
{
	uint32_t pid = (uint32_t) process->key.pid;
	uint64_t since_ns = now_ns - process->read_ns;

	if (process->state != PROCESS_LIVE || table->past == NULL)
		return;
	if ((since_ns >= REREAD_FIRST_NS &&
		 past_images_file_mapped_ns(table->past, pid) > process->mappings.begin_ns) ||
		(since_ns >= REREAD_UNTOLD_NS &&
		 past_images_untold_ns(table->past, pid) > process->mappings.begin_ns))
		read_process(table, process, now_ns);
}

void
process_reread_before(ProcessTable *table, Process *process, uint64_t moment_ns, uint64_t now_ns)
{
	if (process->state == PROCESS_LIVE && process->mappings.begin_ns < moment_ns)
		read_process(table, process, now_ns);
}

uint64_t
process_read_ns(const Process *process)
{
	return process->mappings.begin_ns;
}

void
process_table_sweep(ProcessTable *table, uint64_t now_ns)
{
	Process *process;
	Process *next;

	HASH_ITER(hh, table->processes, process, next)
	{
		/* it may have been seen after the caller looked at the clock */
		uint64_t unseen_ns = now_ns > process->seen_ns ? now_ns - process->seen_ns : 0;

		if (unseen_ns > FORGET_UNSEEN_NS)
			remove_process(table, process);
		else if (unseen_ns > REFRESH_NS && process->state != PROCESS_KERNEL &&
				 now_ns - process->checked_ns > REFRESH_NS)
		{
			process->checked_ns = now_ns;
			/* whether the pid is in use tells nothing: another process may have it by now */
			if (!still_same_image(table, process))
				remove_process(table, process);
		}
	}
}

void
process_table_stats(const ProcessTable *table, ProcessTableStats *stats)
{
	*stats = table->stats;
}

ExecImage
process_identity(const Process *process)
{
	return (ExecImage){ (uint32_t) process->key.pid, process->key.start_time_ns,
						process->key.exec_id };
}

ProcessState
process_state(const Process *process)
{
	return process->state;
}

MappedFile *
process_executable(const Process *process)
{
	return process->executable;
}

const char *
process_exe(const Process *process)
{
	return process->exe != NULL ? process->exe : "";
}

const CgroupLabels *
process_cgroup(const Process *process)
{
	return &process->cgroup;
}
