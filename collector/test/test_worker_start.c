/*
 * test_worker_start.c
 *		A program that cannot run as its own symbol worker starts no worker, and so never itself.
 *
 * This is such a program: it calls symbolizer_worker_main() late, and not at all if it is started
 * again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "symbols/worker/worker.h"
#include "symbols/worker/worker_client.h"
#include "symbols/worker/worker_protocol.h"

/*
 * Returns the result of a query: -EAGAIN if no worker was started; -EIO if one was started and
 * ended.
 */
static int
ask(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	FileIdentity identity = { 0 };
	WorkerClient *client;
	int err;

	assert_true(fd >= 0);
	assert_int_equal(worker_client_create(0, &client), 0);
	err = worker_client_checksum(client, 1, fd, &identity, 0, &SYMBOL_ASK_PATIENT);
	worker_client_free(client);
	close(fd);
	return err;
}

static void
starts_none_unless_ready(void **state)
{
	const WorkerFiles files = {
		.binary = -1, .debug = -1, .alternative = -1, .package = -1, .table = -1
	};
	const uint64_t addresses[2] = { 1, 2 };
	WorkerClient *client;
	uint32_t answered;

	assert_int_equal(ask(), -EAGAIN);
	assert_int_equal(worker_client_create(0, &client), 0);
	assert_int_equal(worker_client_ask(client, 4, &files, addresses, 2, &SYMBOL_ASK_PATIENT,
									   &answered),
					 -EAGAIN);
	assert_int_equal(worker_client_unavailable(client), 2);
	worker_client_start(client);
	assert_int_equal(worker_client_pid(client), 0);
	worker_client_free(client);
}

static void
starts_one_when_ready(void **state)
{
	char name[] = "test";
	char *arguments[] = { name, NULL };
	WorkerClient *client;

	symbolizer_worker_main(1, arguments);
	assert_int_equal(ask(), -EIO);
	assert_int_equal(worker_client_create(0, &client), 0);
	worker_client_start(client);
	assert_int_not_equal(worker_client_pid(client), 0);
	worker_client_free(client);
}

static void
starts_none_as_a_worker(void **state)
{
	assert_int_equal(setenv(WORKER_MARK, "1", 1), 0);
	assert_int_equal(ask(), -EAGAIN);
	assert_int_equal(unsetenv(WORKER_MARK), 0);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(starts_none_unless_ready),
		cmocka_unit_test(starts_one_when_ready),
		cmocka_unit_test(starts_none_as_a_worker),
	};

	if (argc > 1) /* started again: the program does not continue */
		_exit(EXIT_FAILURE);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
