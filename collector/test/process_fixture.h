/*
 * process_fixture.h
 *		A table of processes, samples in the form of the kernel's, and programs that sleep.
 */
#ifndef COLLECTOR_TEST_PROCESS_FIXTURE_H
#define COLLECTOR_TEST_PROCESS_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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

static inline int
setup(void **state)
{
	Fixture *fixture = calloc(1, sizeof(*fixture));

	assert_int_equal(mapped_file_table_create(&fixture->files), 0);
	assert_int_equal(process_table_create(fixture->files, 4, &fixture->processes), 0);
	*state = fixture;
	return 0;
}

static inline int
teardown(void **state)
{
	Fixture *fixture = *state;

	process_table_free(fixture->processes);
	mapped_file_table_free(fixture->files);
	free(fixture);
	return 0;
}

/* Returns a sample of a running process in the form of the kernel's. */
static inline struct pfs_sample
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
 * Waits for a program's arguments: exec closes files before it sets them, which is its last step.
 */
static inline void
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
static inline pid_t
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
	assert_int_equal(read(fds[0], &byte, 1), 0); /* exec has closed the other end */
	close(fds[0]);
	wait_for_arguments(pid);
	return pid;
}

static inline void
stop_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/*
 * Starts a child of the user that maps one file executable this many times, and waits to be killed.
 */
static inline pid_t
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
 * Starts a program with these variables, and waits until its exec has set them, for which
 * posix_spawn does not wait.
 */
static inline pid_t
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

#endif
