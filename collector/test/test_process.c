/*
 * test_process.c
 *		The table of sampled processes, with real ones: exec, reused pids, deleted files.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "process/owner.h"
#include "process/proc_file.h"
#include "process/process.h"
#include "process/process_entry.h"
#include "process/process_evict.h"
#include "process/process_read.h"
#include "process/runtime.h"

#define MS UINT64_C(1000000)

typedef struct Fixture
{
	MappedFileTable *files;
	ProcessTable *processes;
} Fixture;

static int
setup(void **state)
{
	Fixture *fixture = calloc(1, sizeof(*fixture));

	assert_int_equal(mapped_file_table_create(&fixture->files), 0);
	assert_int_equal(process_table_create(fixture->files, 4, &fixture->processes), 0);
	*state = fixture;
	return 0;
}

static int
teardown(void **state)
{
	Fixture *fixture = *state;

	process_table_free(fixture->processes);
	mapped_file_table_free(fixture->files);
	free(fixture);
	return 0;
}

/* A sample as the kernel would take it of a process that runs. */
static struct pfs_sample
sample_of(pid_t pid)
{
	struct pfs_sample sample = { .pid = (uint32_t) pid, .tid = (uint32_t) pid };
	ProcStat stat;

	assert_int_equal(proc_stat_read((uint32_t) pid, &stat), 0);
	sample.start_time_ns =
		stat.start_ticks * (UINT64_C(1000000000) / (uint64_t) sysconf(_SC_CLK_TCK)) + 1234;
	sample.arg_start = stat.arg_start;
	return sample;
}

/*
 * Files are closed at exec before the program has its arguments, which are the last that it gets.
 */
static void
wait_for_arguments(pid_t pid)
{
	char path[64];
	char arguments[16];
	size_t length;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	do
	{
		FILE *file = fopen(path, "re");

		assert_non_null(file);
		length = fread(arguments, 1, sizeof(arguments), file);
		fclose(file);
	} while (length != sizeof("sleep\000100") || memcmp(arguments, "sleep\000100", length) != 0);
}

/* Runs a program that sleeps; returns when it has been executed. */
static pid_t
start_sleeper(const char *path)
{
	int fds[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0)
	{
		execl(path, "sleep", "100", (char *) NULL);
		_exit(1);
	}
	close(fds[1]);
	assert_int_equal(read(fds[0], &byte, 1), 0); /* closed by exec */
	close(fds[0]);
	wait_for_arguments(pid);
	return pid;
}

static void
stop_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void
test_own_process(void **state)
{
	Fixture *fixture = *state;
	struct pfs_sample sample = sample_of(getpid());
	Process *process = process_table_get(fixture->processes, &sample, 1);
	uint64_t code = (uint64_t) (uintptr_t) test_own_process;
	ProcessAddress where;
	char exe[4096];
	bool deleted;

	assert_int_equal(process_state(process), PROCESS_LIVE);
	assert_int_equal(proc_exe_read((uint32_t) getpid(), exe, sizeof(exe), &deleted), 0);
	assert_string_equal(process_exe(process), exe);
	assert_non_null(process_executable(process));
	assert_true(process_resolve(fixture->processes, process, code, 0, true, 1, &where));
	assert_int_equal(where.kind, MAPPING_FILE);
	assert_ptr_equal(where.file, process_executable(process));
	assert_int_equal(where.address % 4096, code % 4096);
	assert_ptr_equal(process_table_get(fixture->processes, &sample, 2), process);
}

/* A known pid with another start time, stack or exec count is another image. */
static void
test_pid_used_again(void **state)
{
	Fixture *fixture = *state;
	struct pfs_sample sample = sample_of(getpid());
	struct pfs_sample older = sample;
	struct pfs_sample other_image = sample;
	Process *process = process_table_get(fixture->processes, &sample, 1);
	ProcessTableStats stats;

	older.start_time_ns -= 1000 * MS;
	other_image.arg_start -= 4096;
	other_image.exec_id = 7;
	assert_int_equal(process_state(process), PROCESS_LIVE);
	assert_int_equal(process_state(process_table_get(fixture->processes, &older, 1)), PROCESS_GONE);
	assert_int_equal(process_state(process_table_get(fixture->processes, &other_image, 1)),
					 PROCESS_GONE);
	assert_string_equal(process_exe(process_table_get(fixture->processes, &other_image, 1)), "");
	assert_ptr_equal(process_table_get(fixture->processes, &sample, 1), process);
	process_table_stats(fixture->processes, &stats);
	assert_int_equal(stats.count, 3);
}

/*
 * A process that executes something else after it was sampled must not lend its new mappings to old
 * samples.
 */
static void
test_exec(void **state)
{
	Fixture *fixture = *state;
	int fds[2];
	struct pfs_sample before;
	struct pfs_sample after;
	Process *process;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (pid == 0)
	{
		char byte;

		close(fds[1]);
		if (read(fds[0], &byte, 1) == 0)
			execl("/bin/sleep", "sleep", "100", (char *) NULL);
		_exit(1);
	}
	close(fds[0]);
	before = sample_of(pid);
	close(fds[1]);
	wait_for_arguments(pid);
	after = sample_of(pid);
	after.exec_id = before.exec_id + 1;
	process = process_table_get(fixture->processes, &before, 1);
	assert_int_equal(process_state(process), PROCESS_GONE);
	process = process_table_get(fixture->processes, &after, 1);
	assert_int_equal(process_state(process), PROCESS_LIVE);
	assert_non_null(strstr(process_exe(process), "sleep"));
	stop_child(pid);
}

static void
test_ended(void **state)
{
	Fixture *fixture = *state;
	pid_t pid = start_sleeper("/bin/sleep");
	struct pfs_sample sample = sample_of(pid);
	ProcessAddress where;
	Process *process;

	stop_child(pid);
	process = process_table_get(fixture->processes, &sample, 1);
	assert_int_equal(process_state(process), PROCESS_GONE);
	assert_false(process_resolve(fixture->processes, process, 0x1000, 0, true, 1, &where));
}

/* One that nothing could be read of is not gone if it is sampled after that. */
static void
test_sampled_after_gone(void **state)
{
	Fixture *fixture = *state;
	struct pfs_sample sample = sample_of(getpid());
	uint64_t now_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	uint64_t arg_start = sample.arg_start;
	Process *process;

	sample.time_ns = now_ns;
	sample.arg_start -= 4096;
	process = process_table_get(fixture->processes, &sample, now_ns + 1);
	assert_int_equal(process_state(process), PROCESS_GONE);
	sample.arg_start = arg_start;
	/* taken before that look, and only now read */
	assert_int_equal(process_state(process_table_get(fixture->processes, &sample, now_ns + 2)),
					 PROCESS_GONE);
	sample.time_ns = now_ns + 3;
	assert_ptr_equal(process_table_get(fixture->processes, &sample, now_ns + 4), process);
	assert_int_equal(process_state(process), PROCESS_LIVE);
}

/* A child that executed nothing and ended has its parent's mappings; one that did has not. */
static void
test_inherits(void **state)
{
	Fixture *fixture = *state;
	struct pfs_sample parent = sample_of(getpid());
	struct pfs_sample child;
	ProcessAddress where;
	Process *process;
	pid_t pid = fork();

	if (pid == 0)
	{
		pause();
		_exit(0);
	}
	child = sample_of(pid);
	child.parent_pid = (uint32_t) getpid();
	stop_child(pid);
	process_table_get(fixture->processes, &parent, 1);
	process = process_table_get(fixture->processes, &child, 2);
	assert_int_equal(process_state(process), PROCESS_LIVE);
	assert_true(process_resolve(fixture->processes, process, (uint64_t) (uintptr_t) test_inherits,
								0, true, 3, &where));
	assert_ptr_equal(where.file, process_executable(process));

	child.exec_id = parent.exec_id + 1;
	child.arg_start += 4096;
	process = process_table_get(fixture->processes, &child, 4);
	assert_int_equal(process_state(process), PROCESS_GONE);
}

