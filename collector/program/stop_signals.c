/*
 * stop_signals.c
 *		Signal handlers, and the state in which the main loop finds the signals.
 */
#include "program/stop_signals.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "program/exit_code.h"

/*
 * Number of SIGTERM and SIGINT received. Atomic, because two threads may handle one signal each at
 * the same time.
 */
static atomic_int stops;
static volatile sig_atomic_t hung_up;
static volatile sig_atomic_t reload;
static bool reloads;
static int wake_fd = -1;

static void
on_signal(int signal_number)
{
	const uint64_t one = 1;
	int error = errno;
	ssize_t written;

	if (signal_number == SIGHUP && reloads)
		reload = 1;
	else if (signal_number == SIGHUP)
		hung_up = 1;
	else if (atomic_fetch_add(&stops, 1) > 0)
		_exit(EXIT_IO);
	written = write(wake_fd, &one, sizeof(one));
	/* if the write fails, the main loop notices the signal only at its next timeout */
	(void) written;
	errno = error;
}

void
stop_signals_catch(bool sighup_reloads)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct sigaction before;

	reloads = sighup_reloads;
	wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	/* SIGHUP stops us when the terminal closes, unless nohup has made us ignore this signal */
	if (reloads || (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN))
		sigaction(SIGHUP, &action, NULL);
	sigaction(SIGPIPE, &ignore, NULL);
}

int
stop_signals_fd(void)
{
	return wake_fd;
}

void
stop_signals_seen(void)
{
	eventfd_t signals;

	(void) eventfd_read(wake_fd, &signals);
}

bool
stop_asked(void)
{
	return atomic_load(&stops) > 0 || hung_up;
}

bool
reload_asked(void)
{
	/* clear it after the test, so that a request that arrives in between is not lost */
	if (!reload)
		return false;
	reload = 0;
	return true;
}
