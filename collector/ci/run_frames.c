/*
 * run_frames.c
 *		Follows forks, execs and mappings in the order of their times, and looks samples up.
 */
#include "ci/run_frames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"
#include "process/perf_records.h"

/*
 * A benchmark that starts more processes, or maps more files in one or in all of them, loses names
 * of the others.
 */
#define PROCESSES_MAX	 65536
#define MAPPINGS_MAX	 65536
#define ALL_MAPPINGS_MAX (4 << 20)

#define PROCESSES_BYTES ((size_t) 16 * 1024 * 1024)
#define FILES_BYTES		((size_t) 256 * 1024 * 1024)

typedef struct Mapping
{
	uint64_t start;
	uint64_t end;
	uint64_t offset;
	uint32_t file; /* RUN_FRAME_CODE: anonymous memory */
} Mapping;

typedef struct Process
{
	uint32_t pid;
	Mapping *mappings; /* in the order of the events; later ones hide earlier ones */
	size_t count;
	size_t capacity;
} Process;

typedef struct Replay
{
	RunFiles *files;
	Budget budget;
	Table processes;	  /* table of Process */
	size_t mapping_count; /* number of mappings of all processes */
} Replay;

/* PERF_RECORD_SAMPLE with the fields that event_attributes() requests. */
typedef struct SampleRecord
{
	struct perf_event_header header;
	uint64_t address;
	uint32_t pid;
	uint32_t tid;
	uint64_t time_ns;
	uint64_t count;
	uint64_t addresses[];
} SampleRecord;

/* --- files --- */

void
run_files_init(RunFiles *files)
{
	*files = (RunFiles){ .budget = { .limit_bytes = FILES_BYTES } };
	arena_init(&files->arena, &files->budget);
	table_init(&files->table, &files->budget, sizeof(const char *));
}

void
run_files_fini(RunFiles *files)
{
	table_fini(&files->table);
	arena_fini(&files->arena);
}

const char *
run_files_path(const RunFiles *files, uint32_t number)
{
	return *(const char *const *) table_item(&files->table, number);
}

static bool
path_equal(const void *item, const void *key)
{
	return strcmp(*(const char *const *) item, key) == 0;
}

/* Returns 0 and the number of a path. */
static int
files_number(RunFiles *files, const char *path, uint32_t *number)
{
	size_t size = strlen(path) + 1;
	uint64_t hash = hash_bytes(files->table.seed, path, size);
	char *kept;

	if (table_find(&files->table, hash, path_equal, path, number))
		return 0;
	kept = arena_alloc(&files->arena, size);
	if (kept == NULL || table_reserve(&files->table) != 0)
		return -ENOMEM;
	*number = files->table.count;
	*(const char **) table_append(&files->table, hash) = memcpy(kept, path, size);
	return 0;
}

/* --- processes --- */

static bool
pid_equal(const void *item, const void *key)
{
	return ((const Process *) item)->pid == *(const uint32_t *) key;
}

static uint64_t
pid_hash(const Replay *replay, uint32_t pid)
{
	return hash_word(replay->processes.seed, pid);
}

/* Returns the process, which moves when one is added; NULL if it is not known. */
static Process *
replay_find(const Replay *replay, uint32_t pid)
{
	uint32_t position;

	return table_find(&replay->processes, pid_hash(replay, pid), pid_equal, &pid, &position)
			   ? (Process *) table_item(&replay->processes, position)
			   : NULL;
}

/* Returns the process, which is added if it is not known; NULL if there is no room. */
static Process *
replay_process(Replay *replay, uint32_t pid)
{
	Process *process = replay_find(replay, pid);

	if (process != NULL)
		return process;
	if (replay->processes.count >= PROCESSES_MAX || table_reserve(&replay->processes) != 0)
		return NULL;
	process = table_append(&replay->processes, pid_hash(replay, pid));
	*process = (Process){ .pid = pid };
	return process;
}

static void
replay_forget_mappings(Replay *replay, Process *process)
{
	replay->mapping_count -= process->count;
	free(process->mappings);
	*process = (Process){ .pid = process->pid };
}

static int
replay_add_mapping(Replay *replay, Process *process, const Mapping *mapping)
{
	if (process->count >= MAPPINGS_MAX || replay->mapping_count >= ALL_MAPPINGS_MAX)
		return 0;
	if (grow_array(&process->mappings, &process->capacity, process->count, sizeof(Mapping)) != 0)
		return -ENOMEM;
	process->mappings[process->count++] = *mapping;
	replay->mapping_count++;
	return 0;
}

/* Gives a child the mappings of its parent. Threads have the mappings of their process. */
static int
replay_fork(Replay *replay, const TaskRecord *record)
{
	Process *child;
	const Process *parent;
	int error = 0;

	if (record->pid == record->parent_pid)
		return 0;
	child = replay_process(replay, record->pid);
	parent = replay_find(replay, record->parent_pid);
	if (child == NULL || parent == NULL || parent == child)
		return 0;
	/* the number of an earlier process may be used again */
	replay_forget_mappings(replay, child);
	for (size_t i = 0; i < parent->count && error == 0; i++)
		error = replay_add_mapping(replay, child, &parent->mappings[i]);
	return error;
}