/* What was read while the process lived stays after its end. */
static void
test_ends_later(void **state)
{
	Fixture *fixture = *state;
	pid_t pid = start_sleeper("/bin/sleep");
	struct pfs_sample sample = sample_of(pid);
	Process *process = process_table_get(fixture->processes, &sample, 1);

	assert_int_equal(process_state(process), PROCESS_LIVE);
	stop_child(pid);
	process = process_table_get(fixture->processes, &sample, UINT64_C(100000) * MS);
	assert_int_equal(process_state(process), PROCESS_LIVE);
	assert_non_null(strstr(process_exe(process), "sleep"));
}

/* Records of the side-band about a program that executes a file which maps one piece of code. */
static void
tell_of_program(PastImages *past, pid_t pid, const char *file, uint64_t time_ns)
{
	char name[64];
	SidebandEvent event = { .kind = SIDEBAND_EXEC, .pid = (uint32_t) pid, .time_ns = time_ns };

	past_images_note(past, &event);
	snprintf(name, sizeof(name), "%s", file);
	event.kind = SIDEBAND_MAP;
	event.map = (ProcMapping){ .start = 0x400000, .end = 0x500000, .inode = 7, .name = name };
	past_images_note(past, &event);
}

/*
 * A CPU that comes online is not observed at once. So the last records about a pid may be about the
 * program that had it before.
 */
static void
test_pid_used_again_untold(void **state)
{
	Fixture *fixture = *state;
	uint64_t before_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC) - 100 * MS;
	pid_t pid = start_sleeper("/bin/sleep");
	struct pfs_sample sample = sample_of(pid);
	PastImages *past;
	Process *process;
	ProcessAddress where;

	assert_int_equal(past_images_create(8, 1 << 20, &past), 0);
	process_table_remember(fixture->processes, past);
	tell_of_program(past, pid, "/bin/before", before_ns);
	sample.time_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	process = process_table_get(fixture->processes, &sample, sample.time_ns);
	assert_int_equal(process_state(process), PROCESS_LIVE);
	stop_child(pid);
	process_read(fixture->processes, process, sample.time_ns + 1);
	assert_int_equal(process_state(process), PROCESS_LIVE);
	assert_non_null(strstr(process_exe(process), "sleep"));
	assert_false(process_covers(process, 0x400000));
	assert_false(process_resolve(fixture->processes, process, 0x400000, sample.time_ns, true,
								 sample.time_ns + 2, &where));

	/* another image of it, which nobody has read */
	sample.exec_id++;
	process = process_table_get(fixture->processes, &sample, sample.time_ns + 3);
	assert_int_equal(process_state(process), PROCESS_GONE);
	/* the records about this process count */
	tell_of_program(past, pid, "/bin/after", sample.time_ns);
	sample.exec_id++;
	sample.time_ns++;
	process = process_table_get(fixture->processes, &sample, sample.time_ns + 3);
	assert_int_equal(process_state(process), PROCESS_LIVE);
	assert_string_equal(process_exe(process), "/bin/after");
	process_table_remember(fixture->processes, NULL);
	past_images_free(past);
}

/* Nor is an exec: what is read while a process lives is not replaced by what it was before. */
static void
test_exec_untold(void **state)
{
	Fixture *fixture = *state;
	pid_t pid = start_sleeper("/bin/sleep");
	struct pfs_sample sample = sample_of(pid);
	PastImages *past;
	Process *process;

	assert_int_equal(past_images_create(8, 1 << 20, &past), 0);
	process_table_remember(fixture->processes, past);
	tell_of_program(past, pid, "/bin/before", (uint64_t) clock_ns(CLOCK_MONOTONIC));
	sample.time_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	process = process_table_get(fixture->processes, &sample, sample.time_ns);
	assert_int_equal(process_state(process), PROCESS_LIVE);
	stop_child(pid);
	process_read(fixture->processes, process, sample.time_ns + 1);
	assert_false(process_covers(process, 0x400000));
	process_table_remember(fixture->processes, NULL);
	past_images_free(past);
}

/* Is a file mapped by that name? */
static bool
has_mapping(const MappingList *list, const char *name)
{
	for (size_t i = 0; i < list->count; i++)
	{
		if (strstr(list->mappings[i].map.name, name) != NULL)
			return true;
	}
	return false;
}

/* The side-band's events of a process that executes a program now. */
static void
tell_of_live_program(PastImages *past, pid_t pid, uint64_t time_ns)
{
	SidebandEvent event = { .kind = SIDEBAND_EXEC, .pid = (uint32_t) pid, .time_ns = time_ns };
	MappingList list;
	size_t first = 0;

	assert_int_equal(mapping_list_read((uint32_t) pid, SIZE_MAX, &list), 0);
	while (!has_mapping(&list, "libc.so"))
	{
		mapping_list_release(NULL, &list);
		usleep(1000);
		assert_int_equal(mapping_list_read((uint32_t) pid, SIZE_MAX, &list), 0);
	}
	past_images_note(past, &event);
	event.kind = SIDEBAND_MAP;
	/* the program comes first, whatever addresses it has */
	while (strstr(list.mappings[first].map.name, "/sleep") == NULL)
		first++;
	event.map = list.mappings[first].map;
	past_images_note(past, &event);
	for (size_t i = 0; i < list.count; i++)
	{
		event.map = list.mappings[i].map;
		if (i != first)
			past_images_note(past, &event);
	}
	mapping_list_release(NULL, &list);
}

/* A program that begins is known from the side-band; /proc is read if it lives on. */
static void
test_told(void **state)
{
	Fixture *fixture = *state;
	pid_t pid = start_sleeper("/bin/sleep");
	struct pfs_sample sample = sample_of(pid);
	ProcessDescription description;
	ProcessTableStats before;
	ProcessTableStats after;
	PastImages *past;
	Process *process;
	size_t count;

	process_table_stats(fixture->processes, &before);
	assert_int_equal(past_images_create(8, 1 << 20, &past), 0);
	process_table_remember(fixture->processes, past);
	tell_of_live_program(past, pid, (uint64_t) clock_ns(CLOCK_MONOTONIC));
	sample.time_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	process = process_table_get(fixture->processes, &sample, sample.time_ns);
	process_table_stats(fixture->processes, &after);
	assert_int_equal(process_state(process), PROCESS_LIVE);
	assert_int_equal(after.map_reads, before.map_reads);
	assert_non_null(strstr(process_exe(process), "/sleep"));
	assert_non_null(process_executable(process));
	assert_true(process_take_description(fixture->processes, process, &description));
	count = description.count;
	assert_true(count >= 3); /* the program, its loader, the C library */
	process_description_fini(fixture->files, &description);

	process = process_table_get(fixture->processes, &sample, sample.time_ns + 3000 * MS);
	process_table_stats(fixture->processes, &after);
	assert_int_equal(after.map_reads, before.map_reads + 1);
	assert_true(process_take_description(fixture->processes, process, &description));
	assert_int_equal(description.count, count);
	process_description_fini(fixture->files, &description);
	stop_child(pid);
	process_table_remember(fixture->processes, NULL);
	past_images_free(past);
}

static void *
outlive(void *done)
{
	char byte;

	(void) !read(*(int *) done, &byte, 1); /* returns when the test closes its end */
	_exit(0);
}

/*
 * Threads go on after the first one has ended; /proc shows nothing by the process's own number
 * then.
 */
