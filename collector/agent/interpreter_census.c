/*
 * interpreter_census.c
 *		Examines the files that processes map, each file once.
 */
#include "agent/interpreter_census.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "agent/reader/file_look.h"
#include "base/clock.h"
#include "base/directory.h"
#include "process/owner.h"
#include "process/probes.h"

#define PROCESS_MAPPINGS 1024
#define ANSWER_NS		 (50 * NS_PER_MS)
#define CENSUS_NS		 (5000 * NS_PER_MS)

/* A file that was examined. */
typedef struct CountedFile
{
	MappedFile *file; /* key of the table; a reference is held */
	const RuntimeKind *kind;
	bool is_known;
	UT_hash_handle hh;
} CountedFile;

typedef struct Counting
{
	InterpreterCensus *census;
	MappedFileTable *files;
	Patience patience;
	CountedFile *counted;
	int64_t until_ns;
} Counting;

/* Returns the file behind a mapping, or NULL if it cannot be opened. The caller releases it. */
static MappedFile *
census_file_open(Counting *counting, uint32_t pid, const ProcMapping *map)
{
	const FileOwner owner = { pid, owner_of_process(pid) };
	WantedFile wanted = { .kind = WANTED_MAPPING, .map = *map };
	MappedFile *file = mapped_file_find_mapping(counting->files, map);
	size_t tried;

	if (file == NULL)
	{
		probe_files(counting->patience.prober, counting->files, &owner, &wanted, 1, ANSWER_NS,
					&tried);
		file = wanted.file;
	}
	return file;
}

/*
 * Returns the file behind a mapping with the interpreter that it contains; NULL if the mapping
 * cannot be read.
 */
static const CountedFile *
count_file(Counting *counting, uint32_t pid, const ProcMapping *map)
{
	MappedFile *file = census_file_open(counting, pid, map);
	FileFacts facts;
	CountedFile *counted;

	if (file == NULL)
		return NULL;
	HASH_FIND_PTR(counting->counted, &file, counted);
	if (counted != NULL)
	{
		mapped_file_release(counting->files, file);
		return counted;
	}
	/* Keep files without an interpreter, too: most processes map the same libraries. */
	counted = calloc(1, sizeof(*counted));
	if (counted == NULL)
	{
		mapped_file_release(counting->files, file);
		return NULL;
	}
	counted->file = file;
	HASH_ADD_PTR(counting->counted, file, counted);
	/*
	 * A file that does not answer in time stays in the table without an interpreter, so that it is
	 * not waited for again.
	 */
	if (file_look(&counting->patience, counting->files, file, false, &facts) == 0)
	{
		if (facts.runtime != NULL)
		{
			counted->kind = facts.runtime->kind;
			counted->is_known = facts.runtime->is_known;
		}
		file_facts_fini(&facts);
	}
	return counted;
}

static void
count_process(InterpreterCensus *census, uint32_t pid, const CountedFile *file)
{
	for (size_t i = 0; i < census->count; i++)
	{
		InterpreterCount *count = &census->counts[i];

		if (count->kind != file->kind)
			continue;
		if (file->is_known)
			count->known++;
		else if (count->unknown++ < CENSUS_PIDS)
			count->pids[count->unknown - 1] = pid;
	}
}

/*
 * Counts the process if one of its files is an interpreter. Only the first such file counts, as in
 * the agent.
 */
static void
look_at_process(Counting *counting, uint32_t pid)
{
	const LookAt at = { .pid = pid, .tid = pid, .mappings = PROCESS_MAPPINGS };
	const CountedFile *file = NULL;
	ProcessLook *look;

	if (process_look(counting->patience.prober, &at, ANSWER_NS, &look) != 0)
		return;
	for (size_t i = 0; i < look->mappings.count && (file == NULL || file->kind == NULL); i++)
	{
		if (look->mappings.mappings[i].kind == MAPPING_FILE)
			file = count_file(counting, pid, &look->mappings.mappings[i].map);
	}
	if (file != NULL && file->kind != NULL)
		count_process(counting->census, pid, file);
	process_look_free(look);
}

/*
 * Counts interpreters in all processes, until the limits of number or time are reached. Returns 0
 * or -errno.
 */
static int
look_at_all(Counting *counting)
{
	const struct dirent *entry;
	uint32_t looked = 0;
	DIR *processes;
	int err = directory_open(AT_FDCWD, "/proc", &processes);

	if (err != 0)
		return err;
	while (!counting->census->is_cut && (err = directory_next(processes, &entry)) == 0 &&
		   entry != NULL)
	{
		unsigned long pid = strtoul(entry->d_name, NULL, 10);

		if (pid == 0)
			continue;
		/*
		 * The limits keep "check" short on hosts with very many processes or with a file system
		 * that hangs.
		 */
		if (looked++ >= CENSUS_PROCESSES_MAX || clock_ns(CLOCK_MONOTONIC) >= counting->until_ns)
			counting->census->is_cut = true;
		else
			look_at_process(counting, (uint32_t) pid);
	}
	closedir(processes);
	return err;
}

static void
counting_fini(Counting *counting)
{
	CountedFile *file;
	CountedFile *next;

	HASH_ITER(hh, counting->counted, file, next)
	{
		HASH_DEL(counting->counted, file);
		mapped_file_release(counting->files, file->file);
		free(file);
	}
	patience_fini(&counting->patience);
	mapped_file_table_free(counting->files);
}

int
interpreter_census_take(InterpreterCensus *census)
{
	Counting counting = { .census = census, .until_ns = clock_ns(CLOCK_MONOTONIC) + CENSUS_NS };
	size_t count;
	const RuntimeKind *const *kinds = runtime_kinds(&count);
	int err;

	*census = (InterpreterCensus){ .count = count < CENSUS_KINDS_MAX ? count : CENSUS_KINDS_MAX };
	for (size_t i = 0; i < census->count; i++)
		census->counts[i].kind = kinds[i];
	if (mapped_file_table_create(&counting.files) != 0)
		return -ENOMEM;
	if (patience_init(&counting.patience) != 0)
	{
		mapped_file_table_free(counting.files);
		return -ENOMEM;
	}
	err = look_at_all(&counting);
	counting_fini(&counting);
	return err;
}
