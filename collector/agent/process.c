/*
 * process.c
 *		The table of sampled processes.
 *
 * A mapping's image is opened when the first sample falls into it: most mappings of most processes
 * never have one.
 */
#include "agent/process.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <uthash.h>

#include "base/grow.h"

#define MAPS_LIMIT_BYTES   (64 * 1024 * 1024)
#define CGROUP_LIMIT_BYTES (64 * 1024)
#define EXE_PATH_BYTES	   4096

#define NS_PER_S		 UINT64_C(1000000000)
#define REREAD_FIRST_NS	 (NS_PER_S / 100) /* after an address that nothing covers */
#define REREAD_LAST_NS	 (10 * NS_PER_S)  /* the delay doubles up to here */
#define REFRESH_NS		 (60 * NS_PER_S)  /* a mapping may be replaced unnoticed */
#define FORGET_UNSEEN_NS (300 * NS_PER_S)

typedef struct ProcessKey
{
	uint64_t start_time_ns;
	uint64_t exec_id;
	uint64_t pid;
} ProcessKey;

typedef struct Mapping
{
	ProcMapping map; /* name points into the process's names */
	MappingKind kind;
	bool image_tried;
	Image *image;
} Mapping;

struct Process
{
	ProcessKey key;
	ProcessState state;
	bool described;	  /* to the unwinder, with the mappings as they are */
	bool in_unwinder; /* was ever described */
	struct Process *next_forgotten;
	uint64_t arg_start;
	uint64_t sampled_ns; /* when it was first sampled */
	uint32_t parent_pid; /* then */
	uint32_t files_pid;	 /* process by which mapped files are opened: itself, or its parent */
	uint64_t seen_ns;
	uint64_t read_ns;
	uint64_t reread_delay_ns;
	Mapping *mappings; /* executable ones, by ascending start */
	size_t mapping_count;
	char *names; /* of the mappings */
	char *exe;
	Image *executable;
	CgroupLabels cgroup;
	UT_hash_handle hh; /* the table's order is that of the last sample: oldest first */
};

struct ProcessTable
{
	ImageTable *images;
	PastImages *past;	/* NULL: none */
	Process *forgotten; /* removed, but for what the unwinder knows; most recent first */
	size_t limit;
	uint64_t ticks_per_s;
	Process *processes;
	ProcessTableStats stats;
};

static void
release_mappings(ProcessTable *table, Process *process)
{
	for (size_t i = 0; i < process->mapping_count; i++)
		image_release(table->images, process->mappings[i].image);
	free(process->mappings);
	free(process->names);
	process->mappings = NULL;
	process->mapping_count = 0;
	process->names = NULL;
}

/* Everything but the process itself. */
static void
release_process(ProcessTable *table, Process *process)
{
	release_mappings(table, process);
	image_release(table->images, process->executable);
	free(process->exe);
	process->executable = NULL;
	process->exe = NULL;
}

static MappingKind
mapping_kind(const ProcMapping *map)
{
	if (strcmp(map->name, "[vdso]") == 0)
		return MAPPING_VDSO;
	if (map->inode != 0)
		return MAPPING_FILE;
	/*
	 * "[anon:…]" is memory that was named with prctl; "[heap]" and "[stack]" may be executable too
	 */
	if (map->name[0] == '\0' || strncmp(map->name, "[anon", 5) == 0 ||
		strcmp(map->name, "[heap]") == 0 || strncmp(map->name, "[stack", 6) == 0)
		return MAPPING_ANONYMOUS;
	return MAPPING_OTHER;
}

static bool
same_mapping(const ProcMapping *a, const ProcMapping *b)
{
	return a->start == b->start && a->end == b->end && a->file_offset == b->file_offset &&
		   a->device == b->device && a->inode == b->inode && strcmp(a->name, b->name) == 0;
}

/* Images that were opened already move over to the mappings read anew; both lists ascend. */
static void
carry_images(Process *process, Mapping *mappings, size_t count)
{
	size_t old = 0;

	for (size_t i = 0; i < count; i++)
	{
		while (old < process->mapping_count &&
			   process->mappings[old].map.start < mappings[i].map.start)
			old++;
		if (old < process->mapping_count && mappings[i].image == NULL &&
			same_mapping(&process->mappings[old].map, &mappings[i].map))
		{
			mappings[i].image = process->mappings[old].image;
			mappings[i].image_tried = process->mappings[old].image_tried;
			process->mappings[old].image = NULL;
		}
	}
}