static void
test_outlived_leader(void **state)
{
	Fixture *fixture = *state;
	struct pfs_sample sample;
	char path[64];
	Process *process;
	ProcessAddress where;
	struct dirent *task;
	DIR *tasks;
	int done[2];
	ProcStat stat;
	pid_t pid;

	assert_int_equal(pipe(done), 0);
	pid = fork();
	if (pid == 0)
	{
		pthread_t thread;

		close(done[1]);
		if (pthread_create(&thread, NULL, outlive, &done[0]) != 0)
			_exit(1);
		pthread_exit(NULL);
	}
	close(done[0]);
	sample = sample_of(pid);
	do
	{
		usleep(1000);
		assert_int_equal(proc_stat_read((uint32_t) pid, &stat), 0);
	} while (stat.arg_start != 0);
	snprintf(path, sizeof(path), "/proc/%d/task", (int) pid);
	tasks = opendir(path);
	assert_non_null(tasks);
	while ((task = readdir(tasks)) != NULL)
	{
		if (task->d_name[0] != '.' && atoi(task->d_name) != pid)
			sample.tid = (uint32_t) atoi(task->d_name);
	}
	closedir(tasks);
	assert_int_not_equal(sample.tid, sample.pid);
	process = process_table_get(fixture->processes, &sample, 1);
	assert_int_equal(process_state(process), PROCESS_LIVE);
	assert_non_null(process_executable(process));
	assert_true(process_resolve(fixture->processes, process,
								(uint64_t) (uintptr_t) test_outlived_leader, 0, true, 1, &where));
	assert_ptr_equal(where.file, process_executable(process));
	close(done[1]);
	waitpid(pid, NULL, 0);
}

static void
test_kernel_thread(void **state)
{
	Fixture *fixture = *state;
	struct pfs_sample sample = { .pid = 2, .flags = PFS_SAMPLE_KERNEL_THREAD };
	Process *process = process_table_get(fixture->processes, &sample, 1);

	assert_int_equal(process_state(process), PROCESS_KERNEL);
	assert_null(process_executable(process));
}

/*
 * A program that was deleted while it runs keeps its name and can still be opened; what took its
 * name is another.
 */
static void
test_deleted_file(void **state)
{
	Fixture *fixture = *state;
	char path[] = "/tmp/profstore-test-XXXXXX";
	char command[128];
	struct pfs_sample sample;
	struct stat status;
	Process *process;
	pid_t pid;
	int fd = mkstemp(path);

	close(fd);
	snprintf(command, sizeof(command), "cp /bin/sleep %s && chmod 755 %s", path, path);
	assert_int_equal(system(command), 0);
	pid = start_sleeper(path);
	unlink(path);
	snprintf(command, sizeof(command), "cp /bin/cat %s", path);
	assert_int_equal(system(command), 0);
	sample = sample_of(pid);
	process = process_table_get(fixture->processes, &sample, 1);
	unlink(path);
	assert_string_equal(process_exe(process), path);
	assert_non_null(process_executable(process));
	assert_string_equal(mapped_file_name(process_executable(process)), path);
	assert_int_equal(fstat(mapped_file_descriptor(process_executable(process)), &status), 0);
	assert_int_equal(status.st_nlink, 0);
	stop_child(pid);
}

/* An executable page of a file in memory of this name, with the kind that it was found to be. */
typedef struct SharedCode
{
	const char *name; /* NULL: System V's memory */
	MappingKind kind;
	void *page;
} SharedCode;

static void
map_shared_code(SharedCode *code)
{
	int fd;

	if (code->name == NULL)
	{
		int id = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0700);

		assert_true(id >= 0);
		code->page = shmat(id, NULL, SHM_EXEC);
		assert_int_equal(shmctl(id, IPC_RMID, NULL), 0);
	}
	else if (code->name[0] == '\0')
		code->page = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	else
	{
		fd = memfd_create(code->name, MFD_CLOEXEC);
		assert_int_equal(ftruncate(fd, 4096), 0);
		code->page = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
		close(fd);
	}
	assert_ptr_not_equal(code->page, MAP_FAILED);
}

/* Memory that is shared, or mapped twice, is what compilers make code in; that of a file is not. */
static void
test_shared_memory(void **state)
{
	Fixture *fixture = *state;
	struct pfs_sample sample = sample_of(getpid());
	SharedCode codes[] = {
		{ "", MAPPING_ANONYMOUS, NULL },
		{ NULL, MAPPING_ANONYMOUS, NULL },
		{ "doublemapper", MAPPING_ANONYMOUS, NULL },
		{ "julia-codegen", MAPPING_ANONYMOUS, NULL },
		{ "library", MAPPING_FILE, NULL },
	};
	size_t count = sizeof(codes) / sizeof(codes[0]);
	Process *process;

	for (size_t i = 0; i < count; i++)
		map_shared_code(&codes[i]);
	process = process_table_get(fixture->processes, &sample, 1000 * MS);
	for (size_t i = 0; i < count; i++)
	{
		uint64_t address = (uint64_t) (uintptr_t) codes[i].page;
		ProcessAddress where;

		assert_true(
			process_resolve(fixture->processes, process, address, 0, true, 1011 * MS, &where));
		assert_int_equal(where.kind, codes[i].kind);
		if (codes[i].name == NULL)
			assert_int_equal(shmdt(codes[i].page), 0);
		else
			munmap(codes[i].page, 4096);
	}
}

/* As a maps file shows memory that no test can count on: huge pages may be none. */
static void
test_names_of_memory(void **state)
{
	char text[] = "400000-600000 rwxp 00000000 00:0f 77 /anon_hugepage (deleted)\n"
				  "600000-800000 rwxs 00000000 00:01 78 /SYSV00000000 (deleted)\n"
				  "800000-a00000 r-xp 00000000 08:01 79 /SYSV00000000\n"
				  "a00000-c00000 r-xp 00000000 08:01 80 /usr/lib/gone.so (deleted)\n";
	const MappingKind kinds[] = { MAPPING_ANONYMOUS, MAPPING_ANONYMOUS, MAPPING_FILE,
								  MAPPING_FILE };
	MappingList list;

	(void) state;
	assert_int_equal(mapping_list_parse(text, &list), 0);
	assert_int_equal(list.count, sizeof(kinds) / sizeof(kinds[0]));
	for (size_t i = 0; i < list.count; i++)
		assert_int_equal(list.mappings[i].kind, kinds[i]);
	mapping_list_release(NULL, &list);
}

/* Files of an empty directory, which are gone again. */
static void
make_mapping(int number, ProcMapping *mapping, char *name, size_t size)
{
	struct stat status;

	snprintf(name, size, "/tmp/profstore-file-%d-%d", getpid(), number);
	close(open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600));
	assert_int_equal(stat(name, &status), 0);
	*mapping = (ProcMapping){ .start = 0x1000,
							  .end = 0x2000,
							  .device = status.st_dev,
							  .inode = status.st_ino,
							  .name = name };
}

/*
 * An owner has half of the files that may be open, and does not keep others from theirs: the last
 * eighth is for owners of few. A file that is open already costs nothing.
 */
