/*
 * test_library_copy.c
 *		The GPU library is copied as a whole or not at all, even if others write to the directory.
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
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpu/library_copy.h"

#define LIBRARY_BYTES 200000
#define ROUNDS		  200
#define SKIPPED		  77

typedef struct Fixture
{
	char directory[64];
	char source[128];
	char volume[128];
	char copy[256];
} Fixture;

/* Writes a file of one byte, repeated. */
static void
write_file(const char *path, char byte, size_t length)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	for (size_t i = 0; i < length; i++)
		putc(byte, file);
	assert_int_equal(fclose(file), 0);
}

/* Returns the byte that a file repeats; 0 if it has another length or two different bytes. */
static char
byte_of_file(const char *path, size_t length)
{
	FILE *file = fopen(path, "r");
	int first;
	int next = EOF;
	size_t count = 1;

	if (file == NULL)
		return 0;
	first = getc(file);
	while ((next = getc(file)) != EOF && next == first)
		count++;
	fclose(file);
	return next == EOF && count == length ? (char) first : 0;
}

static int
count_files(const char *path)
{
	DIR *directory = opendir(path);
	int count = -2;

	assert_non_null(directory);
	while (readdir(directory) != NULL)
		count++;
	closedir(directory);
	return count;
}

static int
set_up(void **state)
{
	Fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	strcpy(fixture->directory, "/tmp/test_library_copy.XXXXXX");
	assert_non_null(mkdtemp(fixture->directory));
	snprintf(fixture->source, sizeof(fixture->source), "%s/source", fixture->directory);
	snprintf(fixture->volume, sizeof(fixture->volume), "%s/volume", fixture->directory);
	snprintf(fixture->copy, sizeof(fixture->copy), "%s/" GPU_LIBRARY_FILE, fixture->volume);
	assert_int_equal(mkdir(fixture->volume, 0777), 0);
	write_file(fixture->source, 'a', LIBRARY_BYTES);
	*state = fixture;
	return 0;
}

static int
tear_down(void **state)
{
	Fixture *fixture = *state;
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", fixture->directory);
	assert_int_equal(system(command), 0);
	free(fixture);
	return 0;
}

