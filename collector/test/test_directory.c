/*
 * test_directory.c
 *		Directories that are read to their end, that cannot be opened, and whose reading fails.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/directory.h"
#include "failing_call.h"

/* Returns the number of entries up to the end. */
static int
count_entries(DIR *directory)
{
	const struct dirent *entry;
	int count = 0;

	for (;;)
	{
		assert_int_equal(directory_next(directory, &entry), 0);
		if (entry == NULL)
			return count;
		count++;
	}
}

static void
test_entries(void **state)
{
	DIR *directory;
	DIR *again;
	int count;

	assert_int_equal(directory_open(AT_FDCWD, "/proc/self/task", &directory), 0);
	errno = EIO; /* an earlier call's error is not this one's */
	count = count_entries(directory);
	assert_true(count >= 3); /* ".", ".." and this thread */
	/* another stream of the directory begins at its first entry */
	assert_int_equal(directory_open(dirfd(directory), ".", &again), 0);
	assert_int_equal(count_entries(again), count);
	closedir(again);
	closedir(directory);
	assert_int_equal(directory_check("/proc/self/task"), 0);
}

static void
test_unopened(void **state)
{
	DIR *directory;

	assert_int_equal(directory_open(AT_FDCWD, "/nonexistent", &directory), -ENOENT);
	assert_null(directory);
	assert_int_equal(directory_open(AT_FDCWD, "/proc/self/stat", &directory), -ENOTDIR);
	assert_int_equal(directory_check("/nonexistent"), -ENOENT);
}

/* The C library takes the error of the kernel for a directory that was removed as its end. */
static void
test_ended_process(void **state)
{
	pid_t child = fork();
	char path[32];
	DIR *directory;

	if (child == 0)
	{
		(void) pause();
		_exit(0);
	}
	snprintf(path, sizeof(path), "/proc/%d/task", child);
	assert_int_equal(directory_open(AT_FDCWD, path, &directory), 0);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(count_entries(directory), 0);
	closedir(directory);
}

static int
read_unreadable(void)
{
	const struct dirent *entry;
	DIR *directory;

	if (directory_open(AT_FDCWD, "/proc", &directory) != 0)
		return 1;
	if (directory_next(directory, &entry) != -EIO || entry != NULL)
		return 2;
	return directory_check("/proc") == -EIO ? 0 : 3;
}

static void
test_unreadable(void **state)
{
	assert_with_failing_directories(read_unreadable);
}

/* The directories of a mount point and of a file system beside it, as fts_read() returns them. */
static void
test_mount_point(void **state)
{
	static char absent[] = "/nonexistent";
	struct stat outside = { .st_dev = 1 };
	struct stat mounted = { .st_dev = 2 };
	FTSENT parent = { .fts_statp = &outside };
	FTSENT entry = { .fts_level = FTS_ROOTLEVEL + 1,
					 .fts_parent = &parent,
					 .fts_statp = &mounted,
					 .fts_path = absent };

	assert_int_equal(directory_check_entered(&entry), 0);
	mounted.st_dev = 1;
	assert_int_equal(directory_check_entered(&entry), -ENOENT);
	/* the operand of a walk is entered, whatever its file system is */
	entry.fts_level = FTS_ROOTLEVEL;
	entry.fts_parent = NULL;
	assert_int_equal(directory_check_entered(&entry), -ENOENT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_entries),		  cmocka_unit_test(test_unopened),
		cmocka_unit_test(test_ended_process), cmocka_unit_test(test_unreadable),
		cmocka_unit_test(test_mount_point),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