static void
test_files_limited(void **state)
{
	Fixture *fixture = *state;
	static MappedFile *files[260];
	MappedFile *executable;
	MappedFile *again;
	ProcMapping mapping;
	MappedFileStats before;
	MappedFileStats stats;
	char name[64];
	size_t opened[4] = { 0 };
	size_t count = 0;

	mapped_file_table_stats(fixture->files, &before);
	mapped_file_table_limit(fixture->files, 200 + before.count, 0);
	for (int number = 0; number < 520; number++)
	{
		uint64_t owner = (uint64_t) (1 + number / 130);

		make_mapping(number, &mapping, name, sizeof(name));
		if (mapped_file_acquire_mapping(fixture->files, owner, (uint32_t) getpid(), &mapping,
										&files[count]) == 0)
		{
			opened[owner - 1]++;
			count++;
			assert_int_equal(mapped_file_acquire_mapping(fixture->files, owner, (uint32_t) getpid(),
														 &mapping, &files[count]),
							 0);
			mapped_file_release(fixture->files, files[count]);
		}
		unlink(name);
	}
	/* a program that is open already needs no room either */
	mapped_file_table_limit(fixture->files, 1, 0);
	assert_int_equal(mapped_file_acquire_executable(fixture->files, 5, (uint32_t) getpid(), "self",
													&executable),
					 -EMFILE);
	mapped_file_table_limit(fixture->files, 0, 0);
	assert_int_equal(mapped_file_acquire_executable(fixture->files, 4, (uint32_t) getpid(), "self",
													&executable),
					 0);
	mapped_file_table_limit(fixture->files, 1, 0);
	assert_int_equal(mapped_file_acquire_executable(fixture->files, 5, (uint32_t) getpid(), "self",
													&again),
					 0);
	assert_ptr_equal(again, executable);
	mapped_file_release(fixture->files, again);
	mapped_file_release(fixture->files, executable);
	mapped_file_table_limit(fixture->files, 200 + before.count, 0);
	/* half; seven eighths with that; one of few files; nobody beyond all */
	assert_in_range(opened[0], 98, 102);
	assert_in_range(opened[0] + opened[1], 173, 177);
	assert_in_range(opened[2], 23, 27);
	assert_int_equal(opened[3], 0);
	mapped_file_table_stats(fixture->files, &stats);
	assert_int_equal(stats.refused, 520 - count + 1); /* the program's */
	for (size_t i = 0; i < count; i++)
		mapped_file_release(fixture->files, files[i]);
	/* what is closed may be opened again */
	mapped_file_table_sweep(fixture->files);
	make_mapping(0, &mapping, name, sizeof(name));
	assert_int_equal(mapped_file_acquire_mapping(fixture->files, 4, (uint32_t) getpid(), &mapping,
												 &files[0]),
					 0);
	mapped_file_release(fixture->files, files[0]);
	unlink(name);
}

/* Whoever maps a file first by a name of his own names it for himself alone. */
static void
test_file_of_two_names(void **state)
{
	Fixture *fixture = *state;
	MappedFile *files[5];
	char name[64];
	char other[80];
	ProcMapping mappings[2];

	make_mapping(0, &mappings[0], name, sizeof(name));
	snprintf(other, sizeof(other), "%s-other", name);
	assert_int_equal(link(name, other), 0);
	mappings[1] = mappings[0];
	mappings[1].name = other;
	/* the second time around they are open already */
	for (int i = 0; i < 4; i++)
	{
		assert_int_equal(mapped_file_acquire_mapping(fixture->files, 1, (uint32_t) getpid(),
													 &mappings[i % 2], &files[i]),
						 0);
		assert_string_equal(mapped_file_name(files[i]), mappings[i % 2].name);
	}
	assert_ptr_equal(files[0], files[2]);
	assert_ptr_equal(files[1], files[3]);
	mapped_file_release(fixture->files, files[3]);
	mapped_file_release(fixture->files, files[1]);
	mapped_file_table_sweep(fixture->files);
	/* likewise of a process that is gone, if the name leads there; otherwise any name will do */
	for (int i = 0; i < 2; i++)
	{
		assert_int_equal(mapped_file_acquire_past(fixture->files, 1, 0, &mappings[1], &files[4]),
						 0);
		assert_string_equal(mapped_file_name(files[4]), i == 0 ? other : name);
		mapped_file_release(fixture->files, files[4]);
		mapped_file_table_sweep(fixture->files);
		unlink(other);
	}
	mapped_file_release(fixture->files, files[0]);
	mapped_file_release(fixture->files, files[2]);
	unlink(name);
}

/* Counts openings in order of owners, the first of which has files that do not answer. */
static size_t openings[3];
static int64_t opening_ns;

static int
open_some(void *context, const MappedFilePlace *place, const char *name, void **content)
{
	struct timespec pause = { 0, opening_ns };

	openings[place->payer]++;
	(void) nanosleep(&pause, NULL);
	*content = NULL;
	return place->payer == 1 ? -EAGAIN : 0;
}

static void
close_some(void *content)
{
	(void) content;
}

/*
 * Files are opened until a deadline. Of an owner whose files do not answer one is tried, and after
 * it come those of others.
 */
static void
test_opening_bounded(void **state)
{
	const MappedFileOpener opener = { NULL, open_some, close_some };
	Fixture *fixture = *state;
	MappedFile *files[40];
	size_t before;

	memset(openings, 0, sizeof(openings));
	opening_ns = 0;
	for (size_t i = 0; i < 40; i++)
	{
		char name[64];
		struct stat status;
		int fd;

		snprintf(name, sizeof(name), "/dev/shm/pfs-opening-%d-%zu", getpid(), i);
		fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		assert_int_equal(fstat(fd, &status), 0);
		close(fd);
		if (major(status.st_dev) != 0)
			skip();
		assert_int_equal(mapped_file_acquire_mapping(fixture->files, i < 20 ? 1 : 2,
													 (uint32_t) getpid(),
													 &(ProcMapping){ .start = 0x1000,
																	 .end = 0x2000,
																	 .device = status.st_dev,
																	 .inode = status.st_ino,
																	 .name = name },
													 &files[i]),
						 0);
		mapped_file_retain_sampled(fixture->files, files[i]);
		unlink(name);
	}
	mapped_file_table_open_pending(fixture->files, &opener, clock_ns(CLOCK_MONOTONIC));
	assert_int_equal(openings[1] + openings[2], 0);
	/* as late as it may get, one file at a time is not more than the time that there is */
	opening_ns = 100 * 1000000;
	mapped_file_table_open_pending(fixture->files, &opener, clock_ns(CLOCK_MONOTONIC) + opening_ns);
	assert_in_range(openings[1] + openings[2], 0, 2);
	before = openings[1];
	opening_ns = 0;
	mapped_file_table_open_pending(fixture->files, &opener, INT64_MAX);
	assert_in_range(openings[1] - before, 0, 3);
	assert_int_equal(openings[2], 20);
	for (size_t i = 0; i < 20; i++)
		assert_null(mapped_file_content(fixture->files, files[i], &opener));
	assert_in_range(openings[1] - before, 0, 3);
	for (size_t i = 0; i < 40; i++)
	{
		mapped_file_release(fixture->files, files[i]);
		mapped_file_release(fixture->files, files[i]);
	}
}

/* A child of the user that has mapped one file executable so many times, and waits to be killed. */
static pid_t
start_mapper(int mappings, uid_t user)
{
	int fds[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0)
	{
		int fd = memfd_create("mapped", MFD_CLOEXEC);

		(void) !ftruncate(fd, 4096);
		while (mappings-- > 0)
			(void) mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		if (setresuid(user, user, user) != 0)
			_exit(1);
		(void) !write(fds[1], "", 1);
		pause();
		_exit(0);
	}
	assert_int_equal(read(fds[0], &byte, 1), 1);
	close(fds[0]);
	close(fds[1]);
	return pid;
}

/*
 * Mappings are at the expense of the owner: when all together take too much, the owner that has
 * most loses a process; an owner that has more than its share, or made us read long lists, gets
 * short ones. Ids of control groups make no owners, because a user with a subtree makes groups at
 * will.
 */