/* Replaces the names, which point into the text of the maps file, by copies in one block. */
static int
keep_names(Mapping *mappings, size_t count, char **block)
{
	size_t bytes = 1;
	char *next;

	for (size_t i = 0; i < count; i++)
		bytes += strlen(mappings[i].map.name) + 1;
	*block = malloc(bytes);
	if (*block == NULL)
		return -ENOMEM;
	next = *block;
	for (size_t i = 0; i < count; i++)
	{
		size_t length = strlen(mappings[i].map.name) + 1;

		memcpy(next, mappings[i].map.name, length);
		mappings[i].map.name = next;
		next += length;
	}
	return 0;
}

/*
 * Executable lines of a maps file; text is changed. What was parsed is the caller's to free, also
 * on failure.
 */
static int
parse_mappings(char *text, Mapping **mappings, size_t *count)
{
	size_t capacity = 0;
	char *line = text;

	*mappings = NULL;
	*count = 0;
	while (*line != '\0')
	{
		char *newline = strchr(line, '\n');
		Mapping mapping = { 0 };
		bool executable;

		if (newline != NULL)
			*newline = '\0';
		if (proc_maps_parse_line(line, &mapping.map, &executable) == 0 && executable)
		{
			if (grow_array(mappings, &capacity, *count, sizeof(Mapping)) != 0)
				return -ENOMEM;
			mapping.kind = mapping_kind(&mapping.map);
			(*mappings)[(*count)++] = mapping;
		}
		line = newline != NULL ? newline + 1 : line + strlen(line);
	}
	return 0;
}

/* What /proc tells about a process, until it is known to be about the image that was sampled. */
typedef struct Snapshot
{
	Mapping *mappings;
	size_t mapping_count;
	char *names;
	char exe[EXE_PATH_BYTES]; /* "" where not known */
	Image *executable;
	CgroupLabels cgroup;
} Snapshot;

static int
read_mappings(ProcessTable *table, uint32_t pid, Snapshot *snapshot)
{
	char path[64];
	char *text;
	int result;

	table->stats.map_reads++;
	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	result = proc_file_read(path, MAPS_LIMIT_BYTES, &text, NULL);
	if (result != 0)
		return result;
	result = parse_mappings(text, &snapshot->mappings, &snapshot->mapping_count);
	if (result == 0)
		result = keep_names(snapshot->mappings, snapshot->mapping_count, &snapshot->names);
	free(text);
	return result;
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
	int result;

	memset(snapshot, 0, sizeof(*snapshot));
	result = read_mappings(table, pid, snapshot);
	if (result == 0 && snapshot->mapping_count == 0)
		result = -ESRCH; /* it has given up its memory and waits for its parent */
	if (result != 0)
		return result;
	read_cgroup(pid, &snapshot->cgroup);
	if (proc_exe_read(pid, snapshot->exe, sizeof(snapshot->exe)) != 0)
		snapshot->exe[0] = '\0';
	else if (process->executable == NULL &&
			 image_acquire_executable(table->images, pid, snapshot->exe, &snapshot->executable) !=
				 0)
		snapshot->executable = NULL;
	return still_same_image(table, process) ? 0 : -ESRCH;
}

static void
discard_snapshot(ProcessTable *table, Snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->mapping_count; i++)
		image_release(table->images, snapshot->mappings[i].image);
	free(snapshot->mappings);
	free(snapshot->names);
	image_release(table->images, snapshot->executable);
}

/* NULL where the mapping has no file, or it cannot be opened; tried once. */
static Image *
mapping_image(ProcessTable *table, const Process *process, Mapping *mapping)
{
	if (!mapping->image_tried)
	{
		mapping->image_tried = true;
		if (mapping->kind == MAPPING_VDSO)
			mapping->image = image_acquire_vdso(table->images);
		else if (mapping->kind == MAPPING_FILE &&
				 image_acquire_mapping(table->images, process->files_pid, &mapping->map,
									   &mapping->image) != 0)
			mapping->image = NULL;
	}
	return mapping->image;
}

