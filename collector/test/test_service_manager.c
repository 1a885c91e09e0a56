/*
 * test_service_manager.c
 *		Messages to a service manager, as its end of the socket receives them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "program/service_manager.h"

/* Opens the manager's socket, by a name as in the environment. */
static int
listen_at(const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	memcpy(address.sun_path, name, strlen(name));
	if (name[0] == '@')
		address.sun_path[0] = '\0';
	assert_int_equal(bind(fd, (const struct sockaddr *) &address,
						  (socklen_t) (offsetof(struct sockaddr_un, sun_path) + strlen(name))),
					 0);
	assert_int_equal(setenv("NOTIFY_SOCKET", name, 1), 0);
	return fd;
}

static void
expect(int fd, const char *state)
{
	char got[64] = "";

	ssize_t length = read(fd, got, sizeof(got) - 1);

	assert_int_equal(length, state[0] == '\0' ? -1 : (ssize_t) strlen(state));
	assert_string_equal(got, state);
}

static void
set_watchdog(const char *usec, pid_t pid)
{
	char text[32];

	snprintf(text, sizeof(text), "%d", (int) pid);
	assert_int_equal(setenv("WATCHDOG_USEC", usec, 1), 0);
	assert_int_equal(setenv("WATCHDOG_PID", text, 1), 0);
}

static void
test_states(void **state)
{
	ServiceManager manager;
	char name[64];

	(void) state;
	for (int abstract = 0; abstract < 2; abstract++)
	{
		int fd;

		snprintf(name, sizeof(name), "%s/tmp/pfs-notify-%d", abstract ? "@" : "", (int) getpid());
		fd = listen_at(name);
		set_watchdog("3000000", getpid());
		service_manager_open(&manager);
		service_manager_ready(&manager);
		expect(fd, "READY=1");
		/* at once, and then three times during the watchdog's time */
		assert_true(service_manager_waits(&manager, 5));
		expect(fd, "");
		service_manager_lives(&manager, 5);
		expect(fd, "WATCHDOG=1");
		assert_false(service_manager_waits(&manager, 1000000004));
		assert_true(service_manager_waits(&manager, 1000000005));
		service_manager_stopping(&manager);
		expect(fd, "STOPPING=1");
		service_manager_close(&manager);
		close(fd);
		if (!abstract)
			unlink(name);
	}
}

/* The watchdog belongs to another process, or is off; or there is no manager at all. */
static void
test_not_ours(void **state)
{
	ServiceManager manager;
	char name[64];
	int fd;

	(void) state;
	snprintf(name, sizeof(name), "@pfs-notify-%d", (int) getpid());
	fd = listen_at(name);
	set_watchdog("3000000", getpid() + 1);
	service_manager_open(&manager);
	assert_false(service_manager_waits(&manager, INT64_MAX));
	service_manager_ready(&manager);
	expect(fd, "READY=1");
	service_manager_close(&manager);

	set_watchdog("no number", getpid());
	service_manager_open(&manager);
	assert_false(service_manager_waits(&manager, INT64_MAX));
	service_manager_close(&manager);

	unsetenv("NOTIFY_SOCKET");
	set_watchdog("3000000", getpid());
	service_manager_open(&manager);
	assert_false(service_manager_waits(&manager, INT64_MAX));
	service_manager_ready(&manager);
	expect(fd, "");
	service_manager_close(&manager);
	close(fd);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_states),
		cmocka_unit_test(test_not_ours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