static void
test_mappings_charged(void **state)
{
	Fixture *fixture = *state;
	struct pfs_sample own = sample_of(getpid());
	pid_t mappers[3];
	struct pfs_sample samples[3];
	ProcessTableStats stats;
	Process *process;

	own.cgroup_id = 1;
	process = process_table_get(fixture->processes, &own, 1000 * MS);
	assert_int_equal(process_state(process), PROCESS_LIVE);
	for (int i = 0; i < 3; i++)
	{
		mappers[i] = start_mapper(2000, i < 2 ? 65001 : 65002);
		samples[i] = sample_of(mappers[i]);
		samples[i].cgroup_id = 2 + (uint64_t) i;
	}
	process_table_limit_mappings(fixture->processes,
								 process->charged_bytes + 3000 * sizeof(Mapping));
	process = process_table_get(fixture->processes, &samples[0], 1001 * MS);
	assert_true(process->mappings.count >= 2000);
	assert_false(process->mappings.is_cut);
	/* its owner has more than a quarter */
	process = process_table_get(fixture->processes, &samples[1], 1002 * MS);
	assert_int_equal(process->mappings.count, REREAD_AT_ONE_COST);
	assert_true(process->mappings.is_cut);
	process_table_stats(fixture->processes, &stats);
	assert_int_equal(stats.cut, 1);
	assert_int_equal(stats.evicted, 0);
	/* another owner has room for itself */
	process = process_table_get(fixture->processes, &samples[2], 1003 * MS);
	assert_true(process->mappings.count >= 2000);
	process_table_stats(fixture->processes, &stats);
	assert_int_equal(stats.evicted, 1);
	assert_int_equal(stats.count, 3);
	assert_non_null(process_table_get(fixture->processes, &own, 1004 * MS));
	process_table_stats(fixture->processes, &stats);
	assert_int_equal(stats.created, 4);
	for (int i = 0; i < 3; i++)
	{
		kill(mappers[i], SIGKILL);
		waitpid(mappers[i], NULL, 0);
	}
}

/* Long lists are read of an owner as often as it may have them read; then short ones. */
static void
test_long_readings_charged(void **state)
{
	Fixture *fixture = *state;
	pid_t mapper = start_mapper(MAPPINGS_MAX + 100, 65001);
	struct pfs_sample sample = sample_of(mapper);
	int whole = 0;
	Process *process;

	for (int i = 0; i < 8; i++)
	{
		sample.cgroup_id++;
		sample.exec_id++; /* as a program that begins anew would have it */
		process = process_table_get(fixture->processes, &sample, 1000 * MS);
		whole += process->mappings.count == MAPPINGS_MAX;
		assert_true(process->mappings.count == MAPPINGS_MAX ||
					process->mappings.count == REREAD_AT_ONE_COST);
	}
	assert_int_equal(whole, 3); /* 64 units at once, of which each takes 32; the last one is lent */
	kill(mapper, SIGKILL);
	waitpid(mapper, NULL, 0);
	mapper = start_mapper(MAPPINGS_MAX + 100, 65002);
	sample = sample_of(mapper);
	process = process_table_get(fixture->processes, &sample, 1000 * MS);
	assert_int_equal(process->mappings.count, MAPPINGS_MAX);
	kill(mapper, SIGKILL);
	waitpid(mapper, NULL, 0);
}

/* Moves the arguments of this process to a page of its own, as setproctitle of systemd does. */
static bool
move_arguments(void)
{
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned long long fields[53] = { 0 };
	struct prctl_mm_map map = { .exe_fd = (uint32_t) -1 };
	char text[4096] = "";
	FILE *file = fopen("/proc/self/stat", "r");
	char *at;

	if (file == NULL || fread(text, 1, sizeof(text) - 1, file) == 0)
		return false;
	fclose(file);
	at = strrchr(text, ')') + 4; /* behind the state */
	for (int field = 4; field <= 52; field++)
		fields[field] = strtoull(at, &at, 10);
	map.start_code = fields[26];
	map.end_code = fields[27];
	map.start_stack = fields[28];
	map.start_data = fields[45];
	map.end_data = fields[46];
	map.start_brk = fields[47];
	map.brk = (uint64_t) (uintptr_t) sbrk(0);
	map.arg_start = (uint64_t) (uintptr_t) page;
	map.arg_end = map.arg_start + 16;
	map.env_start = fields[50];
	map.env_end = fields[51];
	return prctl(PR_SET_MM, PR_SET_MM_MAP, &map, sizeof(map), 0) == 0;
}

