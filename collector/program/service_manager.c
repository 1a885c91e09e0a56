/*
 * service_manager.c
 *		Implements sd_notify(3) without libsystemd.
 */
#include "program/service_manager.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

#define SIGNS_EACH 3 /* notifications per watchdog interval */

/* Returns the watchdog interval; 0 if there is none, or if it is meant for another process. */
static int64_t
read_watchdog_ns(void)
{
	const char *pid = getenv("WATCHDOG_PID");
	const char *usec = getenv("WATCHDOG_USEC");
	long long us;

	if (usec == NULL || (pid != NULL && strtoll(pid, NULL, 10) != (long long) getpid()))
		return 0;
	us = strtoll(usec, NULL, 10);
	return us > 0 && us < INT64_MAX / NS_PER_US ? us * NS_PER_US : 0;
}

void
service_manager_open(ServiceManager *manager)
{
	const char *path = getenv("NOTIFY_SOCKET");
	size_t length = path != NULL ? strlen(path) : 0;

	*manager = (ServiceManager){ .fd = -1, .address.sun_family = AF_UNIX };
	if ((path == NULL || (path[0] != '/' && path[0] != '@')) ||
		length >= sizeof(manager->address.sun_path))
		return;
	memcpy(manager->address.sun_path, path, length);
	if (path[0] == '@')
		manager->address.sun_path[0] = '\0'; /* a name in the abstract namespace */
	manager->address_bytes = (socklen_t) (offsetof(struct sockaddr_un, sun_path) + length);
	manager->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	manager->watchdog_ns = manager->fd < 0 ? 0 : read_watchdog_ns();
}

void
service_manager_close(ServiceManager *manager)
{
	if (manager->fd >= 0)
		close(manager->fd);
	manager->fd = -1;
}

static void
service_manager_notify(const ServiceManager *manager, const char *state)
{
	if (manager->fd >= 0 &&
		sendto(manager->fd, state, strlen(state), MSG_NOSIGNAL,
			   (const struct sockaddr *) &manager->address, manager->address_bytes) < 0)
		log_event(LOG_WARNING, "service", "could not notify the service manager",
				  log_text("state", state), log_text("detail", strerror(errno)));
}

void
service_manager_ready(const ServiceManager *manager)
{
	service_manager_notify(manager, "READY=1");
}

void
service_manager_stopping(const ServiceManager *manager)
{
	service_manager_notify(manager, "STOPPING=1");
}

bool
service_manager_waits(const ServiceManager *manager, int64_t now_ns)
{
	return manager->watchdog_ns > 0 && now_ns >= manager->next_ns;
}

void
service_manager_lives(ServiceManager *manager, int64_t now_ns)
{
	service_manager_notify(manager, "WATCHDOG=1");
	manager->next_ns = now_ns + manager->watchdog_ns / SIGNS_EACH;
}