/* Files are opened while the process lives; their unwind tables may come later. */
static void
open_images(ProcessTable *table, Process *process)
{
	for (size_t i = 0; i < process->mapping_count; i++)
		(void) mapping_image(table, process, &process->mappings[i]);
}

bool
process_take_description(ProcessTable *table, Process *process, ProcessDescription *description)
{
	if (process->described || process->state != PROCESS_LIVE)
		return false;
	description->mappings = calloc(process->mapping_count + 1, sizeof(*description->mappings));
	if (description->mappings == NULL)
		return false;
	description->identity = process_identity(process);
	description->count = 0;
	for (size_t i = 0; i < process->mapping_count; i++)
	{
		Mapping *mapping = &process->mappings[i];
		Image *image = mapping_image(table, process, mapping);

		if (mapping->kind == MAPPING_OTHER || (mapping->kind != MAPPING_ANONYMOUS && image == NULL))
			continue;
		if (image != NULL)
			image_retain(table->images, image);
		description->mappings[description->count++] =
			(UnwindMapping){ mapping->map.start, mapping->map.end, mapping->map.file_offset,
							 image };
	}
	process->described = true;
	process->in_unwinder = true;
	return true;
}

void
process_description_fini(ImageTable *images, ProcessDescription *description)
{
	for (size_t i = 0; i < description->count; i++)
		image_release(images, description->mappings[i].image);
	free(description->mappings);
}

static void
install_snapshot(ProcessTable *table, Process *process, const Snapshot *snapshot)
{
	carry_images(process, snapshot->mappings, snapshot->mapping_count);
	release_mappings(table, process);
	process->mappings = snapshot->mappings;
	process->mapping_count = snapshot->mapping_count;
	process->names = snapshot->names;
	process->cgroup = snapshot->cgroup;
	if (process->exe == NULL && snapshot->exe[0] != '\0')
		process->exe = strdup(snapshot->exe);
	if (process->executable == NULL)
		process->executable = snapshot->executable;
	process->state = PROCESS_LIVE;
	process->described = false;
	open_images(table, process);
}

