/*
 * probes.c
 *		Probes that read /proc and open files.
 */
#include "process/probes.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "process/owner.h"

/*
 * Reads all facts about a process. /proc/PID/stat is read last, because the caller uses it to
 * verify the other facts.
 */
static void
run_look(Probe *probe)
{
	ProcessLook *look = (ProcessLook *) probe;

	look->proc_id = look->pid;
	look->error = mapping_list_read(look->pid, look->mapping_limit, &look->mappings);
	if (look->error == 0 && look->mappings.count == 0 && look->tid != look->pid)
	{
		/* the first thread has exited, but any thread has the facts of its process */
		look->proc_id = look->tid;
		mapping_list_release(NULL, &look->mappings); /* no file has been opened yet */
		look->error = mapping_list_read(look->tid, look->mapping_limit, &look->mappings);
	}
	if (look->error == 0 && look->mappings.count == 0)
		look->error = -ESRCH; /* a zombie has no memory any more, so it counts as exited */
	if (look->error != 0)
		return;
	look->cgroup_ns = process_read_cgroup(look->proc_id, &look->cgroup);
	if (look->wants_environment)
		look->environment = proc_environment_read(look->proc_id);
	if (proc_exe_read(look->proc_id, look->exe, sizeof(look->exe), &look->exe_deleted) != 0)
		look->exe[0] = '\0';
	look->user = process_read_user(look->pid);
	look->stat_error = proc_stat_read(look->pid, &look->stat);
}

void
process_look_free(ProcessLook *look)
{
	mapping_list_release(NULL, &look->mappings);
	free(look->environment);
	free(look);
}

static void
discard_look(Probe *probe)
{
	process_look_free((ProcessLook *) probe);
}

int
process_look(Prober *prober, const LookAt *at, uint64_t wait_ns, ProcessLook **result)
{
	ProcessLook *look = calloc(1, sizeof(*look));
	int error;

	if (look == NULL)
		return -ENOMEM;
	look->probe = (Probe){ .run = run_look, .discard = discard_look, .subject.pid = at->pid };
	look->pid = at->pid;
	look->tid = at->tid;
	look->wants_environment = at->environment;
	look->mapping_limit = at->mappings;
	error = prober_run(prober, &look->probe, wait_ns);
	/* otherwise the look belongs to the prober, which frees it when the call returns */
	if (error == 0)
		*result = look;
	return error;
}

typedef struct StatProbe
{
	Probe probe;
	uint32_t pid;
	int error;
	ProcStat stat;
} StatProbe;

static void
run_stat(Probe *probe)
{
	StatProbe *stat = (StatProbe *) probe;

	stat->error = proc_stat_read(stat->pid, &stat->stat);
}

static void
discard_stat(Probe *probe)
{
	free((StatProbe *) probe);
}

int
process_look_stat(Prober *prober, uint32_t pid, uint64_t wait_ns, ProcStat *stat)
{
	StatProbe *probe = calloc(1, sizeof(*probe));
	int error;

	if (probe == NULL)
		return -ENOMEM;
	probe->probe = (Probe){ .run = run_stat, .discard = discard_stat, .subject.pid = pid };
	probe->pid = pid;
	error = prober_run(prober, &probe->probe, wait_ns);
	if (error != 0)
		return error;
	error = probe->error;
	*stat = probe->stat;
	free(probe);
	return error;
}

/*
 * A call that opens files. It has copies of the names, because the caller may have given up before
 * the answer.
 */
typedef struct FilesProbe
{
	Probe probe;
	Prober *prober;
	MappedFileTable *files; /* held by a reference */
	FileOwner owner;
	WantedFile *answer; /* the caller's array, valid until salvage */
	size_t *answered;	/* the caller's count of finished attempts, valid until salvage */
	size_t count;
	_Atomic size_t tried;
	WantedFile wanted[];
} FilesProbe;

/*
 * Opens the files in order. tried is updated after each, so that salvage_files() can take the
 * finished ones.
 */
static void
run_files(Probe *probe)
{
	FilesProbe *files = (FilesProbe *) probe;

	for (size_t i = 0; i < files->count; i++)
	{
		WantedFile *wanted = &files->wanted[i];
		int error;

		/* the files of one process may be on several devices, so the device is checked for each */
		if (prober_avoids(files->prober, wanted->map.device))
			error = -EBUSY;
		else if (wanted->kind == WANTED_MAPPING)
			error = mapped_file_acquire_mapping(files->files, files->owner.owner, files->owner.pid,
												&wanted->map, &wanted->file);
		else if (wanted->kind == WANTED_EXECUTABLE)
			error =
				mapped_file_acquire_executable(files->files, files->owner.owner, files->owner.pid,
											   wanted->map.name, &wanted->file);
		else
			error = mapped_file_acquire_past(files->files, files->owner.owner, files->owner.pid,
											 &wanted->map, &wanted->file);
		if (error != 0)
			wanted->file = NULL;
		atomic_store(&files->tried, i + 1);
	}
}