/* A process that moves its arguments stays the one that it is: what it maps later is found. */
static void
test_arguments_move(void **state)
{
	Fixture *fixture = *state;
	int asked[2];
	int told[2];
	uint64_t address = 0;
	struct pfs_sample sample;
	Process *process;
	pid_t pid;

	assert_int_equal(pipe(asked), 0);
	assert_int_equal(pipe(told), 0);
	pid = fork();
	if (pid == 0)
	{
		(void) !read(asked[0], &address, 1);
		address = 0;
		if (move_arguments())
			address = (uint64_t) (uintptr_t) mmap(NULL, 4096, PROT_READ | PROT_EXEC,
												  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		(void) !write(told[1], &address, sizeof(address));
		pause();
		_exit(0);
	}
	sample = sample_of(pid);
	sample.time_ns = 1000 * MS;
	process = process_table_get(fixture->processes, &sample, 1000 * MS);
	assert_int_equal(process_state(process), PROCESS_LIVE);
	assert_int_equal(write(asked[1], "", 1), 1);
	assert_int_equal(read(told[0], &address, sizeof(address)), sizeof(address));
	if (address == 0)
	{
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		skip();
	}
	assert_int_not_equal(sample_of(pid).arg_start, sample.arg_start);
	sample = sample_of(pid);
	sample.time_ns = 1100 * MS;
	process = process_table_get(fixture->processes, &sample, 1100 * MS);
	process_seek(fixture->processes, process, address, 1100 * MS);
	assert_true(process_covers(process, address));
	assert_true(process_executes_still(fixture->processes, process));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	for (int i = 0; i < 2; i++)
	{
		close(asked[i]);
		close(told[i]);
	}
}

/* Code that is mapped later is found, but /proc is not read again at every address that is none. */
static void
test_mappings_read_again(void **state)
{
	Fixture *fixture = *state;
	struct pfs_sample sample = sample_of(getpid());
	Process *process = process_table_get(fixture->processes, &sample, 1000 * MS);
	void *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t address = (uint64_t) (uintptr_t) code;
	ProcessTableStats before;
	ProcessTableStats after;
	ProcessAddress where;

	assert_ptr_not_equal(code, MAP_FAILED);
	assert_false(process_resolve(fixture->processes, process, address, 0, true, 1005 * MS, &where));
	assert_true(process_resolve(fixture->processes, process, address, 0, true, 1011 * MS, &where));
	assert_int_equal(where.kind, MAPPING_ANONYMOUS);
	assert_int_equal(where.address, address);
	assert_null(where.file);
	munmap(code, 4096);

	process_table_stats(fixture->processes, &before);
	assert_false(process_resolve(fixture->processes, process, 0x1000, 0, false, 1900 * MS, &where));
	for (uint64_t ms = 2000; ms < 12000; ms++)
		assert_false(
			process_resolve(fixture->processes, process, 0x1000, 0, true, ms * MS, &where));
	process_table_stats(fixture->processes, &after);
	assert_in_range(after.map_reads - before.map_reads, 2, 12);
}

static void
test_eviction(void **state)
{
	Fixture *fixture = *state;
	struct pfs_sample sample = { .flags = PFS_SAMPLE_KERNEL_THREAD };
	ProcessTableStats stats;
	Process *first;

	for (uint32_t pid = 1; pid <= 4; pid++)
	{
		sample.pid = pid;
		process_table_get(fixture->processes, &sample, pid);
	}
	sample.pid = 1;
	first = process_table_get(fixture->processes, &sample, 5); /* now 2 is the oldest */
	sample.pid = 5;
	process_table_get(fixture->processes, &sample, 6);
	process_table_stats(fixture->processes, &stats);
	assert_int_equal(stats.count, 4);
	assert_int_equal(stats.evicted, 1);
	assert_int_equal(stats.created, 5);
	sample.pid = 1;
	assert_ptr_equal(process_table_get(fixture->processes, &sample, 7), first);
	/* the sweep's clock may have been read before the last sample came */
	process_table_sweep(fixture->processes, 6);
	process_table_stats(fixture->processes, &stats);
	assert_int_equal(stats.count, 4);
	process_table_sweep(fixture->processes, UINT64_C(301000) * MS + 7);
	process_table_stats(fixture->processes, &stats);
	assert_int_equal(stats.count, 0);

	/* one that lives stays for longer than one whose pid is another's by now */
	sample = sample_of(getpid());
	process_table_get(fixture->processes, &sample, 1);
	sample.start_time_ns -= UINT64_C(1000) * MS;
	process_table_get(fixture->processes, &sample, 1);
	process_table_sweep(fixture->processes, UINT64_C(61000) * MS);
	process_table_stats(fixture->processes, &stats);
	assert_int_equal(stats.count, 1);
}

static void
test_vdso(void **state)
{
	Fixture *fixture = *state;
	struct pfs_sample sample = sample_of(getpid());
	Process *process = process_table_get(fixture->processes, &sample, 1);
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long start = 0;
	ProcessAddress where;

	while (fgets(line, sizeof(line), maps) != NULL)
	{
		if (strstr(line, "[vdso]") != NULL)
			start = strtoul(line, NULL, 16);
	}
	fclose(maps);
	if (start == 0)
		skip();
	assert_true(process_resolve(fixture->processes, process, start + 0x600, 0, true, 1, &where));
	assert_int_equal(where.kind, MAPPING_VDSO);
	assert_string_equal(mapped_file_name(where.file), "[vdso]");
	assert_int_equal(where.address, 0x600);
}

/*
 * Who holds most goes first where another finds no room, though it was sampled a moment before;
 * unless that has more itself.
 */
static void
test_no_room_beside_large_one(void **state)
{
	Fixture *fixture = *state;
	struct pfs_sample sample = { .flags = PFS_SAMPLE_KERNEL_THREAD };
	uint64_t now_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	struct pfs_sample own = sample_of(getpid());
	ProcessTableStats stats;
	Process *large;

	for (uint32_t pid = 1; pid <= 3; pid++)
	{
		sample.pid = pid;
		large = process_table_get(fixture->processes, &sample, now_ns);
	}
	process_described(fixture->processes, large, 10000, now_ns);
	process_had_no_room(fixture->processes, process_table_get(fixture->processes, &own, now_ns),
						now_ns);
	process_table_stats(fixture->processes, &stats);
	assert_int_equal(stats.evicted, 2); /* the oldest and the largest */
	sample.pid = 2;
	process_table_get(fixture->processes, &sample, now_ns);
	process_table_stats(fixture->processes, &stats);
	assert_int_equal(stats.created, 4);

	large = process_table_get(fixture->processes, &sample, now_ns);
	process_described(fixture->processes, large, 1, now_ns);
	now_ns += 10000 * MS;
	process_had_no_room(fixture->processes, process_table_get(fixture->processes, &own, now_ns),
						now_ns);
	process_table_stats(fixture->processes, &stats);
	assert_int_equal(stats.evicted, 3);
}

/*
 * Where the unwinder has no room for one, an eighth of the others goes, once, and its description
 * is taken again later.
 */
static void
test_no_room(void **state)
{
	Fixture *fixture = *state;
	struct pfs_sample sample = { .flags = PFS_SAMPLE_KERNEL_THREAD };
	uint64_t now_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	ProcessDescription description;
	ProcessTableStats stats;
	Process *process;

	for (uint32_t pid = 1; pid <= 3; pid++)
	{
		sample.pid = pid;
		process_table_get(fixture->processes, &sample, now_ns);
	}
	sample = sample_of(getpid());
	process = process_table_get(fixture->processes, &sample, now_ns);
	assert_true(process_take_description(fixture->processes, process, &description));
	process_description_fini(fixture->files, &description);
	assert_false(process_take_description(fixture->processes, process, &description));

	process_had_no_room(fixture->processes, process, now_ns);
	process_had_no_room(fixture->processes, process, now_ns);
	process_table_stats(fixture->processes, &stats);
	assert_int_equal(stats.evicted, 1);
	assert_int_equal(stats.count, 3);
	assert_false(process_take_description(fixture->processes, process, &description));

	/* long ago: now it may be tried again, and more go; never the one itself */
	for (uint64_t ago_s = 40; ago_s > 0; ago_s -= 10)
		process_had_no_room(fixture->processes, process, now_ns - ago_s * 1000 * MS);
	process_table_stats(fixture->processes, &stats);
	assert_int_equal(stats.count, 3);
	assert_true(process_take_description(fixture->processes, process, &description));
	process_description_fini(fixture->files, &description);
	for (uint64_t later_s = 10; later_s <= 50; later_s += 10)
		process_had_no_room(fixture->processes, process, now_ns + later_s * 1000 * MS);
	process_table_stats(fixture->processes, &stats);
	assert_int_equal(stats.count, 1);
}

/* A process that is gone belongs where others of its control group were seen to belong. */
static void
test_cgroup_of_gone(void **state)
{
	Fixture *fixture = *state;
	struct pfs_sample sample = sample_of(getpid());
	struct pfs_sample gone = { .pid = (1 << 22) + 1, .cgroup_id = 77, .parent_pid = (1 << 22) + 2 };
	char own[CGROUP_PATH_BYTES];

	sample.cgroup_id = 77;
	sample.time_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	snprintf(own, sizeof(own), "%s",
			 process_cgroup(process_table_get(fixture->processes, &sample, 1))->path);
	/* one sample, taken before the look: the process may have been moved in between */
	gone.start_time_ns = 1;
	assert_string_equal(process_cgroup(process_table_get(fixture->processes, &gone, 1))->path, "");
	sample.time_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	(void) process_table_get(fixture->processes, &sample, 1);
	gone.start_time_ns = 2;
	assert_string_equal(process_cgroup(process_table_get(fixture->processes, &gone, 1))->path, own);
	/* the same id in another hierarchy is another group */
	gone.start_time_ns = 3;
	gone.cgroup_id = 0;
	gone.controller_cgroup_id = 77;
	assert_string_equal(process_cgroup(process_table_get(fixture->processes, &gone, 1))->path, "");
}

/* Where this machine's control groups may be made: memory's old hierarchy, else the new one. */
static bool
find_cgroups(char *path, size_t size)
{
	static const char *const places[] = { "/sys/fs/cgroup/memory", "/sys/fs/cgroup/unified",
										  "/sys/fs/cgroup" };

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
	{
		snprintf(path, size, "%s/pfs-test-%d", places[i], getpid());
		if (mkdir(path, 0755) == 0)
			return true;
	}
	return false;
}

static void
move_to_cgroup(const char *place, pid_t pid)
{
	char file[256];
	FILE *members;

	snprintf(file, sizeof(file), "%s/cgroup.procs", place);
	members = fopen(file, "we");
	assert_non_null(members);
	fprintf(members, "%d\n", pid);
	assert_int_equal(fclose(members), 0);
}

/*
 * Groups that a service makes below its own are the service's; other services and users are
 * others.
 */
static void
test_owners(void **state)
{
	Fixture *fixture = *state;
	static const char *const names[] = { "", "/a.service", "/a.service/1", "/a.service/2",
										 "/b.service" };
	pid_t user = start_mapper(1, 65001);
	pid_t pid = start_mapper(1, 0);
	uint64_t owners[5];
	struct pfs_sample sample;
	char place[128];
	char group[192];

	if (!find_cgroups(place, sizeof(place)))
	{
		stop_child(pid);
		stop_child(user);
		skip();
	}
	for (int i = 1; i < 5; i++)
	{
		snprintf(group, sizeof(group), "%s%s", place, names[i]);
		(void) mkdir(group, 0755);
		move_to_cgroup(group, pid);
		owners[i] = owner_of_process((uint32_t) pid);
		sample = sample_of(pid);
		sample.cgroup_id = 10 + (uint64_t) i;
		sample.exec_id += (uint64_t) i;
		assert_int_equal(process_owner(process_table_get(fixture->processes, &sample, 1)),
						 owners[i]);
	}
	move_to_cgroup(group, user);
	owners[0] = owner_of_process((uint32_t) user);
	stop_child(pid);
	stop_child(user);
	for (int i = 4; i >= 0; i--)
	{
		snprintf(group, sizeof(group), "%s%s", place, names[i]);
		(void) rmdir(group);
	}
	assert_int_equal(owners[1], owners[2]);
	assert_int_equal(owners[1], owners[3]);
	assert_int_not_equal(owners[1], owners[4]);
	assert_int_not_equal(owners[0], owners[4]);
	assert_int_equal(owner_of_process((uint32_t) pid), OWNER_ENDED);
}

/* A process that is moved has its new group's labels from the next sample on. */
static void
test_moved_to_cgroup(void **state)
{
	Fixture *fixture = *state;
	char place[128];
	pid_t pid = start_sleeper("/bin/sleep");
	struct pfs_sample sample = sample_of(pid);
	Process *process;

	if (!find_cgroups(place, sizeof(place)))
	{
		stop_child(pid);
		skip();
	}
	sample.cgroup_id = 1;
	process = process_table_get(fixture->processes, &sample, 1);
	assert_null(strstr(process_cgroup(process)->path, "pfs-test"));
	move_to_cgroup(place, pid);
	process = process_table_get(fixture->processes, &sample, 2);
	assert_null(strstr(process_cgroup(process)->path, "pfs-test"));
	sample.cgroup_id = 2;
	process = process_table_get(fixture->processes, &sample, 3);
	stop_child(pid);
	(void) rmdir(place);
	assert_non_null(strstr(process_cgroup(process)->path, "pfs-test"));
}

static uint32_t told_verdict;
static uint32_t told_pid;
static int told_count;

static void
note_verdict(void *context, const ExecImage *image, uint32_t verdict)
{
	assert_null(context);
	told_pid = image->pid;
	told_verdict = verdict;
	told_count++;
}

/* The kernel gets the verdict on images whose stacks cannot be walked, again if it lost it. */
static void
test_verdicts(void **state)
{
	Fixture *fixture = *state;
	struct pfs_sample gone = { .pid = (1 << 22) + 1, .flags = PFS_SAMPLE_LATE };
	struct pfs_sample sample = sample_of(getpid());
	uint64_t now_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	ProcessDescription description;
	Process *process;

	process_table_tell_verdicts(fixture->processes, note_verdict, NULL);
	told_count = 0;
	(void) process_table_get(fixture->processes, &gone, now_ns);
	assert_int_equal(told_pid, gone.pid);
	assert_int_equal(told_verdict, PFS_VERDICT_NO_COPY);
	(void) process_table_get(fixture->processes, &gone, now_ns);
	assert_int_equal(told_count, 2);
	gone.flags = 0;
	(void) process_table_get(fixture->processes, &gone, now_ns);
	assert_int_equal(told_count, 2);

	/* one whose mappings the unwinder has no room for, until it has */
	process = process_table_get(fixture->processes, &sample, now_ns);
	assert_int_equal(told_count, 2);
	assert_true(process_take_description(fixture->processes, process, &description));
	process_described(fixture->processes, process, 0, now_ns);
	assert_int_equal(told_pid, getpid());
	assert_int_equal(told_verdict, PFS_VERDICT_NO_COPY);
	process_described(fixture->processes, process, description.count, now_ns);
	assert_int_equal(told_verdict, 0);
	assert_int_equal(told_count, 4);
	process_description_fini(fixture->files, &description);
}

/*
 * A program with these variables. They are there once its exec is over, which posix_spawn does not
 * wait for.
 */
static pid_t
start_with(char *const *arguments, char *const *variables)
{
	const struct timespec pause = { 0, 1000000 };
	bool runs = false;
	pid_t child;

	assert_int_equal(posix_spawn(&child, arguments[0], NULL, NULL, arguments, variables), 0);
	for (int i = 0; !runs && i < 60000; i++)
	{
		char *text = proc_environment_read((uint32_t) child);

		runs = text != NULL && text[0] != '\0';
		free(text);
		nanosleep(&pause, NULL);
	}
	return child;
}

/* Is the variable among those of the process? */
static bool
has_variable(const Process *process, const char *variable)
{
	const char *at = process_environment(process);

	while (at != NULL && *at != '\0' && strcmp(at, variable) != 0)
		at += strlen(at) + 1;
	return at != NULL && *at != '\0';
}

/* Of the variables that a process began with those that are wanted, and others once they are. */
static void
test_environment(void **state)
{
	Fixture *fixture = *state;
	const char *const wanted[] = { "SERVICE", "LONG" };
	const char *const other[] = { "OTHER" };
	char longer[2 * PROC_VALUE_BYTES] = "LONG=";
	char service[] = "SERVICE=shop";
	char another[] = "OTHER=b";
	char empty[] = "";
	char path[] = "/bin/sleep";
	char seconds[] = "60";
	char *const arguments[] = { path, seconds, NULL };
	char *const variables[] = { service, empty, another, longer, NULL };
	uint64_t now_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	struct pfs_sample sample;
	Process *process;
	pid_t child;

	memset(longer + 5, 'x', sizeof(longer) - 6);
	child = start_with(arguments, variables);
	sample = sample_of(child);
	process = process_table_get(fixture->processes, &sample, now_ns);
	assert_null(process_environment(process));
	assert_int_equal(process_table_want_environment(fixture->processes, wanted, 2), 0);
	process = process_table_get(fixture->processes, &sample, now_ns);
	assert_true(has_variable(process, "SERVICE=shop"));
	assert_false(has_variable(process, "OTHER=b"));
	longer[5 + PROC_VALUE_BYTES] = '\0';
	assert_true(has_variable(process, longer));
	process_labels(process)->stale = false;
	assert_int_equal(process_table_want_environment(fixture->processes, other, 1), 0);
	process = process_table_get(fixture->processes, &sample, now_ns);
	assert_true(has_variable(process, "OTHER=b"));
	assert_true(process_labels(process)->stale);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static const char *
runtime_of(const char *exe, const char *library)
{
	Mapping mapping = { .map = { .name = library }, .kind = MAPPING_FILE };
	MappingList list = { .mappings = &mapping, .count = library[0] != '\0' };

	return runtime_find(exe, &list);
}

static void
test_runtimes(void **state)
{
	assert_string_equal(runtime_of("/usr/bin/python3.11", ""), "python");
	assert_string_equal(runtime_of("/usr/bin/node", ""), "nodejs");
	assert_string_equal(runtime_of("/usr/sbin/php-fpm8.2", ""), "php");
	assert_string_equal(runtime_of("/opt/erlang/beam.smp", ""), "erlang");
	assert_string_equal(runtime_of("/usr/bin/luajit-2.1.0", ""), "luajit");
	assert_string_equal(runtime_of("/usr/bin/app", "/usr/lib/jvm/lib/server/libjvm.so"), "java");
	assert_string_equal(runtime_of("/usr/bin/app", "/usr/lib/libpython3.11.so.1.0"), "python");
	assert_string_equal(runtime_of("/usr/bin/python3", "/usr/lib/libperl.so.5.36"), "python");
	assert_string_equal(runtime_of("/usr/bin/app", "/usr/lib/x86_64-linux-gnu/libc.so.6"), "");
	assert_string_equal(runtime_of("/usr/bin/node_exporter", ""), "");
	assert_string_equal(runtime_of("/usr/bin/nodeup", ""), "");
	assert_string_equal(runtime_of("/usr/bin/monitor", ""), "");
	assert_string_equal(runtime_of("", ""), "");
}

static bool
is_compiled_by_known(const Process *process)
{
	return strncmp(process_compiler(process), "gcc ", 4) == 0 ||
		   strncmp(process_compiler(process), "clang ", 6) == 0;
}

/* A real interpreter, and this program. */
static void
test_code(void **state)
{
	Fixture *fixture = *state;
	char path[] = "/usr/bin/perl";
	char sleeps[] = "-e";
	char program[] = "sleep 60";
	char *const arguments[] = { path, sleeps, program, NULL };
	struct pfs_sample sample;
	Process *process;
	pid_t child;

	child = start_with(arguments, environ);
	sample = sample_of(child);
	process_table_want_code(fixture->processes);
	process = process_table_get(fixture->processes, &sample, (uint64_t) clock_ns(CLOCK_MONOTONIC));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_string_equal(process_runtime(process), "perl");
	sample = sample_of(getpid());
	process = process_table_get(fixture->processes, &sample, (uint64_t) clock_ns(CLOCK_MONOTONIC));
	assert_string_equal(process_runtime(process), "");
	for (uint64_t i = 1; i < 20 && !is_compiled_by_known(process); i++)
		process =
			process_table_get(fixture->processes, &sample,
							  (uint64_t) clock_ns(CLOCK_MONOTONIC) + i * (PROCESS_REFRESH_NS + 1));
	assert_true(is_compiled_by_known(process));
}

static sem_t device_answers;

static void
run_unanswered(Probe *probe)
{
	(void) probe;
	sem_wait(&device_answers);
}

static void
discard_unanswered(Probe *probe)
{
	free(probe);
}

/* A file whose device does not answer is asked again when its process is read the next time. */
static void
test_code_of_late_device(void **state)
{
	Fixture *fixture = *state;
	Prober *prober = fixture->processes->file_prober;
	struct pfs_sample sample = sample_of(getpid());
	uint64_t now_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	Process *process = process_table_get(fixture->processes, &sample, now_ns);

	sem_init(&device_answers, 0, 0);
	for (int i = 0; i < PROBER_DEVICE_STUCK; i++)
	{
		Probe *probe = calloc(1, sizeof(*probe));

		assert_non_null(probe);
		*probe = (Probe){ .run = run_unanswered,
						  .discard = discard_unanswered,
						  .subject = { .device = mapped_file_device(process->executable) } };
		assert_int_equal(prober_run(prober, probe, MS), -ETIMEDOUT);
	}
	process_table_want_code(fixture->processes);
	now_ns += PROCESS_REFRESH_NS + 1;
	process = process_table_get(fixture->processes, &sample, now_ns);
	assert_string_equal(process_compiler(process), "");
	for (int i = 0; i < PROBER_DEVICE_STUCK; i++)
		sem_post(&device_answers);
	while (prober_stuck(prober) > 0)
		usleep(1000);
	for (int i = 0; i < 20 && !is_compiled_by_known(process); i++)
	{
		now_ns += PROCESS_REFRESH_NS + 1;
		process = process_table_get(fixture->processes, &sample, now_ns);
	}
	assert_true(is_compiled_by_known(process));
	sem_destroy(&device_answers);
}

/* No sample shows that a dropped process has become another one: it is checked again. */
static void
test_drops_end(void **state)
{
	Fixture *fixture = *state;
	struct pfs_sample sample = sample_of(getpid());
	uint64_t now_ns = (uint64_t) clock_ns(CLOCK_MONOTONIC);
	const uint64_t minute_ns = 60 * UINT64_C(1000000000);
	Process *process;

	process_table_tell_verdicts(fixture->processes, note_verdict, NULL);
	process = process_table_get(fixture->processes, &sample, now_ns);
	process_set_verdict(fixture->processes, process, PFS_VERDICT_DROP, true);
	assert_int_equal(told_verdict, PFS_VERDICT_DROP);
	process_table_sweep(fixture->processes, now_ns + minute_ns);
	assert_int_equal(told_verdict, PFS_VERDICT_DROP);
	process_table_sweep(fixture->processes, now_ns + minute_ns + 1);
	assert_int_equal(told_verdict, 0);
	assert_true(process_labels(process)->stale);
	/* and at once where more is known */
	process_set_verdict(fixture->processes, process, PFS_VERDICT_DROP, true);
	process_table_judge_again(fixture->processes, UINT64_MAX);
	assert_int_equal(told_verdict, 0);
	/* nobody would, once the process is not known any more */
	process_set_verdict(fixture->processes, process, PFS_VERDICT_DROP, true);
	process_evict(fixture->processes, process);
	assert_int_equal(told_verdict, 0);
}

/* Who may not signal a process looks its files up in its root all the same. Exit code: 0. */
static int
find_root_as_nobody(pid_t parent)
{
	Process process = { .key = { .pid = (uint64_t) parent }, .parent_pid = 0 };

	if (setresuid(65534, 65534, 65534) != 0 || kill(parent, 0) == 0)
		return 1;
	return process_root_pid(&process) == (uint32_t) parent ? 0 : 2;
}

static void
test_root_without_right_to_signal(void **state)
{
	pid_t parent = getpid();
	int status;
	pid_t child;

	if (geteuid() != 0)
		skip();
	child = fork();
	if (child == 0)
		_exit(find_root_as_nobody(parent));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_own_process, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pid_used_again, setup, teardown),
		cmocka_unit_test_setup_teardown(test_exec, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ended, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sampled_after_gone, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pid_used_again_untold, setup, teardown),
		cmocka_unit_test_setup_teardown(test_exec_untold, setup, teardown),
		cmocka_unit_test_setup_teardown(test_told, setup, teardown),
		cmocka_unit_test_setup_teardown(test_inherits, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ends_later, setup, teardown),
		cmocka_unit_test_setup_teardown(test_outlived_leader, setup, teardown),
		cmocka_unit_test_setup_teardown(test_kernel_thread, setup, teardown),
		cmocka_unit_test_setup_teardown(test_deleted_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_files_limited, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mappings_charged, setup, teardown),
		cmocka_unit_test_setup_teardown(test_long_readings_charged, setup, teardown),
		cmocka_unit_test_setup_teardown(test_arguments_move, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mappings_read_again, setup, teardown),
		cmocka_unit_test_setup_teardown(test_shared_memory, setup, teardown),
		cmocka_unit_test(test_names_of_memory),
		cmocka_unit_test_setup_teardown(test_eviction, setup, teardown),
		cmocka_unit_test_setup_teardown(test_vdso, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cgroup_of_gone, setup, teardown),
		cmocka_unit_test_setup_teardown(test_moved_to_cgroup, setup, teardown),
		cmocka_unit_test_setup_teardown(test_owners, setup, teardown),
		cmocka_unit_test_setup_teardown(test_opening_bounded, setup, teardown),
		cmocka_unit_test_setup_teardown(test_file_of_two_names, setup, teardown),
		cmocka_unit_test_setup_teardown(test_verdicts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_drops_end, setup, teardown),
		cmocka_unit_test(test_runtimes),
		cmocka_unit_test_setup_teardown(test_code, setup, teardown),
		cmocka_unit_test_setup_teardown(test_code_of_late_device, setup, teardown),
		cmocka_unit_test_setup_teardown(test_environment, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_room, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_room_beside_large_one, setup, teardown),
		cmocka_unit_test(test_root_without_right_to_signal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
