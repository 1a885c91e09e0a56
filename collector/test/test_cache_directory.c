/*
 * test_cache_directory.c
 *		A cache directory that several processes share, or that cannot be read.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cache_directory.h"
#include "failing_call.h"

#define NO_LIMIT ((size_t) 1 << 30)

static char path[64];

static int
set_up(void **state)
{
	strcpy(path, "/tmp/test_cache_directory.XXXXXX");
	assert_non_null(mkdtemp(path));
	return 0;
}

static int
tear_down(void **state)
{
	char command[80];

	snprintf(command, sizeof(command), "rm -rf %s", path);
	assert_int_equal(system(command), 0);
	return 0;
}

static CacheDirectory *
open_cache(size_t limit_bytes)
{
	CacheDirectory *cache = NULL;

	assert_int_equal(cache_directory_open(path, ".test", limit_bytes, &cache), 0);
	return cache;
}

/* Asserts that the cache has a file that consists of these bytes. */
static void
assert_kept(CacheDirectory *cache, const char *name, const char *bytes)
{
	char found[16] = { 0 };
	int fd = cache_directory_find(cache, name);

	assert_true(fd >= 0);
	assert_int_equal(read(fd, found, sizeof(found) - 1), strlen(bytes));
	assert_string_equal(found, bytes);
	close(fd);
}

/*
 * Two processes that write at the same time each keep their own file. In two containers both may
 * have the process id 1, so they are here two caches of one process.
 */
static void
test_shared_by_two(void **state)
{
	CacheDirectory *one = open_cache(NO_LIMIT);
	CacheDirectory *other = open_cache(NO_LIMIT);
	int fd_one = cache_directory_make(one);
	int fd_other = cache_directory_make(other);

	assert_true(fd_one >= 0 && fd_other >= 0);
	assert_int_equal(cache_file_write(fd_one, "one", 3), 0);
	assert_int_equal(cache_directory_keep(one, "a.test", 3), 0);
	assert_int_equal(cache_file_write(fd_other, "other", 5), 0);
	assert_int_equal(cache_directory_keep(other, "b.test", 5), 0);
	assert_kept(one, "a.test", "one");
	assert_kept(one, "b.test", "other");
	close(fd_one);
	close(fd_other);
	cache_directory_close(one);
	cache_directory_close(other);
}

static int
open_unreadable(void)
{
	CacheDirectory *cache;

	return cache_directory_open(path, ".test", NO_LIMIT, &cache) == -EIO ? 0 : 1;
}

/* A directory that cannot be read is an error, because its files would count as none. */
static void
test_unreadable(void **state)
{
	assert_with_failing_directories(open_unreadable);
}

/* A file that a killed process had begun to write is evicted like the others. */
static void
test_left_file(void **state)
{
	CacheDirectory *cache = open_cache(NO_LIMIT);
	int fd = cache_directory_make(cache);
	char command[96];

	assert_true(fd >= 0);
	assert_int_equal(cache_file_write(fd, "left", 4), 0);
	close(fd);
	cache_directory_close(cache);
	snprintf(command, sizeof(command), "test $(ls %s | wc -l) = 1", path);
	assert_int_equal(system(command), 0);
	cache_directory_close(open_cache(3));
	snprintf(command, sizeof(command), "test $(ls %s | wc -l) = 0", path);
	assert_int_equal(system(command), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_shared_by_two, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_unreadable, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_left_file, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