/*
 * Copies the finished files to the caller. The one that blocks, and those after it, are released by
 * free_files().
 */
static void
salvage_files(Probe *probe)
{
	FilesProbe *files = (FilesProbe *) probe;
	size_t tried = atomic_load(&files->tried);

	for (size_t i = 0; i < tried; i++)
	{
		files->answer[i].file = files->wanted[i].file;
		/* the caller has the reference; free_files() must not release it */
		files->wanted[i].file = NULL;
	}
	*files->answered = tried;
	/* the device of the file that blocks is charged with the abandoned thread */
	if (tried < files->count)
		probe->subject.device = files->wanted[tried].map.device;
}

static void
free_files(Probe *probe)
{
	FilesProbe *files = (FilesProbe *) probe;

	for (size_t i = 0; i < files->count; i++)
	{
		mapped_file_release(files->files, files->wanted[i].file);
		free((void *) (uintptr_t) files->wanted[i].map.name);
	}
	mapped_file_table_let_go(files->files);
	free(files);
}

/* Makes a probe with copies of the names; NULL on out of memory. */
static FilesProbe *
files_probe_create(Prober *prober, MappedFileTable *files, const FileOwner *owner,
				   WantedFile *wanted, size_t count, size_t *answered)
{
	FilesProbe *probe = calloc(1, sizeof(*probe) + count * sizeof(*wanted));

	if (probe == NULL)
		return NULL;
	probe->probe = (Probe){
		.run = run_files, .salvage = salvage_files, .discard = free_files, .subject.pid = owner->pid
	};
	probe->prober = prober;
	/* the thread may use the table after its owner has ended */
	probe->files = mapped_file_table_hold(files);
	probe->owner = *owner;
	probe->answer = wanted;
	probe->answered = answered;
	/* count grows with the copies, so that free_files() frees exactly those */
	for (; probe->count < count; probe->count++)
	{
		WantedFile *copy = &probe->wanted[probe->count];

		*copy = wanted[probe->count];
		copy->file = NULL;
		copy->map.name = strdup(copy->map.name);
		if (copy->map.name == NULL)
		{
			free_files(&probe->probe);
			return NULL;
		}
	}
	return probe;
}

void
probe_files(Prober *prober, MappedFileTable *files, const FileOwner *owner, WantedFile *wanted,
			size_t count, uint64_t wait_ns, size_t *tried)
{
	FilesProbe *probe = files_probe_create(prober, files, owner, wanted, count, tried);

	*tried = 0;
	for (size_t i = 0; i < count; i++)
		wanted[i].file = NULL;
	if (probe == NULL)
		return;
	if (prober_run(prober, &probe->probe, wait_ns) != 0)
		return; /* salvage_files() has copied the files that were opened so far */
	salvage_files(&probe->probe);
	free_files(&probe->probe);
}

typedef struct CompilerProbe
{
	Probe probe;
	MappedFileTable *files; /* held by a reference, like … */
	MappedFile *file;
	char compiler[COMPILER_BYTES];
} CompilerProbe;

static void
run_compiler(Probe *probe)
{
	CompilerProbe *compiler = (CompilerProbe *) probe;
	ElfSource source = { .fd = mapped_file_descriptor(compiler->file) };
	struct stat status;

	/* the compiler stays "", which means that it is not known */
	if (fstat(source.fd, &status) != 0 || status.st_size < 0)
		return;
	source.size_bytes = (uint64_t) status.st_size;
	compiler_read(&source, compiler->compiler);
}

static void
free_compiler(Probe *probe)
{
	CompilerProbe *compiler = (CompilerProbe *) probe;

	mapped_file_release(compiler->files, compiler->file);
	mapped_file_table_let_go(compiler->files);
	free(compiler);
}

int
probe_compiler(Prober *prober, MappedFileTable *files, MappedFile *file, uint64_t wait_ns,
			   char compiler[COMPILER_BYTES])
{
	CompilerProbe *probe = calloc(1, sizeof(*probe));
	int error;

	if (probe == NULL)
		return -ENOMEM;
	probe->probe = (Probe){ .run = run_compiler,
							.discard = free_compiler,
							.subject = { .device = mapped_file_device(file),
										 .owner = mapped_file_payer(file) } };
	probe->files = mapped_file_table_hold(files);
	probe->file = file;
	mapped_file_retain(files, file);
	error = prober_run(prober, &probe->probe, wait_ns);
	if (error != 0)
		return error;
	memcpy(compiler, probe->compiler, COMPILER_BYTES);
	free_compiler(&probe->probe);
	return 0;
}