static int
replay_map(Replay *replay, const MapRecord *record)
{
	size_t name_bytes = record->header.size - sizeof(MapRecord);
	Mapping mapping = { .start = record->address,
						.end = record->address + record->length,
						.offset = record->file_offset,
						.file = RUN_FRAME_CODE };
	Process *process = replay_process(replay, record->pid);
	int error = 0;

	if (process == NULL || memchr(record->name, '\0', name_bytes) == NULL ||
		mapping.end < mapping.start)
		return 0;
	/* "//anon", "[heap]"; "/memfd:…", "/SYSV…" and "/dev/zero" cannot be opened by their names */
	if (record->name[0] == '[' || (record->name[0] == '/' && record->name[1] != '/'))
		error = files_number(replay->files, record->name, &mapping.file);
	return error != 0 ? error : replay_add_mapping(replay, process, &mapping);
}

static RunFrame
process_frame(const Process *process, uint64_t address)
{
	for (size_t i = process == NULL ? 0 : process->count; i > 0; i--)
	{
		const Mapping *mapping = &process->mappings[i - 1];

		if (address >= mapping->start && address < mapping->end)
			return (RunFrame){ .file = mapping->file,
							   .address = mapping->file == RUN_FRAME_CODE
											  ? 0
											  : address - mapping->start + mapping->offset };
	}
	return (RunFrame){ .file = RUN_FRAME_UNKNOWN };
}

/* Passes a sample on. Markers between the addresses tell kernel and user addresses apart. */
static int
replay_sample(const Replay *replay, const SampleRecord *record, RunSampleHandler handler,
			  void *context)
{
	const Process *process = replay_find(replay, record->pid);
	uint64_t room = (record->header.size - sizeof(SampleRecord)) / sizeof(uint64_t);
	RunFrame frames[RUN_FRAMES_MAX];
	size_t count = 0;
	bool in_kernel = false;
	bool is_return = false;

	for (uint64_t i = 0; i < record->count && i < room && count < RUN_FRAMES_MAX; i++)
	{
		uint64_t address = record->addresses[i];

		if (address >= (uint64_t) PERF_CONTEXT_MAX)
		{
			in_kernel = address == (uint64_t) PERF_CONTEXT_KERNEL;
			is_return = false;
			continue;
		}
		/* the kernel's walk of user memory ends with an address that is none */
		if (address == 0)
			continue;
		frames[count] = in_kernel ? (RunFrame){ RUN_FRAME_KERNEL, address - is_return }
								  : process_frame(process, address - is_return);
		count++;
		is_return = true;
	}
	if (count == 0)
		frames[count++] = (RunFrame){ .file = RUN_FRAME_UNKNOWN };
	return handler(context, frames, count,
				   process != NULL && process->count > 0 ? process->mappings[0].file
														 : RUN_FRAME_UNKNOWN);
}

/* Applies a record, whose size is at least that of its format. */
static int
replay_record(Replay *replay, const struct perf_event_header *header, RunSampleHandler handler,
			  void *context)
{
	const TaskRecord *task = (const void *) header;
	Process *process;

	switch (header->type)
	{
		case PERF_RECORD_SAMPLE:
			return header->size < sizeof(SampleRecord)
					   ? 0
					   : replay_sample(replay, (const void *) header, handler, context);
		case PERF_RECORD_MMAP2:
			return header->size <= sizeof(MapRecord) ? 0
													 : replay_map(replay, (const void *) header);
		case PERF_RECORD_FORK:
			return header->size < sizeof(TaskRecord) ? 0 : replay_fork(replay, task);
		case PERF_RECORD_COMM:
			/* after execve() the process has none of its earlier mappings */
			process = (header->misc & PERF_RECORD_MISC_COMM_EXEC) != 0
						  ? replay_find(replay, task->pid)
						  : NULL;
			if (process != NULL)
				replay_forget_mappings(replay, process);
			return 0;
		default:
			return 0;
	}
}

int
run_frames_replay(RunEvents *events, RunFiles *files, RunSampleHandler handler, void *context)
{
	Replay replay = { .files = files, .budget = { .limit_bytes = PROCESSES_BYTES } };
	const RunRecord *records;
	size_t count = run_events_sort(events, &records);
	int error = 0;

	table_init(&replay.processes, &replay.budget, sizeof(Process));
	for (size_t i = 0; i < count && error == 0; i++)
		error = replay_record(&replay, run_events_record(events, &records[i]), handler, context);
	for (uint32_t i = 0; i < replay.processes.count; i++)
		free(((Process *) table_item(&replay.processes, i))->mappings);
	table_fini(&replay.processes);
	return error;
}
