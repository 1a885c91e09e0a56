/*
 * test_process.c
 *		The table of sampled processes, with real ones: when they begin, execute, and end.
 */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process_fixture.h"

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

/* A process whose files could not be read is not forgotten if it is sampled after that. */
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
	/* a sample taken before that reading, but delivered only now */
	assert_int_equal(process_state(process_table_get(fixture->processes, &sample, now_ns + 2)),
					 PROCESS_GONE);
	sample.time_ns = now_ns + 3;
	assert_ptr_equal(process_table_get(fixture->processes, &sample, now_ns + 4), process);
	assert_int_equal(process_state(process), PROCESS_LIVE);
}

/*
 * A child that executed nothing and ended has its parent's mappings; a child that executed a
 * program has not.
 */
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

/* Data that was read while the process lived stays after its end. */
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

/* Adds side-band records of a program that executes a file which maps one piece of code. */
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
 * A CPU that comes online is not observed at once, so the last records about a pid may belong to
 * the program that had it before.
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

	/* another image of the process, which was not read */
	sample.exec_id++;
	process = process_table_get(fixture->processes, &sample, sample.time_ns + 3);
	assert_int_equal(process_state(process), PROCESS_GONE);
	/* the records about this process are used */
	tell_of_program(past, pid, "/bin/after", sample.time_ns);
	sample.exec_id++;
	sample.time_ns++;
	process = process_table_get(fixture->processes, &sample, sample.time_ns + 3);
	assert_int_equal(process_state(process), PROCESS_LIVE);
	assert_string_equal(process_exe(process), "/bin/after");
	process_table_remember(fixture->processes, NULL);
	past_images_free(past);
}

/* An exec does not replace what was read while the process lived by earlier mappings. */
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

/* Returns true if a file with this name is mapped. */
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

/* Collects the side-band's events of a process that executes a program. */
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
	/* the program's mapping comes first, whatever addresses it has */
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

/* A program that begins is known from the side-band; /proc is read if it lives longer. */
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
 * Threads continue after the first one has ended; then /proc shows nothing under the process's own
 * number.
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

/* Moves the arguments of this process to a separate page, as setproctitle of systemd does. */
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
	at = strrchr(text, ')') + 4; /* the fields after the state */
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

/* A process that moves its arguments remains the same image: later mappings are found. */
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
	first = process_table_get(fixture->processes, &sample, 5); /* from here on 2 is the oldest */
	sample.pid = 5;
	process_table_get(fixture->processes, &sample, 6);
	process_table_stats(fixture->processes, &stats);
	assert_int_equal(stats.count, 4);
	assert_int_equal(stats.evicted, 1);
	assert_int_equal(stats.created, 5);
	sample.pid = 1;
	assert_ptr_equal(process_table_get(fixture->processes, &sample, 7), first);
	/* the sweep's clock may have been read before the last sample arrived */
	process_table_sweep(fixture->processes, 6);
	process_table_stats(fixture->processes, &stats);
	assert_int_equal(stats.count, 4);
	process_table_sweep(fixture->processes, UINT64_C(301000) * MS + 7);
	process_table_stats(fixture->processes, &stats);
	assert_int_equal(stats.count, 0);

	/* a living process is kept for longer than one whose pid was used again */
	sample = sample_of(getpid());
	process_table_get(fixture->processes, &sample, 1);
	sample.start_time_ns -= UINT64_C(1000) * MS;
	process_table_get(fixture->processes, &sample, 1);
	process_table_sweep(fixture->processes, UINT64_C(61000) * MS);
	process_table_stats(fixture->processes, &stats);
	assert_int_equal(stats.count, 1);
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
		cmocka_unit_test_setup_teardown(test_arguments_move, setup, teardown),
		cmocka_unit_test_setup_teardown(test_eviction, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