/* What the side-band told of a process that /proc no longer knows. Its files may be open already, or be opened by name. */
static int
take_past_snapshot(ProcessTable *table, const Process *process, Snapshot *snapshot)
{
	uint32_t pid = (uint32_t) process->key.pid;
	uint32_t root_pid = kill((pid_t) process->parent_pid, 0) == 0 ? process->parent_pid : 0;
	const ProcMapping *executable;
	const ProcMapping *maps;
	size_t count;

	memset(snapshot, 0, sizeof(*snapshot));
	if (table->past == NULL)
		return -ESRCH;
	past_images_update(table->past);
	count = past_images_find(table->past, pid, process->sampled_ns, &maps);
	executable = past_images_executable(table->past, pid, process->sampled_ns);
	if (count == 0 || executable == NULL)
		return -ESRCH;
	snapshot->mappings = calloc(count, sizeof(*snapshot->mappings));
	if (snapshot->mappings == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
	{
		Mapping *mapping = &snapshot->mappings[snapshot->mapping_count++];

		mapping->map = maps[i];
		mapping->kind = mapping_kind(&maps[i]);
		mapping->image_tried = mapping->kind == MAPPING_FILE;
		if (mapping->image_tried &&
			image_acquire_past(table->images, root_pid, &maps[i], &mapping->image) != 0)
			mapping->image = NULL;
	}
	snprintf(snapshot->exe, sizeof(snapshot->exe), "%s", executable->name);
	if (process->executable == NULL &&
		image_acquire_past(table->images, root_pid, executable, &snapshot->executable) != 0)
		snapshot->executable = NULL;
	read_cgroup(process->parent_pid, &snapshot->cgroup);
	return keep_names(snapshot->mappings, snapshot->mapping_count, &snapshot->names);
}

/* Reads all about a process; what is known stays where it has ended since. */
static void
read_process(ProcessTable *table, Process *process, uint64_t now_ns)
{
	Snapshot snapshot;
	int result = take_snapshot(table, process, &snapshot);

	process->read_ns = now_ns;
	if (result == 0)
	{
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
	Process parent = { .key = { .pid = process->parent_pid }, .arg_start = process->arg_start };
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
	snapshot.mappings = calloc(parent->mapping_count + 1, sizeof(Mapping));
	if (snapshot.mappings == NULL)
		return;
	memcpy(snapshot.mappings, parent->mappings, parent->mapping_count * sizeof(Mapping));
	snapshot.mapping_count = parent->mapping_count;
	snapshot.cgroup = parent->cgroup;
	snprintf(snapshot.exe, sizeof(snapshot.exe), "%s", process_exe(parent));
	snapshot.executable = parent->executable;
	if (keep_names(snapshot.mappings, snapshot.mapping_count, &snapshot.names) != 0)
	{
		free(snapshot.mappings);
		return;
	}
	for (size_t i = 0; i < snapshot.mapping_count; i++)
	{
		if (snapshot.mappings[i].image != NULL)
			image_retain(table->images, snapshot.mappings[i].image);
	}
	if (snapshot.executable != NULL)
		image_retain(table->images, snapshot.executable);
	install_snapshot(table, process, &snapshot);
}

int
process_table_create(ImageTable *images, size_t limit, ProcessTable **result)
{
	ProcessTable *table = calloc(1, sizeof(*table));

	if (table == NULL)
		return -ENOMEM;
	table->images = images;
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

bool
process_table_take_forgotten(ProcessTable *table, UnwindProcess *identity)
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

static Mapping *
find_mapping(const Process *process, uint64_t address)
{
	size_t low = 0;
	size_t high = process->mapping_count;

	while (low < high)
	{
		size_t middle = low + (high - low) / 2;

		if (process->mappings[middle].map.end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < process->mapping_count && process->mappings[low].map.start <= address)
		return &process->mappings[low];
	return NULL;
}

static Mapping *
find_mapping_or_reread(ProcessTable *table, Process *process, uint64_t address, uint64_t now_ns)
{
	Mapping *mapping = find_mapping(process, address);

	if (mapping != NULL || now_ns - process->read_ns < process->reread_delay_ns)
		return mapping;
	read_process(table, process, now_ns);
	mapping = find_mapping(process, address);
	if (mapping != NULL)
		process->reread_delay_ns = REREAD_FIRST_NS;
	else if (process->reread_delay_ns < REREAD_LAST_NS)
		process->reread_delay_ns *= 2;
	return mapping;
}

bool
process_resolve(ProcessTable *table, Process *process, uint64_t address, bool is_leaf,
				uint64_t now_ns, ProcessAddress *result)
{
	Mapping *mapping;

	if (process->state != PROCESS_LIVE)
		return false;
	mapping = is_leaf ? find_mapping_or_reread(table, process, address, now_ns)
					  : find_mapping(process, address);
	if (mapping == NULL)
		return false;
	result->kind = mapping->kind;
	result->image = mapping_image(table, process, mapping);
	result->address = address;
	if (mapping->image != NULL)
		result->address = address - mapping->map.start + mapping->map.file_offset;
	return true;
}

void
process_reread_before(ProcessTable *table, Process *process, uint64_t moment_ns, uint64_t now_ns)
{
	if (process->state == PROCESS_LIVE && process->read_ns < moment_ns)
		read_process(table, process, now_ns);
}

uint64_t
process_read_ns(const Process *process)
{
	return process->read_ns;
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

		if (unseen_ns > FORGET_UNSEEN_NS ||
			(unseen_ns > REFRESH_NS && process->state != PROCESS_KERNEL &&
			 kill((pid_t) process->key.pid, 0) != 0 && errno == ESRCH))
			remove_process(table, process);
	}
}

void
process_table_stats(const ProcessTable *table, ProcessTableStats *stats)
{
	*stats = table->stats;
}

UnwindProcess
process_identity(const Process *process)
{
	return (UnwindProcess){ (uint32_t) process->key.pid, process->key.start_time_ns,
							process->key.exec_id };
}

ProcessState
process_state(const Process *process)
{
	return process->state;
}

Image *
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