static void
test_copied(void **state)
{
	const Fixture *fixture = *state;
	Failure failure;
	struct stat status;
	mode_t mask = umask(077);

	assert_int_equal(gpu_library_copy(fixture->source, fixture->volume, &failure), EXIT_OK);
	umask(mask);
	assert_int_equal(byte_of_file(fixture->copy, LIBRARY_BYTES), 'a');
	assert_int_equal(stat(fixture->copy, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0644);
	write_file(fixture->source, 'b', 3);
	assert_int_equal(gpu_library_copy(fixture->source, fixture->volume, &failure), EXIT_OK);
	assert_int_equal(byte_of_file(fixture->copy, 3), 'b');
	assert_int_equal(count_files(fixture->volume), 1);
}

/* Names that others have made in the directory lead to no other file. */
static void
test_links_are_replaced(void **state)
{
	const Fixture *fixture = *state;
	char victim[128];
	Failure failure;
	struct stat status;

	snprintf(victim, sizeof(victim), "%s/victim", fixture->directory);
	write_file(victim, 'v', 10);
	assert_int_equal(symlink(victim, fixture->copy), 0);
	assert_int_equal(gpu_library_copy(fixture->source, fixture->volume, &failure), EXIT_OK);
	assert_int_equal(byte_of_file(victim, 10), 'v');
	assert_int_equal(lstat(fixture->copy, &status), 0);
	assert_true(S_ISREG(status.st_mode));
	assert_int_equal(unlink(fixture->copy), 0);

	/* a program that has opened a hard link of the old file keeps its content */
	assert_int_equal(link(victim, fixture->copy), 0);
	assert_int_equal(gpu_library_copy(fixture->source, fixture->volume, &failure), EXIT_OK);
	assert_int_equal(byte_of_file(victim, 10), 'v');
	assert_int_equal(byte_of_file(fixture->copy, LIBRARY_BYTES), 'a');
	assert_int_equal(unlink(fixture->copy), 0);

	assert_int_equal(mkfifo(fixture->copy, 0666), 0);
	assert_int_equal(gpu_library_copy(fixture->source, fixture->volume, &failure), EXIT_OK);
	assert_int_equal(byte_of_file(fixture->copy, LIBRARY_BYTES), 'a');
}

static void
assert_refused(const char *source, const char *directory, const char *message, const char *detail,
			   const char *hint)
{
	Failure failure;

	assert_int_equal(gpu_library_copy(source, directory, &failure), EXIT_IO);
	assert_int_equal(failure.code, EXIT_IO);
	assert_string_equal(failure.message, message);
	assert_non_null(strstr(failure.detail, detail));
	assert_non_null(strstr(failure.hint, hint));
}

static void
test_errors(void **state)
{
	const Fixture *fixture = *state;
	char file[128];

	snprintf(file, sizeof(file), "%s/no", fixture->directory);
	assert_refused(fixture->source, file, "could not open the directory of the copy",
				   "No such file", "");
	assert_refused(fixture->source, fixture->source, "could not open the directory of the copy",
				   "Not a directory", "");
	assert_refused(file, fixture->volume, "could not open the GPU library", "No such file", "");
	assert_refused(fixture->directory, fixture->volume, "could not open the GPU library",
				   "not a regular file", "");
	assert_int_equal(mkdir(fixture->copy, 0777), 0);
	assert_refused(fixture->source, fixture->volume, "could not copy the GPU library",
				   "libprofstore-gpu.so\": Is a directory.", "Remove the directory");
	assert_int_equal(count_files(fixture->volume), 1);
	assert_refused(fixture->source, "/proc/self", "could not copy the GPU library", "", "");
}

/* A write that fails half way leaves the old file, and no other. */
static void
test_failed_write(void **state)
{
	const Fixture *fixture = *state;
	struct rlimit before;
	struct rlimit low;
	Failure failure;

	assert_int_equal(gpu_library_copy(fixture->source, fixture->volume, &failure), EXIT_OK);
	write_file(fixture->source, 'b', LIBRARY_BYTES);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	low = before;
	low.rlim_cur = LIBRARY_BYTES / 2;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
	assert_int_equal(gpu_library_copy(fixture->source, fixture->volume, &failure), EXIT_IO);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_non_null(strstr(failure.detail, "File too large"));
	assert_int_equal(byte_of_file(fixture->copy, LIBRARY_BYTES), 'a');
	assert_int_equal(count_files(fixture->volume), 1);
}

/* Runs in a child, whose mounts are its own: a volume with room for less than two copies. */
static int
copy_to_full_volume(const Fixture *fixture)
{
	Failure failure;

	if ((geteuid() != 0 && unshare(CLONE_NEWUSER) != 0) || unshare(CLONE_NEWNS) != 0 ||
		mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
		mount("tmpfs", fixture->volume, "tmpfs", 0, "size=256k") != 0)
		return SKIPPED;
	if (gpu_library_copy(fixture->source, fixture->volume, &failure) != EXIT_OK)
		return 1;
	write_file(fixture->source, 'b', LIBRARY_BYTES);
	if (gpu_library_copy(fixture->source, fixture->volume, &failure) != EXIT_IO)
		return 2;
	if (strstr(failure.detail, "No space left on device") == NULL ||
		strstr(failure.hint, "raise its size limit") == NULL)
		return 3;
	if (byte_of_file(fixture->copy, LIBRARY_BYTES) != 'a' || count_files(fixture->volume) != 1)
		return 4;
	if (mount("tmpfs", fixture->volume, "tmpfs", MS_REMOUNT | MS_RDONLY, NULL) != 0)
		return 5;
	if (gpu_library_copy(fixture->source, fixture->volume, &failure) != EXIT_IO ||
		strstr(failure.hint, "can write to it") == NULL)
		return 6;
	return 0;
}

static void
test_full_volume(void **state)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(copy_to_full_volume(*state));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == SKIPPED)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* Reads the copy while it is replaced. */
typedef struct Watch
{
	const Fixture *fixture;
	atomic_bool has_ended;
	int incomplete;
} Watch;

static void *
watch_copy(void *argument)
{
	Watch *watch = argument;

	while (!atomic_load(&watch->has_ended))
		watch->incomplete += byte_of_file(watch->fixture->copy, LIBRARY_BYTES) == 0;
	return NULL;
}

static void *
copy_often(void *argument)
{
	const Fixture *fixture = argument;
	Failure failure;
	intptr_t failed = 0;

	for (int i = 0; i < ROUNDS; i++)
		failed += gpu_library_copy(fixture->source, fixture->volume, &failure) != EXIT_OK;
	return (void *) failed;
}

static void
test_replaced_as_a_whole(void **state)
{
	Fixture *fixture = *state;
	Watch watch = { .fixture = fixture };
	pthread_t watcher;
	pthread_t copiers[2];
	Failure failure;

	assert_int_equal(gpu_library_copy(fixture->source, fixture->volume, &failure), EXIT_OK);
	assert_int_equal(pthread_create(&watcher, NULL, watch_copy, &watch), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&copiers[i], NULL, copy_often, fixture), 0);
	for (int i = 0; i < 2; i++)
	{
		void *failed;

		assert_int_equal(pthread_join(copiers[i], &failed), 0);
		assert_null(failed);
	}
	atomic_store(&watch.has_ended, true);
	assert_int_equal(pthread_join(watcher, NULL), 0);
	assert_int_equal(watch.incomplete, 0);
	assert_int_equal(count_files(fixture->volume), 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_copied, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_links_are_replaced, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_errors, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_failed_write, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_full_volume, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_replaced_as_a_whole, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
