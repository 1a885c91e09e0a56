/*
 * test_health.c
 *		The agent's status: written, read back, assessed.
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
#include <sys/stat.h>
#include <unistd.h>

#include "program/health.h"

#define S  INT64_C(1000)
#define NS INT64_C(1000000000)

static const HealthOptions limits = { .max_silence_ms = 180 * S, .max_unstored_ms = 60 * S };

static ExitCode
judge(const Health *health, int64_t now_ns, const char *words)
{
	Failure failure = { 0 };
	ExitCode code = health_judge(health, &limits, now_ns, &failure);

	if (code != EXIT_OK)
	{
		assert_int_equal(failure.code, code);
		assert_non_null(strstr(failure.detail, words));
	}
	return code;
}

static void
test_judged(void **state)
{
	const HealthOptions any_time = { .max_silence_ms = 180 * S };
	Health health = { .time_ns = 1000 * NS };
	Failure failure;

	assert_int_equal(judge(&health, 1000 * NS, ""), EXIT_OK);
	assert_int_equal(judge(&health, 1180 * NS, ""), EXIT_OK);
	assert_int_equal(judge(&health, 1181 * NS, "181 s old"), EXIT_INTERNAL);
	assert_int_equal(judge(&health, 900 * NS, "old"), EXIT_INTERNAL); /* written before a reboot */

	health.walker_busy_ms = 180 * S;
	assert_int_equal(judge(&health, 1000 * NS, ""), EXIT_OK);
	health.walker_busy_ms = 181 * S;
	assert_int_equal(judge(&health, 1000 * NS, "Thread \"walker\""), EXIT_INTERNAL);
	health.walker_busy_ms = 0;
	health.ring_busy_ms = 181 * S;
	assert_int_equal(judge(&health, 1000 * NS, "Thread \"ring\""), EXIT_INTERNAL);
	health.ring_busy_ms = 0;
	health.flusher_busy_ms = 181 * S;
	assert_int_equal(judge(&health, 1000 * NS, "Thread \"flusher\""), EXIT_INTERNAL);
	health.flusher_busy_ms = 0;

	health.held_ms = 181 * S;
	assert_int_equal(judge(&health, 1000 * NS, "held samples for 181 s"), EXIT_INTERNAL);
	health.held_ms = 0;

	/*
	 * no sample waits for the database, and none arrives: the limit is two intervals and a minute
	 */
	health.interval_ms = 10 * S;
	health.newest_stored_ms = 80 * S;
	assert_int_equal(judge(&health, 1000 * NS, ""), EXIT_OK);
	health.newest_stored_ms = 81 * S;
	assert_int_equal(judge(&health, 1000 * NS, "newest stored sample is 81 s old"), EXIT_DATABASE);
	assert_int_equal(health_judge(&health, &any_time, 1000 * NS, &failure), EXIT_OK);
	health.newest_stored_ms = 0;

	health.unstored_ms = 60 * S;
	assert_int_equal(judge(&health, 1000 * NS, ""), EXIT_OK);
	health.unstored_ms = 61 * S;
	assert_int_equal(judge(&health, 1000 * NS, "waited for 61 s"), EXIT_DATABASE);
	assert_int_equal(health_judge(&health, &any_time, 1000 * NS, &failure), EXIT_OK);
}

static void
test_file(void **state)
{
	const Health written = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, UINT64_MAX };
	char directory[] = "/tmp/profstore-health-XXXXXX";
	char path[64];
	Health found;
	FILE *file;

	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/status", directory);
	assert_int_equal(health_read(path, &found), -ENOENT);
	assert_int_equal(health_write(path, &(Health){ .time_ns = 9 }), 0);
	assert_int_equal(health_write(path, &written), 0);
	assert_int_equal(health_read(path, &found), 0);
	assert_memory_equal(&found, &written, sizeof(found));

	/* a file that is cut short, without a number, or with keys that only resemble the known ones */
	file = fopen(path, "we");
	fputs("time_ns=1\nring_busy_ms=2\n", file);
	fclose(file);
	assert_int_equal(health_read(path, &found), -EINVAL);
	file = fopen(path, "we");
	fputs("xtime_ns=1\ntime_nsx=1\ntime_ns=\n", file);
	fclose(file);
	assert_int_equal(health_read(path, &found), -EINVAL);

	unlink(path);
	assert_int_equal(rmdir(directory), 0); /* the directory contains no other file */
	assert_int_equal(health_write(path, &written), -ENOENT);
}

/*
 * A link that another user has put into the directory is not followed. The file is readable by all
 * users, also under the umask of the agent's unit.
 */
static void
test_file_of_status(void **state)
{
	char directory[] = "/tmp/health_XXXXXX";
	const Health health = { .time_ns = 1 };
	Health read_back;
	struct stat status;
	mode_t mask;

	(void) state;
	assert_non_null(mkdtemp(directory));
	assert_int_equal(chdir(directory), 0);
	assert_int_equal(symlink("victim", "status.new"), 0);
	mask = umask(077);
	assert_int_equal(health_write("status", &health), 0);
	umask(mask);
	assert_int_equal(lstat("victim", &status), -1);
	assert_int_equal(lstat("status", &status), 0);
	assert_int_equal(status.st_mode & 0777, 0644);
	assert_true(S_ISREG(status.st_mode));
	assert_int_equal(health_read("status", &read_back), 0);
	assert_int_equal(unlink("status"), 0);
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(rmdir(directory), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_judged),
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_file_of_status),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
