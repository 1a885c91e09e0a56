/*
 * gate.c
 *		A token in an eventfd, so that a thread can wait for the token and for the wake descriptor
 *		at once.
 */
#include "writer/gate.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

int
gate_open(Gate *gate)
{
	gate->fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
	return gate->fd < 0 ? -errno : 0;
}

void
gate_close(Gate *gate)
{
	if (gate->fd >= 0)
		close(gate->fd);
	gate->fd = -1;
}

bool
gate_enter(const Gate *gate, int wake_fd)
{
	struct pollfd fds[2] = { { .fd = gate->fd, .events = POLLIN },
							 { .fd = wake_fd, .events = POLLIN } };
	uint64_t token;

	while (read(gate->fd, &token, sizeof(token)) != (ssize_t) sizeof(token))
	{
		/* on EAGAIN another writer was faster */
		if (errno != EAGAIN && errno != EINTR)
			return false;
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return false;
		if (fds[1].revents != 0)
			return false;
	}
	return true;
}

void
gate_leave(const Gate *gate)
{
	/* the value has been 0 since gate_enter(), so the write cannot block */
	(void) eventfd_write(gate->fd, 1);
}
